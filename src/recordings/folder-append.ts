/** Bytes on their way into a file of the folder of recordings. */
import { type FileHandle, open } from "node:fs/promises";
import type { WriterLease } from "./storage.ts";

/** How much is written between two looks at the free disk. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024;
/**
 * Where another node may have to take over, what was written is flushed and noted this often: a node that dies costs its
 * sender no more than these bytes.
 */
const KEEP_EVERY_BYTES = 16 * 1024 * 1024;
const KEEP_EVERY_MS = 5000;

export async function appendTo(
  path: string,
  offset: number,
  bytes: AsyncIterable<Uint8Array>,
  lease: WriterLease,
  checkRoom: () => Promise<void>,
): Promise<void> {
  await lease.confirm();
  const file = await open(path, offset === 0 ? "w" : "r+", 0o600);
  const writing = new Writing(file, offset, lease, checkRoom);
  try {
    for await (const chunk of bytes) await writing.add(chunk);
  } finally {
    // Also what came before a cut: its sender will be told that we have it.
    await writing.keep().finally(() => file.close());
  }
}

class Writing {
  private at: number;
  private lookAt: number;
  private kept: number;
  private keptMs = performance.now();

  constructor(
    private readonly file: FileHandle,
    offset: number,
    private readonly lease: WriterLease,
    private readonly checkRoom: () => Promise<void>,
  ) {
    this.at = offset;
    this.lookAt = offset;
    this.kept = offset;
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.lease.confirm();
    if (this.at >= this.lookAt) {
      await this.checkRoom();
      this.lookAt = this.at + LOOK_EVERY_BYTES;
    }
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.file.write(chunk, done, chunk.length - done, this.at);
      done += bytesWritten;
      this.at += bytesWritten;
    }
    if (this.lease.keep && this.isDue) await this.keep();
  }

  /** Flushed, and then noted. */
  async keep(): Promise<void> {
    await this.file.sync();
    if (this.at > this.kept) await this.lease.keep?.(this.at);
    this.kept = this.at;
    this.keptMs = performance.now();
  }

  private get isDue(): boolean {
    return this.at - this.kept >= KEEP_EVERY_BYTES || performance.now() - this.keptMs >= KEEP_EVERY_MS;
  }
}
