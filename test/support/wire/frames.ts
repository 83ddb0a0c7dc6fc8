/** RFC 6455 frames in both directions: masked ones to the service, unmasked ones from it. */

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameOptions {
  /** Default: true. False for a fragment that is not the last of its message. */
  readonly final?: boolean;
  /** Default: true. False sends an unmasked frame, which clients must never do. */
  readonly masked?: boolean;
  /** Three bits. Default: 0. */
  readonly reserved?: number;
  /** The length in the header. Default: the payload's length. */
  readonly length?: bigint;
  /** The encoding of the length. Default: the shortest one. */
  readonly form?: "short" | "medium" | "long";
}

/** Always the same, so that a fuzzer's seed gives the same bytes again. */
const MASK = [0x5a, 0x17, 0xe2, 0x39];

/** Encodes one frame of a client. With the options it can also be one that no client should send. */
export function encodeFrame(
  opcode: number,
  payload: Uint8Array,
  { final = true, masked = true, reserved = 0, length = BigInt(payload.length), form }: FrameOptions = {},
): Buffer<ArrayBuffer> {
  const shape = form ?? (length < 126n ? "short" : length < 65_536n ? "medium" : "long");
  const extra = shape === "short" ? 0 : shape === "medium" ? 2 : 8;
  const head = Buffer.alloc(2 + extra + (masked ? 4 : 0));
  head[0] = (final ? 0x80 : 0) | ((reserved & 7) << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? Number(length & 127n) : extra === 2 ? 126 : 127);
  if (extra === 2) head.writeUInt16BE(Number(length & 0xffffn), 2);
  if (extra === 8) head.writeBigUInt64BE(BigInt.asUintN(64, length), 2);
  if (!masked) return Buffer.concat([head, payload]);
  head.set(MASK, 2 + extra);
  const body = Buffer.from(payload);
  for (let i = 0; i < body.length; i++) body[i] = (body[i] as number) ^ (MASK[i & 3] as number);
  return Buffer.concat([head, body]);
}

/** A client's frame as one object, for tables of frames. Its payload is UTF-8. */
export interface Bits extends FrameOptions {
  readonly opcode: number;
  readonly payload?: Uint8Array | string;
}

export const bits = ({ opcode, payload = "", ...options }: Bits): Buffer<ArrayBuffer> =>
  encodeFrame(opcode, Buffer.from(payload as string, "utf8"), options);

export const closePayload = (code: number, reason = ""): Buffer => {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code, 0);
  payload.write(reason, 2);
  return payload;
};

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
  /** The whole frame, header included. */
  readonly bytes: Buffer;
}

/** Decodes a server's bytes into frames. Throws on what a server must never send. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private held = 0;

  /** The frames that are complete now. */
  push(bytes: Uint8Array): ServerFrame[] {
    this.chunks.push(Buffer.from(bytes));
    this.held += bytes.length;
    const frames: ServerFrame[] = [];
    for (let frame = this.read(); frame; frame = this.read()) frames.push(frame);
    return frames;
  }

  private read(): ServerFrame | undefined {
    if (this.held < 2) return undefined;
    const start = this.joined(10);
    const first = start[0] as number;
    const second = start[1] as number;
    if ((first & 0x80) === 0 || (first & 0x70) !== 0 || (second & 0x80) !== 0)
      throw new Error(`a frame that no server should send: ${start.subarray(0, 2).toString("hex")}`);
    const short = second & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (this.held < head) return undefined;
    const length = short < 126 ? short : short === 126 ? start.readUInt16BE(2) : Number(start.readBigUInt64BE(2));
    if (this.held < head + length) return undefined;
    const all = this.joined(head + length);
    this.chunks[0] = all.subarray(head + length);
    this.held -= head + length;
    return { opcode: first & 0x0f, payload: all.subarray(head, head + length), bytes: all.subarray(0, head + length) };
  }

  /** The first chunk, merged so that it holds at least that many bytes if they have arrived. */
  private joined(wanted: number): Buffer {
    const first = this.chunks[0] as Buffer;
    if (first.length >= Math.min(wanted, this.held)) return first;
    const all = Buffer.concat(this.chunks);
    this.chunks = [all];
    return all;
  }
}
