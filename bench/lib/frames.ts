/** WebSocket frames for clients (RFC 6455): enough for a server that neither compresses nor fragments. */

export const TEXT = 1;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

const MASKED = 0x80;
const FINAL = 0x80;

/** A client must mask; the key does not matter on loopback. */
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

export function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  if (length > 0xffff) throw new Error("no frame of a benchmark is that long");
  const head =
    length < 126 ? [FINAL | opcode, MASKED | length] : [FINAL | opcode, MASKED | 126, length >> 8, length & 255];
  const frame = Buffer.allocUnsafe(head.length + MASK.length + length);
  frame.set(head);
  frame.set(MASK, head.length);
  const start = head.length + MASK.length;
  for (let i = 0; i < length; i++) frame[start + i] = payload[i]! ^ MASK[i & 3]!;
  return frame;
}

/** Splits a socket's bytes into frames. The pieces of a long frame are joined once, when the last of them has arrived. */
export class FrameReader {
  private pieces: Buffer[] = [];
  private held = 0;
  /** The number of bytes that must be there before parsing continues. */
  private needed = 2;

  constructor(private readonly frame: (opcode: number, payload: Buffer) => void) {}

  push(chunk: Buffer): void {
    let data = chunk;
    if (this.held > 0) {
      this.pieces.push(chunk);
      this.held += chunk.length;
      if (this.held < this.needed) return;
      data = Buffer.concat(this.pieces);
      this.pieces = [];
      this.held = 0;
    }
    const rest = this.read(data);
    if (rest.length === 0) return;
    this.pieces = [rest];
    this.held = rest.length;
  }

  /** The rest is the beginning of a frame. */
  private read(data: Buffer): Buffer {
    let at = 0;
    for (;;) {
      const left = data.length - at;
      this.needed = 2;
      if (left < 2) return data.subarray(at);
      const short = data[at + 1]! & 127;
      const head = short === 126 ? 4 : short === 127 ? 10 : 2;
      this.needed = head;
      if (left < head) return data.subarray(at);
      const length =
        short === 126 ? data.readUInt16BE(at + 2) : short === 127 ? Number(data.readBigUInt64BE(at + 2)) : short;
      this.needed = head + length;
      if (left < this.needed) return data.subarray(at);
      if ((data[at]! & FINAL) === 0) throw new Error("the server sent a fragment");
      this.frame(data[at]! & 15, data.subarray(at + head, at + head + length));
      at += head + length;
    }
  }
}
