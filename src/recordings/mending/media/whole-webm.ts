/**
 * How a WebM file is to be read that was cut off, or is damaged. A recorder writes clusters of an unknown size, and the library reads a cluster only as a
 * whole: without this, a file that ends within a frame would lose its whole last cluster, which can be half a minute.
 *
 * Where the library meets bytes that are no element of a segment, it searches for the next one: forever, if none follows or the one it finds has no valid
 * size. So it is never made to search: it is shown a file in which such bytes are an element without a meaning, clusters have the size of what is in them,
 * and the file ends before what cannot be shown so. It is not shown an index either, which could send it anywhere.
 */
import type { FileHandle } from "node:fs/promises";
import { type EbmlElement, elementIn } from "./ebml.ts";
import { FileWindow } from "./file-window.ts";

export interface Patch {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** How the file is to be read: up to `end`, with these bytes in place of its own. */
export interface Whole {
  readonly end: number;
  readonly patches: readonly Patch[];
}

const [EBML, SEGMENT, CLUSTER, VOID, CRC] = [0x1a45dfa3, 0x18538067, 0x1f43b675, 0xec, 0xbf];
const [SEEK_HEAD, CUES] = [0x114d9b74, 0x1c53bb6b];
/** Beside clusters: SeekHead, Cues, Info, Tracks, Attachments, Chapters, Tags. */
const OF_SEGMENTS: ReadonlySet<number> = new Set([
  CLUSTER,
  SEEK_HEAD,
  CUES,
  0x1549a966,
  0x1654ae6b,
  0x1941a469,
  0x1043a770,
  0x1254c367,
]);
/** Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock. */
const OF_CLUSTERS: ReadonlySet<number> = new Set([VOID, CRC, 0xe7, 0x5854, 0xa7, 0xab, 0xa3, 0xa0, 0xaf]);
/** How far the next element may be. */
const SEARCH_MAX_BYTES = 9 * 1024 * 1024;
/** A file that is broken in more places was not written by a recorder. */
const PATCHES_MAX = 200;
/** The lengths in which the library knows an unknown size. */
const UNKNOWN_SIZE_BYTES = [1, 8];

export function wholeWebm(file: FileHandle, fileSize: number): Promise<Whole> {
  return new WholeWebm(file, fileSize).find();
}

class WholeWebm {
  private readonly window: FileWindow;
  /** Bound: PATCHES_MAX, then the file ends there; and those of the end. */
  private readonly patches: Patch[] = [];
  private segment: EbmlElement | undefined;
  /** The one that elements are read from. */
  private cluster: EbmlElement | undefined;
  private at = 0;
  /** Nothing behind it is read. */
  private limit: number;

  constructor(
    file: FileHandle,
    private readonly fileSize: number,
  ) {
    this.window = new FileWindow(file, fileSize);
    this.limit = fileSize;
  }

  async find(): Promise<Whole> {
    while (this.at < this.limit && this.patches.length < PATCHES_MAX) if (!(await this.step())) break;
    const { at, cluster, segment } = this;
    const isCut = at !== this.fileSize || cluster?.size !== undefined;
    if (cluster && isCut) this.resize(cluster);
    if (segment?.size !== undefined) this.resize(segment);
    return { end: at, patches: this.patches };
  }

  /** Goes on behind the next element; false: the file ends before it. */
  private async step(): Promise<boolean> {
    const element = await this.elementAt(this.at);
    if (element === "cut") return false;
    if (element === "invalid") return this.skip();
    if (this.segment === undefined) return this.stepToSegment(element);
    if (endOf(this.cluster) === this.at) this.cluster = undefined;
    if (this.cluster && OF_CLUSTERS.has(element.id)) return this.pass(element);
    const isOfSegment = OF_SEGMENTS.has(element.id) || (element.id === VOID && !this.cluster);
    if (!isOfSegment) return element.id === SEGMENT || element.id === EBML ? false : this.skip();
    // The cluster says another size than that of what is in it.
    if (this.cluster && !isUnknownForLibrary(this.cluster) && !this.resize(this.cluster)) return false;
    this.cluster = undefined;
    if (element.id !== CLUSTER) return this.pass(element);
    this.cluster = element;
    return this.goTo(element.dataAt);
  }

  private async elementAt(at: number): Promise<ReturnType<typeof elementIn>> {
    if (!this.window.hasHeader(at)) await this.window.move(at);
    return elementIn(this.window, at);
  }

  private stepToSegment(element: EbmlElement): boolean {
    if (element.id !== SEGMENT) return element.id === EBML || element.id === VOID ? this.pass(element) : false;
    this.segment = element;
    const end = endOf(element);
    // Else its size becomes that of what is found.
    if (end !== undefined && !hasSpaceFor(this.fileSize - element.dataAt, element.sizeBytes))
      this.limit = Math.min(end, this.fileSize);
    return this.goTo(element.dataAt);
  }

  private pass(element: EbmlElement): boolean {
    const end = endOf(element);
    if (end === undefined || end > this.limit) return false;
    if (element.id === CUES || element.id === SEEK_HEAD) this.hide(this.at, end);
    return this.goTo(end);
  }

  private goTo(at: number): boolean {
    if (at > this.limit) return false;
    this.at = at;
    return true;
  }

  /** What is here is no element: up to the next one of the segment, it is hidden. */
  private async skip(): Promise<boolean> {
    if (this.segment === undefined) return false;
    const from = this.at;
    const next = await this.nextOfSegment(from + VOID_MIN_BYTES, Math.min(from + SEARCH_MAX_BYTES, this.limit));
    if (next === undefined || (this.cluster && !this.resize(this.cluster))) return false;
    this.cluster = undefined;
    this.hide(from, next);
    return this.goTo(next);
  }

  private async nextOfSegment(from: number, until: number): Promise<number | undefined> {
    for (let at = from; ; at++) {
      const found = await this.window.findId(OF_SEGMENTS, at, until);
      if (found === undefined) return undefined;
      // The same four bytes can be in a frame.
      if (typeof (await this.elementAt(found)) === "object") return found;
      at = found;
    }
  }

  /** It ends here; false: its field is too short for that size. */
  private resize({ size, sizeAt, sizeBytes, dataAt }: EbmlElement): boolean {
    const actual = this.at - dataAt;
    if (size === actual) return true;
    if (!hasSpaceFor(actual, sizeBytes)) return false;
    this.patches.push({ at: sizeAt, bytes: sizeField(actual, sizeBytes) });
    return true;
  }

  private hide(from: number, to: number): void {
    const sizeBytes = to - from < 1 + 8 ? 1 : 8;
    const size = to - from - 1 - sizeBytes;
    this.patches.push({ at: from, bytes: new Uint8Array([VOID, ...sizeField(size, sizeBytes)]) });
  }
}

/** An id and a size. */
const VOID_MIN_BYTES = 2;

const endOf = (element: EbmlElement | undefined): number | undefined =>
  element?.size === undefined ? undefined : element.dataAt + element.size;

const isUnknownForLibrary = ({ size, sizeBytes }: EbmlElement): boolean =>
  size === undefined && UNKNOWN_SIZE_BYTES.includes(sizeBytes);

/** The highest number of that length says that the size is unknown. */
const hasSpaceFor = (size: number, length: number): boolean => size < 2 ** (7 * length) - 1;

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
