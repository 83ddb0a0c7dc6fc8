/** Counts the frames of a WebM file. */
import type { FileHandle } from "node:fs/promises";
import { type CountedMedia, checkDuration, checkTracks, FalseClaim, Tally } from "./count.ts";
import { elementIn } from "./ebml.ts";
import { FileWindow } from "./file-window.ts";

const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
};
const ENTERED: ReadonlySet<number> = new Set([
  ID.segment,
  ID.info,
  ID.tracks,
  ID.trackEntry,
  ID.cluster,
  ID.blockGroup,
]);
const CLUSTER = Buffer.from([0x1f, 0x43, 0xb6, 0x75]);
/** Pictures and sound. */
const MEDIA_TYPES = [1, 2];
const DEFAULT_SCALE = 1_000_000;
/**
 * The library takes its time for each element, and for a cluster most, however small they are. Recorders write clusters of a second and more; the least
 * that a frame takes is a header of 6 bytes and 3 of its own.
 */
const [CLUSTER_MIN_BYTES, ELEMENT_MIN_BYTES] = [256, 8];
const UNCHECKED_COUNT = 1000;
const [IS_KEY, LACING] = [0x80, 0x06];

/** Up to `end`; what cannot be read is skipped up to the next cluster. Throws FalseClaim. */
export async function countWebm(file: FileHandle, fileSize: number, end = fileSize): Promise<CountedMedia> {
  const count = new WebmCount(fileSize);
  const window = new FileWindow(file, fileSize);
  for (let at = 0; at < end; ) {
    if (!window.hasHeader(at)) await window.move(at);
    const element = elementIn(window, at);
    if (element === "cut") break;
    const isLost = element === "invalid" || (element.size === undefined && !ENTERED.has(element.id));
    if (isLost) {
      const next = await window.find(CLUSTER, at + 1, end);
      if (next === undefined) break;
      at = next;
      continue;
    }
    const { id, dataAt, size = 0 } = element;
    count.element(id);
    if (ENTERED.has(id)) {
      count.entered(id);
      at = dataAt;
      continue;
    }
    // What is behind the end of the file is not there.
    if (dataAt + size > end) break;
    count.found(id, window, dataAt, size);
    at = dataAt + size;
  }
  return count.media();
}

class WebmCount {
  private readonly tally = new Tally();
  /** Tracks that are neither pictures nor sound. Bound: TRACKS_MAX. */
  private readonly others = new Set<number>();
  private tracks = 0;
  private track = 0;
  private elements = 0;
  private clusters = 0;
  private scale = DEFAULT_SCALE;
  private duration = 0;

  constructor(private readonly fileSize: number) {}

  element(id: number): void {
    if (id === ID.cluster) this.checkCount(++this.clusters, CLUSTER_MIN_BYTES, "clusters");
    this.checkCount(++this.elements, ELEMENT_MIN_BYTES, "elements");
  }

  private checkCount(count: number, minBytes: number, what: string): void {
    if (count > UNCHECKED_COUNT + this.fileSize / minBytes)
      throw new FalseClaim(`it has ${count} ${what} and more in ${this.fileSize} bytes`);
  }

  entered(id: number): void {
    if (id !== ID.trackEntry) return;
    this.track = 0;
    checkTracks(++this.tracks);
  }

  /** The window has the first bytes of its data, as far as these are in the file. */
  found(id: number, window: FileWindow, at: number, size: number): void {
    if (id === ID.simpleBlock || id === ID.block) return this.block(window, at, size, id === ID.simpleBlock);
    if (id === ID.trackNumber) this.track = window.uint(at, Math.min(size, 8));
    // The order of the two is not fixed; a recorder writes the number first.
    if (id === ID.trackType && !MEDIA_TYPES.includes(window.uint(at, Math.min(size, 8)))) this.others.add(this.track);
    if (id === ID.timestampScale) this.scale = window.uint(at, Math.min(size, 8));
    if (id === ID.duration) this.duration = window.float(at, size);
    if (id === ID.timestampScale || id === ID.duration) checkDuration((this.duration * this.scale) / 1e9);
  }

  private block(window: FileWindow, at: number, size: number, isSimple: boolean): void {
    const track = window.vint(at);
    if (!track) return;
    const flags = window.byte(at + track.bytes + 2);
    const headBytes = track.bytes + 3;
    const dataBytes = Math.max(0, size - headBytes);
    let frames = 1;
    if ((flags & LACING) !== 0) {
      frames = window.byte(at + headBytes) + 1;
      // The byte that says how many there are is one of them; each frame needs one at least.
      if (frames > dataBytes - 1) throw new FalseClaim(`a block of ${dataBytes} bytes claims ${frames} frames`);
    }
    // In front of the first key frame nothing can be decoded, and players show nothing.
    const isKey = !isSimple || (flags & IS_KEY) !== 0;
    if (isKey || this.tally.has(track.value)) this.tally.add(track.value, frames, dataBytes);
  }

  media(): CountedMedia {
    return this.tally.without(this.others);
  }
}
