/**
 * Frames on a stream socket: four bytes with the length of the payload, one byte with its kind, then the payload.
 *
 * - CALLS: a value in the runtime's encoding of structured clones, which keeps everything that the contracts of the stores contain: maps,
 *   bytes, `undefined` beside `null`, Infinity.
 * - APPEND: one batch of messages, or what became of it, as append-frames.ts encodes it: there is one for every publish with history, and a
 *   clone takes several times as long.
 */
import { deserialize, serialize } from "bun:jsc";

export const HEADER_BYTES = 5;
const KIND_AT = 4;
/** The buffer that frames are collected in. */
const COLLECTED_BYTES = 64 * 1024;
/** A larger buffer is given up when its frames are written. */
const COLLECTED_KEPT_BYTES = 1024 * 1024;

export const CALLS = 0;
export const APPEND = 1;
const KINDS = 2;

export const encode = (value: unknown): Buffer => serialize(value, { binaryType: "nodebuffer" });
/** Throws for bytes that are no encoded value. */
export const decode = (payload: Uint8Array): unknown => deserialize(payload);

/** What a frame needs of a socket. */
export interface ByteSink {
  /** How many bytes were taken; negative: the socket is closed. */
  write(bytes: Uint8Array): number;
}

/** Collects frames, and writes them together: each write wakes the other process up. */
export class FrameWriter {
  /** Bound: the frames of one turn, each of which its sender limits. */
  private collected = Buffer.allocUnsafeSlow(COLLECTED_BYTES);
  private end = 0;
  /**
   * Bytes that the socket has not taken. Bound: the owner looks at `waitingBytes` before it sends; at UNREAD_MAX_BYTES the server
   * cuts the connection, and at UNANSWERED_MAX_BYTES a worker refuses calls.
   */
  private waiting: Buffer[] = [];
  waitingBytes = 0;

  constructor(private readonly socket: ByteSink) {}

  add(kind: number, payload: Uint8Array): void {
    const at = this.begin(payload.length);
    this.collected.set(payload, at);
    this.finish(kind, at, at + payload.length);
  }

  /** `write` puts a payload of at most that many bytes into the buffer, from `at`, and returns where it ends. Returns its length. */
  addWritten<T>(
    kind: number,
    maxBytes: number,
    value: T,
    write: (value: T, into: Buffer, at: number) => number,
  ): number {
    const at = this.begin(maxBytes);
    const end = write(value, this.collected, at);
    this.finish(kind, at, end);
    return end - at;
  }

  /** Writes what was added. */
  flush(): void {
    const { collected, end } = this;
    if (end === 0) return;
    this.end = 0;
    const taken = this.waitingBytes > 0 ? 0 : Math.max(0, this.socket.write(collected.subarray(0, end)));
    if (taken < end) this.keep(collected.subarray(taken, end));
    if (taken < end || collected.length > COLLECTED_KEPT_BYTES)
      this.collected = Buffer.allocUnsafeSlow(COLLECTED_BYTES);
  }

  /** The socket takes bytes again. */
  drained(): void {
    const waiting = this.waiting;
    this.waiting = [];
    this.waitingBytes = 0;
    for (const bytes of waiting) {
      const taken = this.waitingBytes > 0 ? 0 : Math.max(0, this.socket.write(bytes));
      if (taken < bytes.length) this.keep(bytes.subarray(taken));
    }
  }

  /** Where the next payload begins; there is room for that many bytes. */
  private begin(bytes: number): number {
    const at = this.end + HEADER_BYTES;
    if (at + bytes > this.collected.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(at + bytes, 2 * this.collected.length));
      larger.set(this.collected.subarray(0, this.end));
      this.collected = larger;
    }
    return at;
  }

  private finish(kind: number, at: number, end: number): void {
    this.collected.writeUInt32LE(end - at, at - HEADER_BYTES);
    this.collected[at - HEADER_BYTES + KIND_AT] = kind;
    this.end = end;
  }

  private keep(bytes: Buffer): void {
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
  }
}

class BadFrame extends Error {}

export class FrameReader {
  /** The beginning of a frame. Bound: `maxBytes`, and one read of the socket. */
  private parts: Buffer[] = [];
  private length = 0;
  /** With fewer bytes than this there is nothing to do. */
  private needed = HEADER_BYTES;

  constructor(
    public maxBytes: number,
    private readonly receive: (kind: number, payload: Buffer) => void,
  ) {}

  /** Throws BadFrame, and whatever `receive` throws. */
  read(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length < this.needed) {
      this.parts.push(chunk);
      return;
    }
    const bytes = this.parts.length === 0 ? chunk : Buffer.concat([...this.parts, chunk]);
    this.parts = [];
    let at = 0;
    this.needed = HEADER_BYTES;
    while (bytes.length - at >= HEADER_BYTES) {
      const end = this.endOf(bytes, at);
      this.needed = end - at;
      if (bytes.length < end) break;
      this.needed = HEADER_BYTES;
      const from = at;
      at = end;
      this.receive(bytes[from + KIND_AT] as number, bytes.subarray(from + HEADER_BYTES, end));
    }
    this.length = bytes.length - at;
    if (this.length > 0) this.parts.push(at === 0 ? bytes : bytes.subarray(at));
  }

  private endOf(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32LE(at);
    if (length > this.maxBytes) throw new BadFrame(`a frame of ${length} bytes, and ${this.maxBytes} are allowed`);
    const kind = bytes[at + KIND_AT] as number;
    if (kind >= KINDS) throw new BadFrame(`a frame of the unknown kind ${kind}`);
    return at + HEADER_BYTES + length;
  }
}
