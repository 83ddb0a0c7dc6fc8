/**
 * Writes a backup (format.ts).
 *
 * - `writeArchive` MUST NOT ask for bytes before they are needed, and holds a few MiB: the caller sets the pace.
 * - The source of an entry MUST yield exactly `size` bytes; otherwise the archive fails with SourceChanged, and what was written of it MUST be
 *   thrown away. Every other error of a source is passed on as it is.
 * - Names MUST be relative paths, each once (names.ts). Entries are written in the order in which they come.
 * - Times are kept in seconds.
 */
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { WrittenSums } from "./digests.ts";
import { SourceChanged } from "./errors.ts";
import { ENTRIES_MAX, FORMAT, MANIFEST_MAX_BYTES, MANIFEST_NAME, SUMS_NAME } from "./format.ts";
import { compressed } from "./frames.ts";
import { NameSet, whyNotName } from "./names.ts";
import { sealed } from "./sealing.ts";
import { END_BYTES, encodeHeader, paddingOf, secondsOf } from "./tar-headers.ts";

export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** SHA-256 of the bytes, in hex, for a source that has computed it by the time when they were read: hashing costs more than all else. */
  readonly digest?: (() => string) | undefined;
}

export interface EntryDigest {
  readonly name: string;
  readonly size: number;
  /** SHA-256 of the content, in hex. */
  readonly sha256: string;
}

export interface ArchiveContents {
  /** Written with `"format": 1`, as JSON of at most 1 MiB. */
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly entries: AsyncIterable<ArchiveEntry> | Iterable<ArchiveEntry>;
  /** The time of the manifest and of the list of digests. */
  readonly nowMs: number;
  /** 32 bytes; without it, the backup is not encrypted. */
  readonly key?: Uint8Array | undefined;
  /** Where more than some ten thousand digests are kept until the end: 140 MB for a million. Default: the system's temporary folder. */
  readonly scratchFolder?: string | undefined;
  /** Called when the bytes of an entry were taken, the manifest included. */
  readonly onEntry?: ((entry: EntryDigest) => void) | undefined;
}

/** The bytes of the file. Ending the iteration early ends the sources. */
export function writeArchive(contents: ArchiveContents): AsyncGenerator<Uint8Array> {
  const file = compressed(tarOf(contents));
  return contents.key ? sealed(file, contents.key) : file;
}

async function* tarOf(contents: ArchiveContents): AsyncGenerator<Uint8Array> {
  const { entries, nowMs, scratchFolder = tmpdir(), onEntry } = contents;
  await using sums = new WrittenSums(scratchFolder);
  const names = new NameSet();
  const add = async function* (entry: ArchiveEntry): AsyncGenerator<Uint8Array> {
    const sha256 = yield* entryOf(entry);
    await sums.add(entry.name, sha256);
    onEntry?.({ name: entry.name, size: entry.size, sha256 });
  };
  yield* add(manifestEntry(contents));
  for await (const entry of entries) {
    checkName(entry.name, names);
    yield* add(entry);
  }
  yield* entryOf({ name: SUMS_NAME, size: sums.bytes, modifiedMs: nowMs, bytes: sums.content() });
  yield new Uint8Array(END_BYTES);
}

/** Returns the digest of its content. */
async function* entryOf({ name, size, modifiedMs, bytes, digest }: ArchiveEntry): AsyncGenerator<Uint8Array, string> {
  if (!Number.isSafeInteger(size) || size < 0) throw new Error(`an entry cannot have ${size} bytes: ${name}`);
  yield encodeHeader({ name, size, modifiedSeconds: secondsOf(modifiedMs) });
  const hash = digest ? undefined : createHash("sha256");
  let left = size;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0) throw new SourceChanged(name, size, "more");
    hash?.update(chunk);
    yield chunk;
  }
  if (left > 0) throw new SourceChanged(name, size, String(size - left));
  yield new Uint8Array(paddingOf(size));
  return digest?.() ?? hash?.digest("hex") ?? "";
}

function manifestEntry({ manifest, nowMs }: ArchiveContents): ArchiveEntry {
  // Its own field comes first, for people who read the file.
  const { format: _format, ...rest } = manifest;
  const content = Buffer.from(`${JSON.stringify({ format: FORMAT, ...rest }, null, 2)}\n`);
  if (content.length > MANIFEST_MAX_BYTES) throw new Error(`a manifest has at most ${MANIFEST_MAX_BYTES} bytes`);
  return { name: MANIFEST_NAME, size: content.length, modifiedMs: nowMs, bytes: once(content) };
}

function checkName(name: string, names: NameSet): void {
  const why = whyNotName(name);
  if (why !== undefined) throw new Error(`an entry of a backup cannot be named ${JSON.stringify(name)}: it ${why}`);
  if (names.isFull) throw new Error(`a backup has at most ${ENTRIES_MAX} entries`);
  if (!names.add(name)) throw new Error(`a backup cannot have two entries of the same name: ${name}`);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
