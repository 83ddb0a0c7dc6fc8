/**
 * Reads a backup (format.ts), encrypted or not.
 *
 * - Entries come in order. The bytes of an entry MUST be read before the next entry is asked for; what is not read then is skipped.
 * - The consumer MUST NOT use anything before the iteration of `entries` has ended without an error: only then are all digests compared, and
 *   is the file known to be whole. Of an encrypted backup, nothing is yielded that was not authenticated.
 * - The iteration MUST run once. Ending it early, or an error, closes the source; without it, `close` does.
 * - All failures of the file are ArchiveError. Errors of the source are passed on as they are.
 */
import { createHash } from "node:crypto";
import { ByteSource } from "./byte-source.ts";
import { ExpectedSums } from "./digests.ts";
import { ArchiveError } from "./errors.ts";
import { ENTRIES_MAX, FORMAT, MANIFEST_MAX_BYTES, MANIFEST_NAME, SUMS_NAME } from "./format.ts";
import { decompressed, ZSTD_MAGIC } from "./frames.ts";
import { NameSet, whyNotName } from "./names.ts";
import { SEALED_MAGIC, unsealed } from "./sealing.ts";
import { BLOCK_BYTES, END_BYTES, nameIn, paddingOf, readHeader, type TarHeader } from "./tar-headers.ts";

export interface ReadEntry {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** The chunks are the reader's to keep. Iterating it again continues where the last iteration ended. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** SHA-256 of the content, in hex. MUST NOT be called before all bytes were read, or the next entry was asked for. */
  digest(): string;
}

export interface Archive {
  /** Whether it is encrypted, and so was made by a holder of the key. */
  readonly isSealed: boolean;
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly entries: AsyncIterable<ReadEntry>;
  /** For a reader that needs no entries. */
  close(): Promise<void>;
}

export interface ReadOptions {
  /** 32 bytes. Not used for a backup that is not encrypted. */
  readonly key?: Uint8Array | undefined;
}

export async function readArchive(source: AsyncIterable<Uint8Array>, { key }: ReadOptions): Promise<Archive> {
  const file = new ByteSource(source);
  try {
    const isSealed = await isSealedFile(file);
    const packed = isSealed ? new ByteSource(await unsealed(file, key)) : file;
    const tar = new ByteSource(decompressed(packed));
    const sums = new ExpectedSums();
    const manifest = await readManifest(tar, sums);
    return { isSealed, manifest, entries: entriesOf(tar, sums, file), close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function isSealedFile(file: ByteSource): Promise<boolean> {
  const start = Buffer.from(await file.peek(SEALED_MAGIC.length));
  for (const magic of [SEALED_MAGIC, ZSTD_MAGIC]) {
    const found = start.subarray(0, magic.length);
    if (found.equals(magic)) return magic === SEALED_MAGIC;
    if (found.equals(magic.subarray(0, found.length)))
      throw new ArchiveError("truncated", found.length === 0 ? "it is empty" : "it ends inside its header");
  }
  throw new ArchiveError("not-a-backup", "it begins with something else");
}

async function readManifest(tar: ByteSource, sums: ExpectedSums): Promise<Readonly<Record<string, unknown>>> {
  const isOther = nameOrNone(await tar.peek(BLOCK_BYTES)) !== MANIFEST_NAME;
  if (isOther) throw new ArchiveError("not-a-backup", `its first entry is not ${MANIFEST_NAME}`);
  const header = await readHeader(tar);
  if (!header || header.size > MANIFEST_MAX_BYTES) throw damaged("its manifest is too large");
  const entry = new EntryReader(tar, header);
  const content = await Array.fromAsync(entry.bytes);
  await entry.finish();
  sums.add(header.name, entry.digest());
  const manifest = parsed(Buffer.concat(content).toString());
  const { format } = manifest;
  if (typeof format !== "number" || !Number.isInteger(format) || format < 1)
    throw damaged("its manifest has no format");
  if (format > FORMAT)
    throw new ArchiveError("newer-format", `it has format ${format}, and this version reads up to ${FORMAT}`);
  return manifest;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const manifest = jsonOrNone(text);
  if (typeof manifest !== "object" || manifest === null) throw damaged("its manifest is not a JSON object");
  return manifest as Readonly<Record<string, unknown>>;
}

function jsonOrNone(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function nameOrNone(header: Uint8Array): string {
  try {
    return nameIn(Buffer.from(header));
  } catch {
    return "";
  }
}

async function* entriesOf(tar: ByteSource, sums: ExpectedSums, file: ByteSource): AsyncGenerator<ReadEntry, undefined> {
  const names = new NameSet();
  try {
    for (;;) {
      const header = await readHeader(tar);
      if (!header) throw damaged(`it has no ${SUMS_NAME}`);
      if (header.name === SUMS_NAME) return await verifyEnd(tar, header, sums);
      checkName(header.name, names);
      const entry = new EntryReader(tar, header);
      yield entry;
      await entry.finish();
      sums.add(header.name, entry.digest());
    }
  } finally {
    await file.close();
  }
}

function checkName(name: string, names: NameSet): void {
  if (whyNotName(name) !== undefined) throw damaged("it has an entry whose name is not allowed");
  if (names.isFull) throw damaged(`it has more than ${ENTRIES_MAX} entries`);
  if (!names.add(name)) throw damaged("it has two entries of the same name");
}

/** The list of digests is what the entries before it have, and nothing follows it. */
async function verifyEnd(tar: ByteSource, header: TarHeader, sums: ExpectedSums): Promise<undefined> {
  const list = new EntryReader(tar, header);
  const isOfRightSize = header.size === sums.bytes;
  if (isOfRightSize) await list.finish();
  if (!isOfRightSize || list.digest() !== sums.digest())
    throw damaged(`its contents are not those that ${SUMS_NAME} lists`);
  await readZeros(tar, END_BYTES);
  if (!(await isOver(tar))) throw damaged("something follows its end");
}

/** False also if what follows cannot be read. */
const isOver = (tar: ByteSource): Promise<boolean> =>
  tar.isAtEnd().catch((error: unknown) => {
    if (error instanceof ArchiveError) return false;
    throw error;
  });

class EntryReader implements ReadEntry {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly bytes: AsyncIterable<Uint8Array>;
  private readonly hash = createHash("sha256");
  private left: number;
  private isSkipped = false;
  private sha256: string | undefined;

  constructor(
    private readonly tar: ByteSource,
    { name, size, modifiedSeconds }: TarHeader,
  ) {
    this.name = name;
    this.size = size;
    this.modifiedMs = modifiedSeconds * 1000;
    this.left = size;
    // A plain iterator: leaving a loop over it must not end the archive.
    this.bytes = { [Symbol.asyncIterator]: () => ({ next: () => this.next() }) };
  }

  digest(): string {
    if (this.left > 0) throw new Error("the digest of an entry is known when all its bytes were read");
    this.sha256 ??= this.hash.digest("hex");
    return this.sha256;
  }

  /** Reads what the consumer has not, and the padding. */
  async finish(): Promise<void> {
    this.isSkipped = this.left > 0;
    while (this.left > 0) await this.read();
    await readZeros(this.tar, paddingOf(this.size));
  }

  private async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.isSkipped) throw new Error("the bytes of an entry are read before the next entry is asked for");
    return this.left > 0 ? { done: false, value: await this.read() } : { done: true, value: undefined };
  }

  private async read(): Promise<Uint8Array> {
    const part = await this.tar.some(this.left);
    if (part.length === 0) throw new ArchiveError("truncated", "it ends inside an entry");
    this.hash.update(part);
    this.left -= part.length;
    return part;
  }
}

async function readZeros(tar: ByteSource, count: number): Promise<void> {
  const zeros = await tar.exactly(count, "the padding of an entry");
  if (zeros.some((byte) => byte !== 0)) throw damaged("there is something between its entries");
}

const damaged = (detail: string): ArchiveError => new ArchiveError("damaged", detail);
