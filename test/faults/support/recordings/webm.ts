/** What a recorder writes, each frame with a content of its own, and a reader that finds the frames of a WebM file without the library that mends. */
import {
  beginning,
  block,
  concat,
  element,
  ID,
  number,
  UNKNOWN,
} from "../../../../src/recordings/mending/testing/live-webm.ts";

export interface Frames {
  /** The contents of the frames, in order, by the number of their track. */
  readonly tracks: ReadonlyMap<number, readonly string[]>;
  /** In milliseconds; 0: the file does not say it. */
  readonly durationMs: number;
  readonly hasCues: boolean;
}

const FRAME_MS = 40;
const [VIDEO, AUDIO] = [1, 2];
const AUDIO_BYTES = 60;
const CLUSTER_MS = 1000;

/** A live stream of that many frames of video and of sound: no duration, no index, clusters of an unknown size. */
export function recorded(seed: number, frames: number, frameBytes: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [beginning()];
  const perCluster = CLUSTER_MS / FRAME_MS;
  for (let from = 0; from < frames; from += perCluster) {
    const blocks: Uint8Array[] = [element(ID.timestamp, number(from * FRAME_MS, 4))];
    for (let at = from; at < Math.min(frames, from + perCluster); at++) {
      const relativeMs = (at - from) * FRAME_MS;
      blocks.push(block(VIDEO, relativeMs, at === from, content(seed, at, frameBytes)));
      blocks.push(block(AUDIO, relativeMs, true, content(seed, at, AUDIO_BYTES)));
    }
    parts.push(element(ID.cluster, concat(...blocks), UNKNOWN));
  }
  return concat(...parts);
}

function content(seed: number, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(at % 251);
  new DataView(bytes.buffer).setUint32(0, seed);
  new DataView(bytes.buffer).setUint32(4, at);
  return bytes;
}

const ENTERED: ReadonlySet<number> = new Set([ID.segment, ID.info, ID.cluster, 0xa0 /* BlockGroup */]);
const BLOCK = 0xa1;

/** Reads as far as elements are whole. */
export function framesOf(file: Uint8Array): Frames {
  const view = Buffer.from(file.buffer, file.byteOffset, file.length);
  const tracks = new Map<number, string[]>();
  let [durationMs, hasCues] = [0, false];
  for (let at = 0; at < view.length; ) {
    const head = elementAt(view, at);
    if (!head) break;
    const { id, dataAt, size } = head;
    if (ENTERED.has(id)) {
      at = dataAt;
      continue;
    }
    const end = dataAt + size;
    if (end > view.length) break;
    if (id === ID.simpleBlock || id === BLOCK) {
      const track = (view[dataAt] ?? 0) & 0x7f;
      const data = view.subarray(dataAt + 4, end);
      const list = tracks.get(track) ?? [];
      tracks.set(track, list);
      list.push(`${data.readUInt32BE(0)}.${data.readUInt32BE(4)} ${Bun.hash(data)}`);
    }
    if (id === ID.duration) durationMs = size === 8 ? view.readDoubleBE(dataAt) : view.readFloatBE(dataAt);
    if (id === ID.cues) hasCues = size > 0;
    at = end;
  }
  return { tracks, durationMs, hasCues };
}

function elementAt(view: Buffer, at: number): { id: number; dataAt: number; size: number } | undefined {
  const idBytes = Math.clz32(view[at] ?? 0) - 23;
  const sizeAt = at + idBytes;
  const sizeBytes = Math.clz32(view[sizeAt] ?? 0) - 23;
  const dataAt = sizeAt + sizeBytes;
  if (idBytes > 4 || sizeBytes > 8 || dataAt > view.length) return undefined;
  let id = 0;
  for (const byte of view.subarray(at, sizeAt)) id = id * 256 + byte;
  let size = (view[sizeAt] ?? 0) & (0xff >> sizeBytes);
  for (const byte of view.subarray(sizeAt + 1, dataAt)) size = size * 256 + byte;
  return { id, dataAt, size };
}
