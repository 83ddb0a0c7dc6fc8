/** Reads a whole backup, and writes the files of its stores to a folder. Only if this succeeds may anything of it be used. */
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ArchiveError } from "../archive/errors.ts";
import { readArchive } from "../archive/read.ts";
import {
  HISTORY_ENTRY,
  MASTER_KEY_ENTRY,
  type Manifest,
  manifestIn,
  parseEntryName,
  STORE_ENTRY,
} from "../backup/manifest.ts";
import { requireRoom } from "./room.ts";
import type { BackupSource } from "./source.ts";

export interface Extracted {
  readonly manifest: Manifest;
  readonly isSealed: boolean;
  /** Which of its files are in the folder now. */
  readonly names: readonly string[];
  /** How many files of recordings it has. */
  readonly files: number;
}

export interface ExtractOptions {
  readonly key: Buffer | undefined;
  readonly folder: string;
  /** What must stay free on its disk: another service may use it, and a small backup may unpack to much. */
  readonly minFreeBytes: number;
  /** The store has arrived, which comes first: what is wrong with it is better said before gigabytes were read. */
  readonly storeArrived: (path: string) => void;
  readonly progress: (bytes: number, total: number) => void;
  readonly signal: AbortSignal;
}

/** The order in which they may be in a backup. The key comes before the store that is sealed with it. */
const KEPT: readonly string[] = [MASTER_KEY_ENTRY, STORE_ENTRY, HISTORY_ENTRY];

export async function extract(source: BackupSource, options: ExtractOptions): Promise<Extracted> {
  const archive = await readArchive(source.read(), { key: options.key });
  const manifest = manifestIn(archive);
  const names: string[] = [];
  let files = 0;
  let bytes = 0;
  for await (const { name, bytes: content, size } of archive.entries) {
    options.signal.throwIfAborted();
    if (KEPT.includes(name)) {
      requireRoom(options.folder, `${name} of the backup`, size, options.minFreeBytes);
      await writeFile(join(options.folder, name), content);
      names.push(name);
      if (name === STORE_ENTRY) options.storeArrived(join(options.folder, name));
    } else if (parseEntryName(name)) files++;
    bytes += size;
    options.progress(bytes, manifest.bytes);
  }
  if (manifest.schema !== null && !names.includes(STORE_ENTRY))
    throw new ArchiveError("damaged", `it has no ${STORE_ENTRY}`);
  return { manifest, isSealed: archive.isSealed, names, files };
}

async function writeFile(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = openSync(path, "wx", 0o600);
  try {
    for await (const chunk of content) for (let at = 0; at < chunk.length; ) at += writeSync(handle, chunk, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
