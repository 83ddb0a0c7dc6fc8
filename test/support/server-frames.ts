/** Splits a server's WebSocket stream into frames (RFC 6455, 5.2), after the handshake's response. */

export interface ServerFrame {
  /** The whole frame, header included. */
  readonly bytes: Buffer;
  /** undefined: a control frame, a fragment, or the handshake's response. */
  readonly text: string | undefined;
}

const TEXT = 1;

export class FrameCutter {
  private rest: Buffer = Buffer.alloc(0);
  private isUpgraded = false;

  /** The frames that are complete by now. */
  *cut(bytes: Buffer): Generator<ServerFrame> {
    let buffer = this.rest.length > 0 ? Buffer.concat([this.rest, bytes]) : bytes;
    for (;;) {
      const length = this.isUpgraded ? frameLength(buffer) : headLength(buffer);
      if (length === undefined || buffer.length < length.total) break;
      const whole = buffer.subarray(0, length.total);
      const isText = this.isUpgraded && whole[0] === (0x80 | TEXT);
      this.isUpgraded = true;
      yield { bytes: whole, text: isText ? whole.toString("utf8", length.head) : undefined };
      buffer = buffer.subarray(length.total);
    }
    // A copy: a slice would keep the whole chunk in memory.
    this.rest = Buffer.from(buffer);
  }
}

interface Length {
  readonly head: number;
  readonly total: number;
}

function headLength(buffer: Buffer): Length | undefined {
  const end = buffer.indexOf("\r\n\r\n");
  return end < 0 ? undefined : { head: 0, total: end + 4 };
}

/** Servers do not mask, so the length field is followed by the payload. */
function frameLength(buffer: Buffer): Length | undefined {
  const short = (buffer[1] ?? 0) & 0x7f;
  const head = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (buffer.length < head) return undefined;
  const size = short === 127 ? Number(buffer.readBigUInt64BE(2)) : short === 126 ? buffer.readUInt16BE(2) : short;
  return { head, total: head + size };
}

/** A text frame as a server would send it. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length < 126) return Buffer.concat([Buffer.from([0x80 | TEXT, payload.length]), payload]);
  const head = Buffer.alloc(4);
  head[0] = 0x80 | TEXT;
  head[1] = 126;
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
