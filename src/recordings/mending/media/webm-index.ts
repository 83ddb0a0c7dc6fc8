/**
 * The index of a mended WebM file, in front of its frames. The library writes it at the end, and with it there Chromium reads the whole file
 * to seek in it. So a gap is left between the head of the file and its first cluster, and the index moves there when it is known.
 */
import type { FileHandle } from "node:fs/promises";
import type { StreamTargetChunk } from "mediabunny";

interface CuePoint {
  readonly timeMs: number;
  readonly track: number;
  /** Counted from the beginning of the segment's data. */
  readonly cluster: number;
}

const SEGMENT = Buffer.from([0x18, 0x53, 0x80, 0x67]);
const SEGMENT_SIZE_BYTES = 6;
const CUES = Buffer.from([0x1c, 0x53, 0xbb, 0x6b]);
/** The entry of the index in the head: SeekID with the id of Cues, then SeekPosition with 5 bytes. */
const CUES_ENTRY = Buffer.from([0x53, 0xab, 0x84, ...CUES, 0x53, 0xac, 0x85]);
const POSITION_BYTES = 5;
/** CuePoint with CueTime, and CueTrackPositions with CueTrack and CueClusterPosition, each of a fixed length. */
const POINT_BYTES = 20;
const CUES_HEAD_BYTES = 8;
const VOID_HEAD_BYTES = 9;
const VOID = 0xec;

/** Enough for a point every few seconds of sound, and every second of video. What does not fit is thinned out. */
export const gapBytes = (inputBytes: number): number => 1024 + Math.ceil(inputBytes / 500);

/** A file with a gap at a position that is known before anything behind it is written. */
export class GapFile {
  private gapAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly file: FileHandle,
    private readonly gap: number,
  ) {}

  /** The head of the file ends here. */
  headEnds(at: number): void {
    this.gapAt = at;
  }

  readonly stream = (): WritableStream<StreamTargetChunk> =>
    new WritableStream({ write: ({ data, position }) => this.write(data, position) });

  private async write(data: Uint8Array, position: number): Promise<void> {
    const inFront = Math.min(data.length, Math.max(0, this.gapAt - position));
    await writeAll(this.file, data.subarray(0, inFront), position);
    await writeAll(this.file, data.subarray(inFront), position + inFront + this.gap);
  }

  /**
   * Moves the index into the gap. `track`: the one whose points are kept, as others are found with it. `keysMs`: the times at which it can be played
   * from. A cluster lasts half a minute at most, and where there was no key frame for longer, the library begins one without, and indexes it too.
   */
  async moveIndex(track: number, keysMs: readonly number[] | undefined): Promise<void> {
    const { file, gap, gapAt } = this;
    const head = await readAll(file, 0, gapAt);
    const segmentAt = head.indexOf(SEGMENT);
    const entryAt = head.indexOf(CUES_ENTRY);
    if (segmentAt < 0 || entryAt < 0) throw new Error("the head of the output is not as expected");
    const dataAt = segmentAt + SEGMENT.length + SEGMENT_SIZE_BYTES;
    const positionAt = entryAt + CUES_ENTRY.length;
    const indexAt = dataAt + head.readUIntBE(positionAt, POSITION_BYTES) + gap;
    const { size } = await file.stat();
    const points = pointsIn(await readAll(file, indexAt, size - indexAt)).filter((point) => point.track === track);
    const moved = playable(points, keysMs).map((point) => ({ ...point, cluster: point.cluster + gap }));
    await writeAll(file, index(thinned(moved, gap), gap), gapAt);
    head.writeUIntBE(gapAt - dataAt, positionAt, POSITION_BYTES);
    head.writeUIntBE(indexAt - dataAt, segmentAt + SEGMENT.length, SEGMENT_SIZE_BYTES);
    // The first byte of a size says how long it is.
    head[segmentAt + SEGMENT.length] = (head[segmentAt + SEGMENT.length] ?? 0) | (0x80 >> (SEGMENT_SIZE_BYTES - 1));
    await writeAll(file, head, 0);
    await file.truncate(indexAt);
  }
}

/** Those that begin with a key packet; without its times, all of them do. */
function playable(points: readonly CuePoint[], keysMs: readonly number[] | undefined): readonly CuePoint[] {
  if (!keysMs) return points;
  // There can be many more keys than points.
  const times = new Set(points.map(({ timeMs }) => timeMs));
  const keys = new Set(keysMs.filter((ms) => times.has(ms)));
  return points.filter(({ timeMs }) => keys.has(timeMs));
}

/** As many of them as the gap has place for, at equal distances. */
function thinned(points: readonly CuePoint[], gap: number): readonly CuePoint[] {
  const most = Math.floor((gap - CUES_HEAD_BYTES - VOID_HEAD_BYTES) / POINT_BYTES);
  const step = Math.ceil(points.length / most);
  return points.filter((_, at) => at % step === 0);
}

/** The index, and an element without meaning that fills the rest of the gap. */
function index(points: readonly CuePoint[], gap: number): Buffer {
  const length = CUES_HEAD_BYTES + points.length * POINT_BYTES;
  const bytes = Buffer.alloc(length + VOID_HEAD_BYTES);
  CUES.copy(bytes);
  bytes.writeUInt32BE(0x10000000 + points.length * POINT_BYTES, CUES.length);
  for (const [i, { timeMs, track, cluster }] of points.entries()) {
    const at = CUES_HEAD_BYTES + i * POINT_BYTES;
    bytes.set([0xbb, 0x92, 0xb3, 0x84], at);
    bytes.writeUInt32BE(timeMs, at + 4);
    bytes.set([0xb7, 0x8a, 0xf7, 0x81, track, 0xf1, 0x85], at + 8);
    bytes.writeUIntBE(cluster, at + 15, POSITION_BYTES);
  }
  bytes.set([VOID, 0x01, 0], length);
  bytes.writeUIntBE(gap - length - VOID_HEAD_BYTES, length + 3, 6);
  return bytes;
}

/** The points of an index that the library wrote. */
function pointsIn(bytes: Buffer): CuePoint[] {
  if (!bytes.subarray(0, CUES.length).equals(CUES)) throw new Error("the index of the output is not as expected");
  const points: CuePoint[] = [];
  let [timeMs, track] = [0, 0];
  for (const { id, at, size } of elements(bytes, elementAt(bytes, 0).at)) {
    if (id === 0xb3) timeMs = bytes.readUIntBE(at, size);
    if (id === 0xf7) track = bytes.readUIntBE(at, size);
    if (id === 0xf1) points.push({ timeMs, track, cluster: bytes.readUIntBE(at, size) });
  }
  return points;
}

interface Element {
  readonly id: number;
  readonly at: number;
  readonly size: number;
}

/** All elements; CuePoint and CueTrackPositions are entered. */
function* elements(bytes: Buffer, from: number): Generator<Element> {
  for (let at = from; at < bytes.length; ) {
    const element = elementAt(bytes, at);
    yield element;
    at = element.id === 0xbb || element.id === 0xb7 ? element.at : element.at + element.size;
  }
}

function elementAt(bytes: Buffer, from: number): Element {
  const idBytes = Math.clz32(bytes.readUInt8(from)) - 23;
  const sizeAt = from + idBytes;
  const sizeBytes = Math.clz32(bytes.readUInt8(sizeAt)) - 23;
  let size = bytes.readUInt8(sizeAt) & (0xff >> sizeBytes);
  for (let i = 1; i < sizeBytes; i++) size = size * 256 + bytes.readUInt8(sizeAt + i);
  return { id: bytes.readUIntBE(from, idBytes), at: sizeAt + sizeBytes, size };
}

async function readAll(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, from);
  if (bytesRead !== length) throw new Error("the output is shorter than it was");
  return bytes;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}
