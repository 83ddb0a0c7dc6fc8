/** Whether one can play a recording from somewhere near its end without fetching all that is before. */
import { expect } from "bun:test";
import type { ListedRecordings } from "./listed-recordings.ts";
import { bytesToSeek } from "./media-files.ts";

export interface Seek {
  readonly second: number;
  /** How many bytes were read for it. */
  readonly read: number;
  /** From the last picture that needs no other one to the end: what is shown there cannot be decoded with less. */
  readonly needed: number;
  readonly size: number;
}

/** ffmpeg reads that twice, and the header and the index before it. */
const mostRead = (needed: number): number => 2 * needed + 200_000;

export async function expectSeekable(listed: ListedRecordings): Promise<Seek[]> {
  const seeks: Seek[] = [];
  for (const { record, file } of await Promise.all(listed.seen.values())) {
    const second = Math.max(0, file.lastPictureSec - 0.1);
    const read = await bytesToSeek(await listed.linkTo(record._id), second);
    const size = record.sizeInBytes;
    const needed = size - file.lastKeyAt;
    seeks.push({ second, read, needed, size });
    if (mostRead(needed) < size) expect(read).toBeLessThanOrEqual(mostRead(needed));
  }
  return seeks;
}
