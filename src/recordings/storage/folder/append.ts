/** Appends the body of an upload to its file in the folder of recordings. */
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { WriterLease } from "../storage.ts";
import { flush } from "./files.ts";

/** How much is written between two checks of the free disk space. */
const CHECK_SPACE_EVERY_BYTES = 16 * 1024 * 1024;
/**
 * Where another node can take over, written bytes are flushed and their number is stored this often: when a node dies, the client has
 * to send no more than these again.
 */
const KEEP_EVERY_BYTES = 16 * 1024 * 1024;
const KEEP_EVERY_MS = 5000;

export async function appendTo(
  path: string,
  offset: number,
  bytes: AsyncIterable<Uint8Array>,
  lease: WriterLease,
  checkSpace: () => Promise<void>,
): Promise<void> {
  await lease.confirm();
  const file = await open(path, offset === 0 ? "w" : "r+", 0o600);
  const writer = new FileWriter(file, offset, lease, checkSpace);
  try {
    for await (const chunk of bytes) await writer.add(chunk);
  } finally {
    // Also after a cut: the client is answered that these bytes are held.
    await writer.finish().finally(() => file.close());
    // A new file is found after a loss of power once its folder is flushed.
    if (offset === 0) await flush(dirname(path));
  }
}

class FileWriter {
  private at: number;
  private checkSpaceAt: number;
  private kept: number;
  private keptMs = performance.now();

  constructor(
    private readonly file: FileHandle,
    offset: number,
    private readonly lease: WriterLease,
    private readonly checkSpace: () => Promise<void>,
  ) {
    this.at = offset;
    this.checkSpaceAt = offset;
    this.kept = offset;
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.lease.confirm();
    if (this.at >= this.checkSpaceAt) {
      await this.checkSpace();
      this.checkSpaceAt = this.at + CHECK_SPACE_EVERY_BYTES;
    }
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.file.write(chunk, done, chunk.length - done, this.at);
      done += bytesWritten;
      this.at += bytesWritten;
    }
    if (this.lease.keep && this.isDue) await this.keep();
  }

  /** Flushes the file, then stores how many bytes are safe. */
  private async keep(): Promise<void> {
    await this.file.sync();
    if (this.at > this.kept) await this.lease.keep?.(this.at);
    this.kept = this.at;
    this.keptMs = performance.now();
  }

  /** Flushes the file for the last time: the release of the lease stores how many bytes are safe. */
  async finish(): Promise<void> {
    await this.file.sync();
    if (this.at > this.kept) this.lease.note?.({ kept: this.at });
  }

  private get isDue(): boolean {
    return this.at - this.kept >= KEEP_EVERY_BYTES || performance.now() - this.keptMs >= KEEP_EVERY_MS;
  }
}
