/**
 * Frames on a Unix socket between two workers. All numbers are little-endian. A frame is its length (u32, of what follows), a type
 * (u8), and then:
 *
 *   hello           magic (u32), version (u16), slot (u16), incarnation (UTF-8)
 *   subscribe       subscription (u32), subject (UTF-8)
 *   open            as subscribe; the other side reports at once what it has for the subject
 *   unsubscribe     subscription (u32), subject (UTF-8)
 *   unsubscribeAll  nothing
 *   message         subscription (u32), payload
 *   addressed       subscription (u32), length of the subject (u16), of the reply subject (u16), both (UTF-8), payload
 *   ping, pong      number (u32)
 *
 * A message names the subscription by the number that its subscriber has given it, so that subjects are neither written nor looked
 * up per message. `addressed` carries what the number cannot tell: the reply subject, and the subject for a wildcard.
 */

export const FRAME = {
  hello: 1,
  subscribe: 2,
  unsubscribe: 3,
  unsubscribeAll: 4,
  message: 5,
  addressed: 6,
  ping: 7,
  pong: 8,
  unheard: 9,
  open: 10,
} as const;

/** Part of the wire format: it changes with each change of frames, subjects or texts (cluster/wire/compact.ts) that an older worker would misread. */
export const BUS_VERSION = 4;
/** "PRLY": something else that connects by mistake is noticed with its first bytes. */
export const MAGIC = 0x594c5250;

export const LENGTH_BYTES = 4;
/** Payload limit of the transport: the longest text of the node protocol needs no fragments. */
export const PAYLOAD_MAX_BYTES = 1024 * 1024;
/** Bound: a longer frame is not from a worker. A payload and two subjects of 1,536 characters fit. */
export const FRAME_MAX_BYTES = PAYLOAD_MAX_BYTES + 16 * 1024;

export const u16At = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);

export const u32At = (bytes: Uint8Array, at: number): number => (u16At(bytes, at) | (u16At(bytes, at + 2) << 16)) >>> 0;

/** Returns the offset behind it. */
export function putU16(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  return at + 2;
}

/** Returns the offset behind it. */
export function putU32(bytes: Uint8Array, at: number, value: number): number {
  putU16(bytes, at, value);
  putU16(bytes, at + 2, value >>> 16);
  return at + 4;
}

/** The other side does not keep to the format. The text completes the sentence "bus: the connection to worker 2 is closed: …". */
export class FrameError extends Error {}

/** Finds the frames in what a socket reads. Frames are views into what was read; only one that comes in parts is copied. */
export class FrameReader {
  /** The frame that is not complete, from its length on; only room for the length while that is not complete either. */
  private partial: Uint8Array | undefined;
  private filled = 0;
  private isStopped = false;

  /** `frame` gets the bytes of a frame behind its length. */
  constructor(private readonly frame: (bytes: Uint8Array, at: number, end: number) => void) {}

  /** Throws FrameError when the bytes are not frames. */
  read(bytes: Uint8Array): void {
    let at = 0;
    while (this.partial && at < bytes.length) at = this.fill(this.partial, bytes, at);
    while (!this.isStopped && bytes.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + lengthAt(bytes, at);
      if (end > bytes.length) break;
      this.frame(bytes, at + LENGTH_BYTES, end);
      at = end;
    }
    if (at < bytes.length && !this.isStopped) this.keep(bytes, at);
  }

  /** No frame is passed on after this call, also of what was already read. */
  stop(): void {
    this.isStopped = true;
    this.partial = undefined;
  }

  private keep(bytes: Uint8Array, at: number): void {
    const rest = bytes.length - at;
    const partial = new Uint8Array(LENGTH_BYTES + (rest < LENGTH_BYTES ? 0 : lengthAt(bytes, at)));
    partial.set(bytes.subarray(at));
    this.partial = partial;
    this.filled = rest;
  }

  /** Returns how far `bytes` was used. */
  private fill(partial: Uint8Array, bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.length, at + partial.length - this.filled);
    partial.set(bytes.subarray(at, end), this.filled);
    this.filled += end - at;
    if (this.filled < partial.length) return end;
    if (partial.length > LENGTH_BYTES) {
      this.partial = undefined;
      this.frame(partial, LENGTH_BYTES, partial.length);
    } else this.keep(partial, 0);
    return this.isStopped ? bytes.length : end;
  }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  const length = u32At(bytes, at);
  if (length === 0 || length > FRAME_MAX_BYTES) throw new FrameError(`it announces a frame of ${length} bytes`);
  return length;
}
