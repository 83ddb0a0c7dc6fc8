/**
 * Appends to an open upload in a bucket. The bytes of one call are stored when it ends: those that fill a part as a part of the multipart upload, the
 * others as a piece (pieces.ts). When the pieces have become enough for a part, they are joined.
 *
 * Small pieces are joined into one when there are many of them: an upload in parts of one byte would otherwise have an object for each.
 */
import type { WriterLease } from "../storage.ts";
import type { S3Client } from "./client.ts";
import { bytesIn, type Link, type Piece, pieceName } from "./pieces.ts";

/** An upload has at most this many small pieces in a row. With a part of 8 MiB, it has less than a hundred pieces in all. */
const SMALL_PIECES_MAX = 32;
const SMALL_PIECE_BYTES = 256 * 1024;
const FIRST_BUFFER_BYTES = 64 * 1024;
/** Bound: joining holds a part in memory, so that no more of it are under way at a time. */
const JOINS_AT_ONCE = 4;

/** What the bucket has of an open upload. */
export interface OpenState {
  /** Bytes in parts, and the number of the next part. */
  readonly inParts: number;
  readonly next: number;
  readonly chain: readonly Link[];
  /** All pieces, also those that do not count any more. */
  readonly pieces: readonly Piece[];
}

export interface Target {
  readonly client: S3Client;
  readonly objectKey: string;
  readonly uploadId: string;
  readonly piecePrefix: string;
  readonly partBytes: number;
  readonly lease: WriterLease;
}

export async function appendToBucket(
  target: Target,
  state: OpenState,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const writer = new BucketWriter(target, state);
  try {
    for await (const chunk of bytes) await writer.add(chunk);
  } finally {
    // Also after a cut: the client is answered that these bytes are held.
    await writer.finish();
  }
}

class BucketWriter {
  private start: number;
  private number: number;
  /** Bound: less than 100; SMALL_PIECES_MAX small ones in a row are joined. */
  private chain: readonly Link[];
  private pieces: readonly Piece[];
  private readonly fresh: GrowingBuffer;

  constructor(
    private readonly target: Target,
    { inParts, next, chain, pieces }: OpenState,
  ) {
    this.start = inParts;
    this.number = next;
    this.chain = chain;
    this.pieces = pieces;
    this.fresh = new GrowingBuffer(target.partBytes);
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      if (this.room <= 0) await this.sendPart();
      const piece = chunk.subarray(done, done + this.room);
      this.fresh.add(piece);
      done += piece.length;
    }
  }

  async finish(): Promise<void> {
    try {
      if (this.fresh.length === 0) return;
      if (this.room <= 0) return await this.sendPart();
      await this.sendPiece();
      await this.joinSmallPieces();
    } finally {
      this.fresh.free();
    }
  }

  /** How many bytes the next part still needs. */
  private get room(): number {
    return this.target.partBytes - bytesIn(this.chain) - this.fresh.length;
  }

  private async sendPart(): Promise<void> {
    const { client, objectKey, uploadId, lease } = this.target;
    const size = bytesIn(this.chain) + this.fresh.length;
    if (this.chain.length === 0) {
      await lease.confirm();
      await client.uploadPart(objectKey, uploadId, this.number++, this.fresh.bytes);
    } else
      await joins.run(async () => {
        const whole = await this.joined(this.chain, size);
        whole.set(this.fresh.bytes, size - this.fresh.length);
        await lease.confirm();
        await client.uploadPart(objectKey, uploadId, this.number++, whole);
        whole.buffer.transfer(0);
      });
    this.start += size;
    this.chain = [];
    this.fresh.clear();
    await this.removePieces(({ from, size: count }) => from + count <= this.start);
  }

  private async sendPiece(): Promise<void> {
    const from = this.start + bytesIn(this.chain);
    const link = await this.put(from, this.fresh.bytes);
    this.chain = [...this.chain, link];
  }

  private async joinSmallPieces(): Promise<void> {
    const firstSmall = this.chain.findLastIndex(({ count }) => count >= SMALL_PIECE_BYTES) + 1;
    const small = this.chain.slice(firstSmall);
    const [first] = small;
    if (small.length < SMALL_PIECES_MAX || !first) return;
    await joins.run(async () => {
      const whole = await this.joined(small, bytesIn(small));
      const link = await this.put(first.from, whole);
      whole.buffer.transfer(0);
      this.chain = [...this.chain.slice(0, firstSmall), link];
    });
    const used = new Set(this.chain.map(({ key }) => key));
    await this.removePieces(({ key, from }) => from >= first.from && !used.has(key));
  }

  private async put(from: number, bytes: Uint8Array<ArrayBuffer>): Promise<Link> {
    const { client, piecePrefix, lease } = this.target;
    const key = `${piecePrefix}${pieceName(from, lease.generation)}`;
    await lease.confirm();
    await client.put(key, bytes);
    this.pieces = [...this.pieces, { key, from, generation: lease.generation, size: bytes.length }];
    return { key, from, skip: 0, count: bytes.length };
  }

  private async joined(links: readonly Link[], size: number): Promise<Uint8Array<ArrayBuffer>> {
    const whole = new Uint8Array(size);
    let at = 0;
    for (const link of links) {
      whole.set(await readLink(this.target.client, link), at);
      at += link.count;
    }
    return whole;
  }

  /** Their bytes are elsewhere. A piece that cannot be removed now is removed with the upload. */
  private async removePieces(isUnused: (piece: Piece) => boolean): Promise<void> {
    const { client, lease } = this.target;
    for (const { key } of this.pieces.filter(isUnused)) {
      await lease.confirm();
      await client.delete(key).catch(() => undefined);
    }
    this.pieces = this.pieces.filter((piece) => !isUnused(piece));
  }
}

export async function readLink(client: S3Client, { key, skip, count }: Link): Promise<Uint8Array> {
  const bytes = await client.get(key, skip, skip + count - 1);
  if (bytes.length !== count) throw new Error("a piece of the upload does not have the bytes that were counted");
  return bytes;
}

/** Grows with its content, so that a small part does not take the memory of a whole one. */
class GrowingBuffer {
  private buffer = new Uint8Array(0);
  length = 0;

  constructor(private readonly max: number) {}

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.buffer.subarray(0, this.length);
  }

  add(chunk: Uint8Array): void {
    const needed = this.length + chunk.length;
    if (needed > this.buffer.length) this.grow(needed);
    this.buffer.set(chunk, this.length);
    this.length = needed;
  }

  clear(): void {
    this.length = 0;
  }

  /** At once: until the garbage collector does it, many uploads could take much memory. */
  free(): void {
    this.buffer.buffer.transfer(0);
    this.length = 0;
  }

  private grow(needed: number): void {
    const size = Math.max(needed, Math.min(this.max, Math.max(FIRST_BUFFER_BYTES, this.buffer.length * 2)));
    const earlier = this.buffer;
    this.buffer = new Uint8Array(size);
    this.buffer.set(earlier.subarray(0, this.length));
    earlier.buffer.transfer(0);
  }
}

/** Runs some at a time; the others wait in order. */
class Semaphore {
  private running = 0;
  /** Bound: uploads that are being written. */
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly max: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running === this.max) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}

const joins = new Semaphore(JOINS_AT_ONCE);
