/**
 * Reads exact numbers of bytes from chunks of any size. It asks for a chunk only when it needs one, so the source is read at the pace of the
 * reader. What it returns may be a part of the source's chunk, so it is to be used before the next call.
 */
import { ArchiveError } from "./errors.ts";

const NONE = new Uint8Array();

export class ByteSource {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private rest: Uint8Array = NONE;
  private isOver = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.chunks = source[Symbol.asyncIterator]();
  }

  /** Between one byte and `max` of them, without a copy; none where the source ends. */
  async some(max: number): Promise<Uint8Array> {
    if (await this.isAtEnd()) return NONE;
    const taken = this.rest.subarray(0, max);
    this.rest = this.rest.subarray(taken.length);
    return taken;
  }

  /** `count` bytes, or fewer where the source ends. */
  async take(count: number): Promise<Uint8Array> {
    const first = await this.some(count);
    if (first.length === count || first.length === 0) return first;
    const whole = new Uint8Array(count);
    whole.set(first);
    const length = first.length + (await this.fill(whole.subarray(first.length)));
    return whole.subarray(0, length);
  }

  /** Exactly `count` bytes. `what` names them in the error. */
  async exactly(count: number, what: string): Promise<Uint8Array> {
    const bytes = await this.take(count);
    if (bytes.length < count) throw new ArchiveError("truncated", `it ends inside ${what}`);
    return bytes;
  }

  /** Copies into `target` until it is full or the source ends, and returns how many bytes that were. */
  async fill(target: Uint8Array): Promise<number> {
    let length = 0;
    while (length < target.length) {
      const part = await this.some(target.length - length);
      if (part.length === 0) break;
      target.set(part, length);
      length += part.length;
    }
    return length;
  }

  /** What `take` would return. It copies what follows: for the beginning of a file only. */
  async peek(count: number): Promise<Uint8Array> {
    const first = await this.take(count);
    this.rest = Buffer.concat([first, this.rest]);
    return this.rest.subarray(0, first.length);
  }

  async isAtEnd(): Promise<boolean> {
    while (this.rest.length === 0 && !this.isOver) {
      const { done, value } = await this.chunks.next();
      if (done) this.isOver = true;
      else this.rest = value;
    }
    return this.rest.length === 0;
  }

  /** Ends the source, if it is not over. */
  async close(): Promise<void> {
    this.rest = NONE;
    this.isOver = true;
    await this.chunks.return?.();
  }
}
