/** Backups in memory, for tests. */
import { createHash } from "node:crypto";
import { compressed } from "../archive/frames.ts";
import { readArchive } from "../archive/read.ts";
import { END_BYTES, encodeHeader, paddingOf } from "../archive/tar-headers.ts";
import { type ArchiveContents, type ArchiveEntry, writeArchive } from "../archive/write.ts";

export const NOW_MS = Date.UTC(2026, 10, 18, 15, 43, 30);
export const KEY = Uint8Array.from({ length: 32 }, (_, at) => at);

/** Bytes that no compressor makes smaller, the same for the same seed. */
export function noise(size: number, seed = 1): Uint8Array {
  const numbers = new Uint32Array(Math.ceil(size / 4));
  let state = seed * 2654435769 + 1;
  for (let at = 0; at < numbers.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    numbers[at] = state;
  }
  return new Uint8Array(numbers.buffer, 0, size);
}

/** The same bytes in chunks of these sizes, in turn. */
export async function* inChunks(bytes: Uint8Array, ...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

export const entry = (name: string, content: Uint8Array, ...chunkSizes: readonly number[]): ArchiveEntry => ({
  name,
  size: content.length,
  modifiedMs: NOW_MS,
  bytes: inChunks(content, ...chunkSizes),
});

export const gathered = async (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(bytes));

export const written = (entries: readonly ArchiveEntry[], more: Partial<ArchiveContents> = {}): Promise<Buffer> =>
  gathered(writeArchive({ manifest: { made: "for a test" }, entries, nowMs: NOW_MS, ...more }));

export interface ReadBack {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly entries: readonly (readonly [name: string, content: Buffer])[];
}

/** Reads all of it, as a consumer does. */
export async function readBack(
  file: Uint8Array,
  key?: Uint8Array,
  ...chunkSizes: readonly number[]
): Promise<ReadBack> {
  const archive = await readArchive(inChunks(file, ...chunkSizes), { key });
  const entries: [string, Buffer][] = [];
  for await (const { name, bytes } of archive.entries) entries.push([name, await gathered(bytes)]);
  return { manifest: archive.manifest, entries };
}

/** Why it is refused; "accepted" if it is not. */
export const refusal = (file: Uint8Array, key?: Uint8Array): Promise<string> =>
  readBack(file, key).then(
    () => "accepted",
    (error: { reason?: string }) => error.reason ?? String(error),
  );

/** An entry as it is in a tar, whatever its name. */
export const inTar = (name: string, content: string): Buffer =>
  Buffer.concat([
    encodeHeader({ name, size: content.length, modifiedSeconds: 0 }),
    Buffer.from(content),
    Buffer.alloc(paddingOf(content.length)),
  ]);

export const MANIFEST = '{"format":1}';

/** A backup whose tar has these entries, and right digests of them. */
export async function crafted(...entries: readonly (readonly [name: string, content: string])[]): Promise<Buffer> {
  const all = [["parley-backup.json", MANIFEST] as const, ...entries];
  const sums = all
    .map(([name, content]) => `${createHash("sha256").update(content).digest("hex")}  ${name}\n`)
    .join("");
  return packed(
    ...all.map(([name, content]) => inTar(name, content)),
    inTar("SHA256SUMS", sums),
    Buffer.alloc(END_BYTES),
  );
}

/** A file with this tar. */
export const packed = (...tar: readonly Uint8Array[]): Promise<Buffer> =>
  gathered(compressed(inChunks(Buffer.concat(tar))));
