/** Removes the uploads to a bucket that killed writers have left. A bucket cannot tell whether a process still runs, so only their age counts. */
import type { S3Client } from "../../recordings/storage/s3/client.ts";

/** `isOurs` gets a key. An upload is old if it was begun, and its last part arrived, before that time. What cannot be removed is left. */
export async function removeOldUploads(
  client: Pick<S3Client, "openMultiparts" | "parts" | "abortMultipart">,
  prefix: string,
  isOurs: (key: string) => boolean,
  beforeMs: number,
): Promise<void> {
  for await (const { key, uploadId, initiated } of client.openMultiparts(prefix)) {
    if (!isOurs(key) || initiated >= beforeMs) continue;
    // A large backup over a slow line may take more than a day.
    const parts = (await client.parts(key, uploadId)) ?? [];
    if (parts.every(({ modified }) => modified < beforeMs))
      await client.abortMultipart(key, uploadId).catch(() => undefined);
  }
}
