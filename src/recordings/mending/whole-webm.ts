/**
 * Finds the end of what is whole in a WebM file that was cut off. A recorder writes clusters of an unknown size, and the library reads a
 * cluster only as a whole: without this, a file that ends within a frame would lose its whole last cluster, which can be half a minute.
 *
 * The file also ends, for the library, before bytes that are no elements and behind which no cluster follows: it would search them forever.
 */
import type { FileHandle } from "node:fs/promises";

/** How the file is to be read: up to `end`, with these bytes in place of its own. */
export interface Whole {
  readonly end: number;
  readonly patch?: { readonly at: number; readonly bytes: Uint8Array };
}

interface Element {
  readonly id: number;
  readonly sizeAt: number;
  readonly sizeBytes: number;
  readonly dataAt: number;
  /** undefined: unknown, as in a live stream. */
  readonly size: number | undefined;
}

const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const CLUSTER_BYTES = Buffer.from([0x1f, 0x43, 0xb6, 0x75]);
/** What may be in a file, a segment or a cluster: EBML, SeekHead, Info, Tracks, Cues, Attachments, Chapters, Tags, Void, CRC-32; */
const OF_SEGMENTS = [
  0x1a45dfa3, 0x114d9b74, 0x1549a966, 0x1654ae6b, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367, 0xec, 0xbf,
];
/** Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock. */
const OF_CLUSTERS = [0xe7, 0x5854, 0xa7, 0xab, 0xa3, 0xa0, 0xaf];
const KNOWN = new Set([SEGMENT, CLUSTER, ...OF_SEGMENTS, ...OF_CLUSTERS]);
/** How far the next cluster may be. The library gives up after 10 MiB. */
const SEARCH_MAX_BYTES = 9 * 1024 * 1024;
/** A file that is broken in more places was not written by a recorder, and the library takes long over each of them. */
const SEARCHES_MAX = 100;
/** An id has at most 4 bytes, a size at most 8. */
const HEADER_MAX_BYTES = 12;
const WINDOW_BYTES = 256 * 1024;

export async function wholeWebm(file: FileHandle, fileSize: number): Promise<Whole> {
  const window = new Window(file, fileSize);
  let cluster: Element | undefined;
  let searches = 0;
  let at = 0;
  while (at < fileSize) {
    if (!window.hasHeader(at)) await window.move(at);
    const element = elementIn(window, at);
    if (element === "cut") break;
    if (element === "invalid" || !KNOWN.has(element.id)) {
      // The library would search at a cluster without a valid size forever.
      if (window.startsWith(CLUSTER_BYTES, at) || ++searches > SEARCHES_MAX) break;
      const next = await window.find(CLUSTER_BYTES, at + 1, at + SEARCH_MAX_BYTES);
      if (next === undefined) break;
      at = next;
      continue;
    }
    const isEntered = element.id === SEGMENT || element.id === CLUSTER;
    if (element.id === CLUSTER) cluster = element;
    if (!isEntered && element.size === undefined) break;
    const next = isEntered ? element.dataAt : element.dataAt + (element.size ?? 0);
    if (next > fileSize) break;
    at = next;
  }
  if (cluster === undefined || isAtEnd(cluster, at, fileSize)) return { end: at };
  return { end: at, patch: { at: cluster.sizeAt, bytes: sizeField(at - cluster.dataAt, cluster.sizeBytes) } };
}

/** The last cluster has the size that it says, and nothing is missing. */
const isAtEnd = (cluster: Element, at: number, fileSize: number): boolean =>
  at === fileSize && (cluster.size === undefined || cluster.dataAt + cluster.size <= fileSize);

/** The element at that position, of which the window has the header, except at the end of the file. */
function elementIn({ buffer, start, length }: Window, at: number): Element | "cut" | "invalid" {
  // Without views of the buffer: a file has hundreds of thousands of elements.
  const from = at - start;
  const idBytes = widthOf(buffer[from]);
  if (idBytes === undefined || idBytes > 4) return "invalid";
  const sizeFrom = from + idBytes;
  if (sizeFrom >= length) return "cut";
  const sizeBytes = widthOf(buffer[sizeFrom]);
  if (sizeBytes === undefined) return "invalid";
  const end = sizeFrom + sizeBytes;
  if (end > length) return "cut";
  let id = 0;
  for (let i = from; i < sizeFrom; i++) id = id * 256 + (buffer[i] ?? 0);
  const highest = 0xff >> sizeBytes;
  let size = (buffer[sizeFrom] ?? 0) & highest;
  let isUnknown = size === highest;
  for (let i = sizeFrom + 1; i < end; i++) {
    size = size * 256 + (buffer[i] ?? 0);
    isUnknown &&= buffer[i] === 0xff;
  }
  return { id, sizeAt: start + sizeFrom, sizeBytes, dataAt: start + end, size: isUnknown ? undefined : size };
}

/** The length of a number by its first byte. undefined: no number begins so. */
const widthOf = (first = 0): number | undefined => (first === 0 ? undefined : Math.clz32(first) - 23);

/** A size in a field of a fixed length. */
function sizeField(size: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let left = size;
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = left % 256;
    left = Math.floor(left / 256);
  }
  bytes[0] = (bytes[0] ?? 0) | (0x80 >> (length - 1));
  return bytes;
}

/** A part of the file in memory, moved along with the reader. */
class Window {
  readonly buffer = new Uint8Array(WINDOW_BYTES);
  start = 0;
  length = 0;

  constructor(
    private readonly file: FileHandle,
    private readonly fileSize: number,
  ) {}

  /** Whether it has the bytes at that position: enough for a header, except at the end of the file. */
  hasHeader(at: number): boolean {
    return at >= this.start && Math.min(at + HEADER_MAX_BYTES, this.fileSize) <= this.start + this.length;
  }

  /** Whether these bytes are at a position of which it has the header. */
  startsWith(bytes: Buffer, at: number): boolean {
    return bytes.every((byte, i) => this.buffer[at - this.start + i] === byte);
  }

  /** The first position of these bytes; undefined: they are not there. */
  async find(bytes: Buffer, from: number, until: number): Promise<number | undefined> {
    for (let position = from; position < Math.min(until, this.fileSize); position = this.start + this.length) {
      // The last bytes of a window are looked at again: the ones that are searched may be on both sides of its end.
      const start = Math.max(from, position - bytes.length + 1);
      // What is in memory is not read again: a file can have a reason to search every few bytes.
      if (start !== from || !this.hasHeader(start)) await this.move(start);
      const found = Buffer.from(this.buffer.buffer, 0, this.length).indexOf(bytes, start - this.start);
      if (found >= 0) return this.start + found;
    }
    return undefined;
  }

  async move(position: number): Promise<void> {
    const { bytesRead } = await this.file.read(this.buffer, 0, WINDOW_BYTES, position);
    if (bytesRead === 0) throw new Error("the file is shorter than it was");
    [this.start, this.length] = [position, bytesRead];
  }
}
