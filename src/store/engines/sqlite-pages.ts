/**
 * The pages of a SQLite file as they were last committed, read without SQLite: nothing is locked, written or made, so that the file of a running
 * server, which has it locked, can be read as well. Pages that are newest in the write-ahead log come from there. The formats are those of
 * https://www.sqlite.org/fileformat2.html.
 *
 * Not in a process that has the file open with SQLite: closing a file ends all locks that the process has on it.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";

const MAGIC = Buffer.from("SQLite format 3\0");
export const HEADER_BYTES = 100;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says in which order bytes are added up. */
const WAL_MAGIC = 0x377f0682;
/** A server that writes may begin its log anew while it is read here. */
const ATTEMPTS = 5;

export class UnreadableFile extends Error {}

export interface SqliteHeader {
  readonly pageBytes: number;
  /** Bytes of a page without those that extensions reserve. */
  readonly usableBytes: number;
  readonly pages: number;
  readonly freePages: number;
  readonly userVersion: number;
  readonly applicationId: number;
}

export interface SqlitePages {
  readonly header: SqliteHeader;
  /** From 1. Throws an UnreadableFile if there is none. */
  page(number: number): Buffer;
}

/** `use` reads what it needs, and may be called again. Returns undefined for an empty file, which a start has made and not filled. */
export function withPages<T>(path: string, use: (pages: SqlitePages) => T): T | undefined {
  if (statSync(path).size === 0) return undefined;
  for (let attempt = 1; ; attempt++) {
    const before = logStart(path);
    const [result, error] = outcomeOf(() => withFiles(path, (file, log) => use(pagesOf(file, log))));
    // The same log from the beginning to the end: what came from the file was not replaced meanwhile.
    if (!before.equals(logStart(path)) && attempt < ATTEMPTS) continue;
    if (error !== undefined) throw error;
    return result;
  }
}

function outcomeOf<T>(work: () => T): [T | undefined, unknown] {
  try {
    return [work(), undefined];
  } catch (error) {
    return [undefined, error];
  }
}

/** undefined: there is no log. */
function withFiles<T>(path: string, use: (file: number, log: number | undefined) => T): T {
  const file = openSync(path, "r");
  try {
    return withLog(path, (log) => use(file, log));
  } finally {
    closeSync(file);
  }
}

function withLog<T>(path: string, use: (log: number | undefined) => T): T {
  let log: number | undefined;
  try {
    log = openSync(`${path}-wal`, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  try {
    return use(log);
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** Changes when the log begins anew. */
const logStart = (path: string): Buffer =>
  withLog(path, (log) => (log === undefined ? Buffer.alloc(0) : read(log, 0, WAL_HEADER_BYTES)));

function pagesOf(file: number, log: number | undefined): SqlitePages {
  const inLog = log === undefined ? new Map<number, number>() : committedFrames(log);
  const bytesOf = (page: number, length: number, pageBytes: number): Buffer => {
    const frame = inLog.get(page);
    return log !== undefined && frame !== undefined
      ? read(log, frame, length)
      : read(file, (page - 1) * pageBytes, length);
  };
  const start = bytesOf(1, HEADER_BYTES, 0);
  if (start.length < HEADER_BYTES || !start.subarray(0, MAGIC.length).equals(MAGIC))
    throw new UnreadableFile("it is not a SQLite database");
  const stored = start.readUInt16BE(16);
  const pageBytes = stored === 1 ? 65_536 : stored;
  if (pageBytes < 512) throw new UnreadableFile(`its pages have ${pageBytes} bytes`);
  const header = {
    pageBytes,
    usableBytes: pageBytes - start.readUInt8(20),
    pages: start.readUInt32BE(28),
    freePages: start.readUInt32BE(36),
    userVersion: start.readUInt32BE(60),
    applicationId: start.readUInt32BE(68),
  };
  const page = (number: number): Buffer => {
    const bytes = number < 1 ? Buffer.alloc(0) : bytesOf(number, pageBytes, pageBytes);
    if (bytes.length !== pageBytes) throw new UnreadableFile(`its page ${number} is missing`);
    return bytes;
  };
  return { header, page };
}

function read(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, at));
}

/**
 * Where in the log the newest committed content of each page begins. Bound: pages that are in the log; SQLite copies them into the file when there
 * are a thousand, or after a long transaction.
 */
function committedFrames(log: number): ReadonlyMap<number, number> {
  const committed = new Map<number, number>();
  const header = read(log, 0, WAL_HEADER_BYTES);
  if (header.length < WAL_HEADER_BYTES || ((header.readUInt32BE(0) ^ WAL_MAGIC) & ~1) !== 0) return committed;
  const sum = new Checksum((header.readUInt32BE(0) & 1) === 0);
  sum.add(header.subarray(0, 24));
  if (!sum.equals(header.subarray(24))) return committed;
  const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
  let open: [number, number][] = [];
  for (let at = WAL_HEADER_BYTES; ; at += frameBytes) {
    const frame = read(log, at, frameBytes);
    // Behind the last frame are those of an earlier log, or one that is being written.
    if (frame.length < frameBytes || !frame.subarray(8, 16).equals(header.subarray(16, 24))) return committed;
    sum.add(frame.subarray(0, 8));
    sum.add(frame.subarray(FRAME_HEADER_BYTES));
    if (!sum.equals(frame.subarray(16, 24))) return committed;
    open.push([frame.readUInt32BE(0), at + FRAME_HEADER_BYTES]);
    // The size of the file after a commit; 0: the transaction goes on.
    if (frame.readUInt32BE(4) === 0) continue;
    for (const [page, place] of open) committed.set(page, place);
    open = [];
  }
}

class Checksum {
  private first = 0;
  private second = 0;

  constructor(private readonly isLittleEndian: boolean) {}

  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < bytes.length; at += 8) {
      this.first = (this.first + view.getUint32(at, this.isLittleEndian) + this.second) >>> 0;
      this.second = (this.second + view.getUint32(at + 4, this.isLittleEndian) + this.first) >>> 0;
    }
  }

  /** As it is stored, whatever the order in which it was added up. */
  equals(stored: Buffer): boolean {
    return stored.readUInt32BE(0) === this.first && stored.readUInt32BE(4) === this.second;
  }
}
