/** The entries of a backup: copies of the embedded files, and the files of recordings. */
import { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Storage } from "../../recordings/storage/storage.ts";
import type { ArchiveEntry } from "../archive/write.ts";
import type { ListedFile } from "./listed-files.ts";
import { entryName } from "./manifest.ts";

/** How much of a file is in memory at a time. */
const PIECE_BYTES = 1024 * 1024;

export function* copiedFiles(folder: string, names: readonly string[]): Generator<ArchiveEntry> {
  for (const name of names) {
    const path = join(folder, name);
    const { size, mtimeMs } = statSync(path);
    yield { name, size, modifiedMs: mtimeMs, bytes: pieces(size, async (first, last) => slice(path, first, last)) };
  }
}

const slice = (path: string, first: number, last: number): Promise<Uint8Array> =>
  Bun.file(path)
    .slice(first, last + 1)
    .bytes();

/** `missing` is called for each recording whose bytes are not there. */
export async function* filesOfRecordings(
  storageOf: () => Storage,
  listed: Iterable<ListedFile> | AsyncIterable<ListedFile>,
  atMs: number,
  missing: (file: ListedFile) => void,
): AsyncGenerator<ArchiveEntry> {
  for await (const file of listed) {
    const storage = storageOf();
    const found = file.kind === "recording" ? await finished(storage, file) : await opened(storage, file);
    if (!found) {
      missing(file);
      continue;
    }
    const { app, id, locator } = file.place;
    const name = entryName({ kind: found.kind, app, id, locator });
    yield { name, size: found.size, modifiedMs: atMs, bytes: found.bytes };
  }
}

interface Found {
  readonly kind: ListedFile["kind"];
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

async function finished(storage: Storage, { place, bytes: size }: ListedFile): Promise<Found | undefined> {
  if ((await storage.storedBytes({ ...place, locator: "" })) !== size) return undefined;
  return { kind: "recording", size, bytes: pieces(size, (first, last) => storage.read(place, first, last)) };
}

/** An upload may have been finished since: then its file is in the place of a recording, under the same id. */
async function opened(storage: Storage, { place }: ListedFile): Promise<Found | undefined> {
  const blob = await storage.openFile(place);
  if (blob) {
    const { size } = blob;
    return { kind: "upload", size, bytes: pieces(size, (first, last) => blob.slice(first, last + 1).bytes()) };
  }
  const file = await storage.file(place);
  if (!file) return undefined;
  return {
    kind: "recording",
    size: file.size,
    bytes: pieces(file.size, (first, last) => storage.read(place, first, last)),
  };
}

async function* pieces(
  size: number,
  read: (first: number, last: number) => Promise<Uint8Array | undefined>,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += PIECE_BYTES) {
    const piece = await read(at, Math.min(size, at + PIECE_BYTES) - 1);
    // The writer of the archive compares the size.
    if (piece) yield piece;
  }
}

/** The schema of a copy of the store. */
export function schemaIn(path: string): number {
  using db = new Database(path, { readonly: true });
  return db.query<{ version: number | null }, []>("SELECT MAX(version) AS version FROM migrations").get()?.version ?? 0;
}
