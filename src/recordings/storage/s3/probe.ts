/** Whether a bucket can be used now: it is there, may be written to, and has said nothing of being full. */
import { CHECK_NAME, StorageFull, StorageMissing, StorageUnwritable } from "../storage.ts";
import { type S3Client, S3Refusal } from "./client.ts";

/** How often it is tried whether uploads can begin. */
const TRY_UPLOAD_EVERY_MS = 60_000;
/** A bucket that said it was full counts as full for this long, unless it takes something meanwhile. */
const FULL_COUNTS_MS = 60_000;

export class BucketProbe {
  /** Monotonic. */
  private trialDueMs = 0;

  constructor(
    /** Answers soon, or not at all. */
    private readonly client: S3Client,
    private readonly prefix: string,
    /** When a write was last refused because the bucket is full, monotonic. */
    private readonly fullMs: () => number,
  ) {}

  /**
   * Asks for the bucket each time, and begins an upload every minute: that proves the right to write and, unlike an object, leaves no
   * version behind where the bucket keeps versions.
   */
  async check(): Promise<void> {
    try {
      await this.reach();
      if (performance.now() >= this.trialDueMs) await this.tryUpload();
    } catch (error) {
      if (!(error instanceof S3Refusal)) throw error;
      if (error.status === 404) throw new StorageMissing(error.message);
      throw error.status === 401 || error.status === 403 ? new StorageUnwritable(error.message) : error;
    }
    // A full bucket still takes the beginning of an upload.
    if (performance.now() - this.fullMs() < FULL_COUNTS_MS) throw new StorageFull("the bucket is full");
  }

  private async reach(): Promise<void> {
    try {
      await this.client.headBucket();
    } catch (error) {
      // Costs more, but its answer has the reason; and some services do not know the other call.
      if (error instanceof S3Refusal) await this.client.list(`${this.prefix}recordings/`).next();
      else throw error;
    }
  }

  private async tryUpload(): Promise<void> {
    const key = this.prefix + CHECK_NAME;
    await this.client.abortMultipart(key, await this.client.createMultipart(key));
    this.trialDueMs = performance.now() + TRY_UPLOAD_EVERY_MS;
  }
}
