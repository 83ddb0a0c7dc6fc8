/** RFC 6455 frames in both directions: masked ones to the service, unmasked ones from it. */

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameOptions {
  /** Default: true. False for a fragment that is not the last of its message. */
  readonly final?: boolean;
  /** Default: true. False sends an unmasked frame, which clients must never do. */
  readonly masked?: boolean;
}

/** Encodes one frame of a client. */
export function encodeFrame(
  opcode: number,
  payload: Uint8Array,
  { final = true, masked = true }: FrameOptions = {},
): Buffer {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + extra + (masked ? 4 : 0));
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127);
  if (extra === 2) head.writeUInt16BE(length, 2);
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = crypto.getRandomValues(new Uint8Array(4));
  head.set(mask, 2 + extra);
  const body = Buffer.from(payload);
  for (let i = 0; i < length; i++) body[i] = (body[i] as number) ^ (mask[i & 3] as number);
  return Buffer.concat([head, body]);
}

export const closePayload = (code: number, reason = ""): Buffer => {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code, 0);
  payload.write(reason, 2);
  return payload;
};

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
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
    return { opcode: first & 0x0f, payload: all.subarray(head, head + length) };
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
