/**
 * What is to be written to a socket, in chunks. Frames are encoded in place, so a payload is copied once: from its string into the
 * chunk that the kernel reads. A socket that takes less than it is given is written to again when it has room.
 */

const CHUNK_BYTES = 64 * 1024;

/** Part of Bun's socket. `write` returns how many bytes the kernel has taken; less than 0: the socket is closed. */
export interface Writable {
  write(bytes: Uint8Array, offset: number, length: number): number;
}

interface Chunk {
  readonly bytes: Buffer;
  /** Written up to here by the frames. */
  end: number;
}

export class Outbox {
  private current: Chunk = { bytes: Buffer.allocUnsafeSlow(CHUNK_BYTES), end: 0 };
  /** Full chunks, oldest first. Bound: QUEUE_MAX_BYTES of unix.ts, then the connection is cut. */
  private full: Chunk[] = [];
  /** How much of the oldest chunk the kernel has taken. */
  private taken = 0;
  private fullBytes = 0;
  private isBlocked = false;

  constructor(private readonly socket: Writable) {}

  /** Bytes that the kernel has not taken. */
  get queuedBytes(): number {
    return this.fullBytes + this.current.end - this.taken;
  }

  /** The buffer that `reserve` returns an offset of. */
  get bytes(): Buffer {
    return this.current.bytes;
  }

  /** Offset at which `size` bytes may be written. Everything up to `commit` belongs to one frame. */
  reserve(size: number): number {
    if (this.current.end + size > this.current.bytes.length) this.next(size);
    return this.current.end;
  }

  commit(end: number): void {
    this.current.end = end;
  }

  /** Writes until the kernel takes no more. */
  flush(): void {
    if (!this.isBlocked) this.write();
  }

  /** The kernel has room again. */
  drained(): void {
    this.isBlocked = false;
    this.write();
  }

  private next(size: number): void {
    if (this.current.end > 0) {
      this.full.push(this.current);
      this.fullBytes += this.current.end;
      this.current = { bytes: Buffer.allocUnsafeSlow(Math.max(size, CHUNK_BYTES)), end: 0 };
      // The other side can start to read while this turn still writes.
      this.flush();
    } else this.current = { bytes: Buffer.allocUnsafeSlow(size), end: 0 };
  }

  private write(): void {
    let written = 0;
    for (const chunk of this.full) {
      if (!this.writeChunk(chunk)) break;
      this.fullBytes -= chunk.end;
      this.taken = 0;
      written++;
    }
    if (written > 0) this.full = this.full.slice(written);
    if (this.full.length > 0 || this.current.end === 0 || !this.writeChunk(this.current)) return;
    this.taken = 0;
    // A chunk for one large frame is not kept.
    if (this.current.bytes.length > CHUNK_BYTES) this.current = { bytes: Buffer.allocUnsafeSlow(CHUNK_BYTES), end: 0 };
    else this.current.end = 0;
  }

  /** Whether all of it is with the kernel. A closed socket takes nothing; its connection ends with the event that follows. */
  private writeChunk({ bytes, end }: Chunk): boolean {
    const length = end - this.taken;
    const count = this.socket.write(bytes, this.taken, length);
    if (count >= length) return true;
    this.isBlocked = true;
    this.taken += Math.max(0, count);
    return false;
  }
}
