/** WebSocket frames that no client should send: every bit of the header can be set. */

export interface Bits {
  readonly opcode: number;
  readonly payload?: Uint8Array | string;
  /** Default: true. */
  readonly final?: boolean;
  /** Three bits. Default: 0. */
  readonly reserved?: number;
  /** Default: true. */
  readonly masked?: boolean;
  /** The length in the header. Default: the payload's length. */
  readonly length?: bigint;
  /** The encoding of the length. Default: the shortest one. */
  readonly form?: "short" | "medium" | "long";
}

export function bits({
  opcode,
  payload = "",
  final = true,
  reserved = 0,
  masked = true,
  length,
  form,
}: Bits): Buffer<ArrayBuffer> {
  const body = Buffer.from(payload as string, "utf8");
  const claimed = length ?? BigInt(body.length);
  const shape = form ?? (claimed < 126n ? "short" : claimed < 65_536n ? "medium" : "long");
  const extra = shape === "short" ? 0 : shape === "medium" ? 2 : 8;
  const head = Buffer.alloc(2 + extra + (masked ? 4 : 0));
  head[0] = (final ? 0x80 : 0) | ((reserved & 7) << 4) | (opcode & 15);
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? Number(claimed & 127n) : extra === 2 ? 126 : 127);
  if (extra === 2) head.writeUInt16BE(Number(claimed & 0xffffn), 2);
  if (extra === 8) head.writeBigUInt64BE(BigInt.asUintN(64, claimed), 2);
  if (masked) {
    const mask = [0x5a, 0x17, 0xe2, 0x39];
    head.set(mask, 2 + extra);
    for (let i = 0; i < body.length; i++) body[i] = (body[i] as number) ^ (mask[i & 3] as number);
  }
  return Buffer.concat([head, body]);
}
