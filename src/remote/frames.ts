/**
 * Frames on a stream socket: four bytes with the length of the payload, then the payload. A payload is a value in the runtime's encoding of
 * structured clones, which keeps everything that the contracts of the stores contain: maps, bytes, `undefined` beside `null`, Infinity.
 */
import { deserialize, serialize } from "bun:jsc";

const HEADER_BYTES = 4;

export const encode = (value: unknown): Buffer => serialize(value, { binaryType: "nodebuffer" });
/** Throws for bytes that are no encoded value. */
export const decode = (payload: Uint8Array): unknown => deserialize(payload);

/** What a frame needs of a socket. */
export interface ByteSink {
  /** How many bytes were taken; negative: the socket is closed. */
  write(bytes: Uint8Array): number;
}

export class FrameWriter {
  /**
   * Bytes that the socket has not taken. Bound: the owner looks at `waitingBytes` before it sends; at UNREAD_MAX_BYTES the server
   * cuts the connection, and at UNANSWERED_MAX_BYTES a worker refuses calls.
   */
  private waiting: Buffer[] = [];
  waitingBytes = 0;

  constructor(private readonly socket: ByteSink) {}

  send(payload: Uint8Array): void {
    const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
    frame.writeUInt32LE(payload.length, 0);
    frame.set(payload, HEADER_BYTES);
    const taken = this.waitingBytes > 0 ? 0 : Math.max(0, this.socket.write(frame));
    if (taken < frame.length) this.keep(frame.subarray(taken));
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

  private keep(bytes: Buffer): void {
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
  }
}

class FrameTooLong extends Error {}

export class FrameReader {
  /** The beginning of a frame. Bound: `maxBytes`, and one read of the socket. */
  private parts: Buffer[] = [];
  private length = 0;
  /** With fewer bytes than this there is nothing to do. */
  private needed = HEADER_BYTES;

  constructor(
    public maxBytes: number,
    private readonly receive: (payload: Buffer) => void,
  ) {}

  /** Throws FrameTooLong, and whatever `receive` throws. */
  read(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length < this.needed) {
      this.parts.push(chunk);
      return;
    }
    let rest = this.parts.length === 0 ? chunk : Buffer.concat([...this.parts, chunk]);
    this.parts = [];
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUInt32LE(0);
      if (end > HEADER_BYTES + this.maxBytes)
        throw new FrameTooLong(`a frame of ${end - HEADER_BYTES} bytes, and ${this.maxBytes} are allowed`);
      this.needed = end;
      if (rest.length < end) break;
      const payload = rest.subarray(HEADER_BYTES, end);
      rest = rest.subarray(end);
      this.needed = HEADER_BYTES;
      this.receive(payload);
    }
    this.length = rest.length;
    if (rest.length > 0) this.parts.push(rest);
  }
}
