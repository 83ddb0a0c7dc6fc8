/** Reads the headers in a large file, of which only a part is in memory. */
import type { FileHandle } from "node:fs/promises";

/** Enough for the header of an element and of the block in it, and for that of a box of MP4. */
const HEADER_MAX_BYTES = 32;
const ID_BYTES = 4;
const WINDOW_BYTES = 256 * 1024;

/** A part of the file in memory, moved along with the reader. */
export class FileWindow {
  readonly buffer = new Uint8Array(WINDOW_BYTES);
  start = 0;
  length = 0;

  constructor(
    private readonly file: FileHandle,
    private readonly fileSize: number,
  ) {}

  /** Whether it has the bytes at that position: enough for a header, except at the end of the file. */
  hasHeader(at: number): boolean {
    return at >= this.start && Math.min(at + HEADER_MAX_BYTES, this.fileSize) <= this.start + this.length;
  }

  /** 0 outside of it, which is only behind the end of the file for what begins within a header. */
  byte(at: number): number {
    return this.buffer[at - this.start] ?? 0;
  }

  /** A number that says its own length, as in the headers of WebM. */
  vint(at: number): { readonly value: number; readonly bytes: number } | undefined {
    const first = this.byte(at);
    if (first === 0) return undefined;
    const bytes = Math.clz32(first) - 23;
    let value = first & (0xff >> bytes);
    for (let i = 1; i < bytes; i++) value = value * 256 + this.byte(at + i);
    return { value, bytes };
  }

  /** Of 4 or 8 bytes; 0 otherwise. */
  float(at: number, size: number): number {
    const view = new DataView(this.buffer.buffer, at - this.start);
    if (size === 8) return view.getFloat64(0);
    return size === 4 ? view.getFloat32(0) : 0;
  }

  /** An unsigned number of that many bytes. */
  uint(at: number, bytes: number): number {
    let value = 0;
    for (let i = 0; i < bytes; i++) value = value * 256 + this.byte(at + i);
    return value;
  }

  /** The first position of these bytes; undefined: they are not there. */
  async find(bytes: Buffer, from: number, until: number): Promise<number | undefined> {
    for (let position = from; position < Math.min(until, this.fileSize); position = this.start + this.length) {
      // The last bytes of a window are looked at again: the ones that are searched may be on both sides of its end.
      const start = Math.max(from, position - bytes.length + 1);
      // What is in memory is not read again: a file can have a reason to search every few bytes.
      if (start !== from || !this.hasHeader(start)) await this.move(start);
      const found = Buffer.from(this.buffer.buffer, 0, this.length).indexOf(bytes, start - this.start);
      if (found >= 0) return this.start + found;
    }
    return undefined;
  }

  /** The first position of one of these ids of four bytes, all of which begin with 0x1; undefined: there is none. */
  async findId(ids: ReadonlySet<number>, from: number, until: number): Promise<number | undefined> {
    const end = Math.min(until, this.fileSize) - ID_BYTES;
    for (let at = from; at <= end; at++) {
      if (!this.hasHeader(at)) await this.move(at);
      const last = Math.min(end, this.start + this.length - ID_BYTES);
      for (; at <= last; at++) if (this.byte(at) >> 4 === 1 && ids.has(this.uint(at, ID_BYTES))) return at;
      // Looked at again, with the next window.
      at--;
    }
    return undefined;
  }

  async move(position: number): Promise<void> {
    const { bytesRead } = await this.file.read(this.buffer, 0, WINDOW_BYTES, position);
    if (bytesRead === 0) throw new Error("the file is shorter than it was");
    [this.start, this.length] = [position, bytesRead];
  }
}
