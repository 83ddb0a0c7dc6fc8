/**
 * zstd as independent frames, each compressed and decompressed as a whole by a thread of the runtime. The streams of node:zlib are not used:
 * the decompressing one ends without an error where a frame is cut off or data follows it.
 *
 * The reader finds the end of a frame by the headers of its blocks (RFC 8878), and so knows how long it is and what it claims to contain before
 * it decompresses anything: a small file cannot take much memory.
 */
import type { ByteSource } from "./byte-source.ts";
import { ArchiveError } from "./errors.ts";
import { FRAME_BYTES, FRAME_MAX_BYTES, ZSTD_LEVEL } from "./format.ts";

export const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const BLOCK_HEADER_BYTES = 3;
const BLOCK_MAX_BYTES = 128 * 1024;
/** Kinds of blocks. */
const REPEATED_BYTE = 1;
const RESERVED = 3;
/** The frame header, and the headers of the blocks: more than any compressor adds. */
const FRAME_EXTRA_BYTES = 4096;
/** Far more than a compressor makes of a frame: a hostile one may have millions, each of which takes time. */
const BLOCKS_MAX = 1024;

/** One frame is compressed while the next is being filled, each in a buffer of its own. */
export async function* compressed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [filling, other] = [new Uint8Array(FRAME_BYTES), new Uint8Array(FRAME_BYTES)];
  let length = 0;
  let underWay: Promise<Uint8Array> | undefined;
  for await (const chunk of bytes)
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + FRAME_BYTES - length);
      filling.set(part, length);
      at += part.length;
      length += part.length;
      if (length < FRAME_BYTES) continue;
      if (underWay) yield await underWay;
      underWay = compress(filling);
      [filling, other] = [other, filling];
      length = 0;
    }
  if (underWay) yield await underWay;
  if (length > 0) yield await compress(filling.subarray(0, length));
}

function compress(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const frame = Bun.zstdCompress(bytes, { level: ZSTD_LEVEL });
  // If the archive is given up, no one awaits it any more.
  frame.catch(() => undefined);
  return frame;
}

export async function* decompressed(source: ByteSource): AsyncGenerator<Uint8Array> {
  const reader = new FrameReader(source);
  while (!(await source.isAtEnd())) {
    const { frame, contentBytes } = await reader.read();
    const content = await Bun.zstdDecompress(frame).catch(() => undefined);
    if (content?.length !== contentBytes) throw damaged("a frame cannot be decompressed");
    yield content;
  }
}

/** The size of the field with the length of the content, by the two highest bits of the descriptor. */
const LENGTH_FIELD_BYTES = [1, 2, 4, 8] as const;

/** Reads one frame after the other into the same buffer. */
class FrameReader {
  private readonly buffer = Buffer.alloc(FRAME_MAX_BYTES + FRAME_EXTRA_BYTES);
  private length = 0;

  constructor(private readonly source: ByteSource) {}

  /** The frame is overwritten by the next call. */
  async read(): Promise<{ readonly frame: Buffer<ArrayBuffer>; readonly contentBytes: number }> {
    this.length = 0;
    const contentBytes = await this.readHeader();
    for (let count = 1; !(await this.readBlock()); count++)
      if (count === BLOCKS_MAX) throw damaged("a frame has too many blocks");
    return { frame: this.buffer.subarray(0, this.length), contentBytes };
  }

  /** Returns the length of the content. */
  private async readHeader(): Promise<number> {
    if (!(await this.add(ZSTD_MAGIC.length)).equals(ZSTD_MAGIC))
      throw damaged("something that is not a frame follows one");
    const descriptor = (await this.add(1)).readUInt8();
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const fieldBytes = LENGTH_FIELD_BYTES[(descriptor >> 6) as 0 | 1 | 2 | 3];
    // No dictionary, no checksum, nothing reserved, and a length: as the compressor writes it.
    const isOurs = (descriptor & 0x1f) === 0 && (isSingleSegment || fieldBytes > 1);
    if (!isOurs) throw damaged("a frame has an unknown header");
    if (!isSingleSegment) await this.add(1);
    const field = await this.add(fieldBytes);
    const length = fieldBytes === 8 ? Number(field.readBigUInt64LE()) : field.readUIntLE(0, fieldBytes);
    const contentBytes = fieldBytes === 2 ? length + 256 : length;
    if (contentBytes === 0 || contentBytes > FRAME_MAX_BYTES) throw damaged("a frame has an impossible length");
    return contentBytes;
  }

  /** Returns whether it was the last one of the frame. */
  private async readBlock(): Promise<boolean> {
    const head = (await this.add(BLOCK_HEADER_BYTES)).readUIntLE(0, BLOCK_HEADER_BYTES);
    const [isLast, kind, size] = [(head & 1) === 1, (head >> 1) & 3, head >> 3];
    if (kind === RESERVED || size > BLOCK_MAX_BYTES) throw damaged("a frame has an unknown block");
    await this.add(kind === REPEATED_BYTE ? 1 : size);
    return isLast;
  }

  private async add(count: number): Promise<Buffer> {
    const end = this.length + count;
    if (end > this.buffer.length) throw damaged("a frame is too long");
    const part = this.buffer.subarray(this.length, end);
    if ((await this.source.fill(part)) < count) throw new ArchiveError("truncated", "it ends inside a frame");
    this.length = end;
    return part;
  }
}

const damaged = (detail: string): ArchiveError => new ArchiveError("damaged", detail);
