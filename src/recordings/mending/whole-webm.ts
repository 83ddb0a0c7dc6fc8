/**
 * Finds the end of what is whole in a WebM file that was cut off. A recorder writes clusters of an unknown size, and the library reads a
 * cluster only as a whole: without this, a file that ends within a frame would lose its whole last cluster, which can be half a minute.
 *
 * The file also ends, for the library, before bytes that are no elements and behind which no cluster follows: it would search them forever.
 */
import type { FileHandle } from "node:fs/promises";
import { type EbmlElement, elementIn } from "./ebml.ts";
import { FileWindow } from "./file-window.ts";

/** How the file is to be read: up to `end`, with these bytes in place of its own. */
export interface Whole {
  readonly end: number;
  readonly patch?: { readonly at: number; readonly bytes: Uint8Array };
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

export async function wholeWebm(file: FileHandle, fileSize: number): Promise<Whole> {
  const window = new FileWindow(file, fileSize);
  let cluster: EbmlElement | undefined;
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
const isAtEnd = (cluster: EbmlElement, at: number, fileSize: number): boolean =>
  at === fileSize && (cluster.size === undefined || cluster.dataAt + cluster.size <= fileSize);

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
