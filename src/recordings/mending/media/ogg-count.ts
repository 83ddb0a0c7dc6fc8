/** The tracks that an Ogg file announces: the library takes a time that grows with the square of their number. */
import type { FileHandle } from "node:fs/promises";
import { checkTracks } from "./count.ts";

const CAPTURE_PATTERN = "OggS";
/** In a page: its flags, the number of its segments, and their lengths. */
const [FLAGS_AT, SEGMENTS_AT, HEADER_BYTES] = [5, 26, 27];
const SEGMENTS_MAX = 255;
const BEGINS_TRACK = 2;

/** All tracks begin before anything else, each with a page of its own (RFC 3533, section 4). */
export async function checkOggTracks(file: FileHandle): Promise<void> {
  const page = Buffer.alloc(HEADER_BYTES + SEGMENTS_MAX);
  for (let [at, tracks] = [0, 0]; ; ) {
    const { bytesRead } = await file.read(page, 0, page.length, at);
    const isPage = bytesRead >= HEADER_BYTES && page.toString("latin1", 0, CAPTURE_PATTERN.length) === CAPTURE_PATTERN;
    if (!isPage || (page.readUInt8(FLAGS_AT) & BEGINS_TRACK) === 0) return;
    checkTracks(++tracks);
    const lengths = page.subarray(HEADER_BYTES, HEADER_BYTES + page.readUInt8(SEGMENTS_AT));
    at += HEADER_BYTES + lengths.length + lengths.reduce((sum, bytes) => sum + bytes, 0);
  }
}
