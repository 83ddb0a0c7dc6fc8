/** A multipart upload that is written from its beginning to its end. One part is sent while the next is being filled. */
import type { S3Client } from "../../recordings/storage/s3/client.ts";
import { TargetError } from "./target.ts";

const MIB = 1024 * 1024;
/** Services accept parts of at least 5 MiB, and at most 10,000 of them; some want all but the last of the same size. */
const PART_MIN_BYTES = 8 * MIB;
const PARTS_MAX = 10_000;
/** How many are planned: what was expected may be too little. */
const PARTS_PLANNED = 9000;

export class Upload {
  /** All that were added. */
  bytes = 0;
  private readonly partBytes: number;
  private filling: Uint8Array<ArrayBuffer>;
  private other: Uint8Array<ArrayBuffer>;
  private length = 0;
  private number = 1;
  private underWay: Promise<void> | undefined;

  constructor(
    private readonly client: S3Client,
    private readonly key: string,
    private readonly uploadId: string,
    expectedBytes = 0,
  ) {
    this.partBytes = Math.max(PART_MIN_BYTES, Math.ceil(expectedBytes / PARTS_PLANNED / MIB) * MIB);
    this.filling = new Uint8Array(this.partBytes);
    this.other = new Uint8Array(this.partBytes);
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      // Only when there are more bytes, so that no empty part is sent last.
      if (this.length === this.partBytes) await this.send();
      const part = chunk.subarray(at, at + this.partBytes - this.length);
      this.filling.set(part, this.length);
      this.length += part.length;
      at += part.length;
    }
    this.bytes += chunk.length;
  }

  /** `confirm` is called when all bytes have arrived, and prevents with an error that the object gets its name. */
  async finish(confirm: () => Promise<void>): Promise<void> {
    await this.send();
    await this.underWay;
    const parts = (await this.client.parts(this.key, this.uploadId)) ?? [];
    const arrived = parts.reduce((sum, { size }) => sum + size, 0);
    if (arrived !== this.bytes || parts.length !== this.number - 1)
      throw new TargetError("unavailable", "the bucket does not have the parts that were sent to it: try again");
    await confirm();
    await this.client.completeMultipart(this.key, this.uploadId, parts);
  }

  /** Waits until no part is under way: one that arrives after the upload was aborted would be left behind. */
  async settle(): Promise<void> {
    await this.underWay?.catch(() => undefined);
  }

  /** Waits for the part before, so that two parts are in memory. */
  private async send(): Promise<void> {
    await this.underWay;
    if (this.number > PARTS_MAX)
      throw new TargetError(
        "unavailable",
        `a backup in a bucket has at most ${PARTS_MAX} parts of ${this.partBytes} bytes`,
      );
    const part = this.filling.subarray(0, this.length);
    this.underWay = this.client.uploadPart(this.key, this.uploadId, this.number++, part);
    // Its failure is thrown by the next call; until then, it is not an unhandled one.
    this.underWay.catch(() => undefined);
    [this.filling, this.other] = [this.other, this.filling];
    this.length = 0;
  }
}
