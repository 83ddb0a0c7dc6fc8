/**
 * Checks a JPEG of strangers, and makes a file of what an image needs: tables, the frame, its scans. Everything else is left out (Exif with its places,
 * comments, colour profiles, other formats in segments of their own), and what no page of ours sends is refused.
 *
 * The scans themselves are not decoded: what they hold is sent as image/jpeg only, with `nosniff` and a sandbox.
 */

/** A file that is not taken; the message says why. */
export class NotThisJpeg extends Error {}

export const THUMBNAIL_MAX_BYTES = 20 * 1024;
const THUMBNAIL_MIN_SIDE = 16;
const THUMBNAIL_MAX_SIDE = 640;

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const DQT = 0xdb;
const DHT = 0xc4;
const DRI = 0xdd;
const COM = 0xfe;
/** Baseline and progressive. */
const FRAMES: readonly number[] = [0xc0, 0xc2];

const isApp = (marker: number): boolean => marker >= 0xe0 && marker <= 0xef;
const isRestart = (marker: number): boolean => marker >= 0xd0 && marker <= 0xd7;

/** "JFIF", version 1.1, square pixels, no preview: three components are then YCbCr for every reader. */
const JFIF = Uint8Array.of(0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0);

/** The image anew, without what it does not need. Throws NotThisJpeg. */
export function cleanJpeg(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length > THUMBNAIL_MAX_BYTES) throw new NotThisJpeg(`it has over ${THUMBNAIL_MAX_BYTES} bytes`);
  if (bytes[0] !== 0xff || bytes[1] !== SOI) throw new NotThisJpeg("its first bytes are not those of a JPEG");
  const kept: Uint8Array[] = [bytes.subarray(0, 2), JFIF];
  let components = 0;
  let scans = 0;
  for (let at = 2; ; ) {
    const marker = markerAt(bytes, at);
    if (marker === EOI) {
      if (scans === 0) throw new NotThisJpeg("it has no image");
      if (at + 2 !== bytes.length) throw new NotThisJpeg("bytes follow its end");
      kept.push(bytes.subarray(at));
      return new Uint8Array(Buffer.concat(kept));
    }
    const end = segmentEnd(bytes, at);
    const body = bytes.subarray(at + 4, end);
    let next = end;
    if (FRAMES.includes(marker)) {
      if (components > 0) throw new NotThisJpeg("it has two images");
      components = frameComponents(body);
    } else if (marker === SOS) {
      if (!isScanHead(body, components)) throw damaged();
      next = scanEnd(bytes, end);
      scans++;
    } else if (!isTable(marker, body) && !isApp(marker) && marker !== COM) throw damaged();
    if (!isApp(marker) && marker !== COM) kept.push(bytes.subarray(at, next));
    at = next;
  }
}

const damaged = (): NotThisJpeg => new NotThisJpeg("it is damaged, or of a kind that is not accepted");

function markerAt(bytes: Uint8Array, at: number): number {
  const marker = bytes[at + 1];
  if (bytes[at] !== 0xff || marker === undefined) throw new NotThisJpeg("it ends too early, or is damaged");
  return marker;
}

function segmentEnd(bytes: Uint8Array, at: number): number {
  const [high = 0, low = 0] = [bytes[at + 2], bytes[at + 3]];
  const length = (high << 8) | low;
  if (length < 2 || at + 2 + length > bytes.length) throw damaged();
  return at + 2 + length;
}

/** How many components the frame has: 1 is grey, 3 are YCbCr. */
function frameComponents(body: Uint8Array): number {
  const [bits = 0, highY = 0, lowY = 0, highX = 0, lowX = 0, count = 0] = body;
  const sides = [(highX << 8) | lowX, (highY << 8) | lowY];
  if (bits !== 8 || (count !== 1 && count !== 3) || body.length !== 6 + 3 * count) throw damaged();
  if (sides.some((side) => side < THUMBNAIL_MIN_SIDE || side > THUMBNAIL_MAX_SIDE))
    throw new NotThisJpeg(`each side must have ${THUMBNAIL_MIN_SIDE} to ${THUMBNAIL_MAX_SIDE} pixels`);
  for (let n = 0; n < count; n++) {
    const sampling = body[7 + 3 * n] ?? 0;
    const [x, y] = [sampling >> 4, sampling & 15];
    if (x < 1 || x > 4 || y < 1 || y > 4 || (body[8 + 3 * n] ?? 4) > 3) throw damaged();
  }
  return count;
}

function isScanHead(body: Uint8Array, components: number): boolean {
  const count = body[0] ?? 0;
  return count >= 1 && count <= components && body.length === 4 + 2 * count;
}

/** Behind the last byte of a scan: in it, FF is followed by 0 or a restart marker only. */
function scanEnd(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const next = bytes[at + 1];
    if (next === undefined) break;
    if (next === 0 || isRestart(next)) continue;
    if (at === start) throw damaged();
    return at;
  }
  throw new NotThisJpeg("it ends too early");
}

function isTable(marker: number, body: Uint8Array): boolean {
  if (marker === DRI) return body.length === 2;
  if (marker === DQT) return fills(body, (head, at) => quantizationBytes(head, at));
  if (marker === DHT) return fills(body, (head, at) => huffmanBytes(head, body, at));
  return false;
}

/** Whether tables, one behind the other, are all of it. 0: there is no such table. */
function fills(body: Uint8Array, bytesOf: (head: number, at: number) => number): boolean {
  let at = 0;
  while (at < body.length) {
    const bytes = bytesOf(body[at] ?? 0, at);
    if (bytes === 0) return false;
    at += bytes;
  }
  return at === body.length && at > 0;
}

const quantizationBytes = (head: number, _at: number): number =>
  head >> 4 > 1 || (head & 15) > 3 ? 0 : 1 + 64 * (1 + (head >> 4));

function huffmanBytes(head: number, body: Uint8Array, at: number): number {
  if (head >> 4 > 1 || (head & 15) > 3) return 0;
  const codes = body.subarray(at + 1, at + 17).reduce((sum, count) => sum + count, 0);
  return codes > 256 ? 0 : 17 + codes;
}
