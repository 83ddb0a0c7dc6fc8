/** For tests: WebM files as a recorder writes them, element by element, so that each can be wrong in its own way. */

export const ID = {
  ebml: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  video: 0xe0,
  width: 0xb0,
  height: 0xba,
  audio: 0xe1,
  samplingFrequency: 0xb5,
  channels: 0x9f,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  seekHead: 0x114d9b74,
  cues: 0x1c53bb6b,
  tags: 0x1254c367,
  void: 0xec,
} as const;

/** The size that a live stream has. */
export const UNKNOWN = new Uint8Array([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);

export const concat = (...parts: readonly (Uint8Array | readonly number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat(parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part)))));

export function number(value: number, length = Math.max(1, Math.ceil(Math.log2(value + 1) / 8))): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = length - 1, left = value; i >= 0; i--, left = Math.floor(left / 256)) bytes[i] = left % 256;
  return bytes;
}

/** A size in 8 bytes. */
export const size = (value: number): Uint8Array => concat([0x01], number(value, 7));

export const element = (id: number, data: Uint8Array, sizeField: Uint8Array = size(data.length)): Uint8Array =>
  concat(number(id), sizeField, data);

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);

const float = (value: number): Uint8Array => new Uint8Array(new Float32Array([value]).buffer).reverse();

export const head = (docType = "webm"): Uint8Array => element(ID.ebml, element(ID.docType, text(docType)));

const VIDEO = 1;
const AUDIO = 2;

const OPUS_HEAD = concat(text("OpusHead"), [1, 1, 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0]);

const tracks = (): Uint8Array =>
  element(
    ID.tracks,
    concat(
      element(
        ID.trackEntry,
        concat(
          element(ID.trackNumber, number(VIDEO)),
          element(ID.trackUid, number(VIDEO)),
          element(ID.trackType, number(1)),
          element(ID.codecId, text("V_VP8")),
          element(ID.video, concat(element(ID.width, number(320)), element(ID.height, number(180)))),
        ),
      ),
      element(
        ID.trackEntry,
        concat(
          element(ID.trackNumber, number(AUDIO)),
          element(ID.trackUid, number(AUDIO)),
          element(ID.trackType, number(2)),
          element(ID.codecId, text("A_OPUS")),
          element(ID.codecPrivate, OPUS_HEAD),
          element(ID.audio, concat(element(ID.samplingFrequency, float(48_000)), element(ID.channels, number(1)))),
        ),
      ),
    ),
  );

export const beginning = (): Uint8Array =>
  concat(
    head(),
    number(ID.segment),
    UNKNOWN,
    element(ID.info, element(ID.timestampScale, number(1_000_000))),
    tracks(),
  );

export const block = (track: number, atMs: number, isKey: boolean, data: Uint8Array): Uint8Array =>
  element(ID.simpleBlock, concat([0x80 | track], number(atMs & 0xffff, 2), [isKey ? 0x80 : 0], data));

export interface Live {
  readonly seconds: number;
  readonly frameBytes?: number;
  readonly clusterSeconds?: number;
  /** A multiple of clusterSeconds, which is the default. */
  readonly keyEverySeconds?: number;
  /** When the first frame is shown. */
  readonly startMs?: number;
  /** A multiple of 40; default: 40. */
  readonly pictureEveryMs?: number;
  readonly hasVideoUntil?: number;
  readonly hasAudioUntil?: number;
  /** Whether clusters say their size. */
  readonly isSized?: boolean;
}

const FRAME_MS = 40;

/** 25 frames and 25 packets of sound per second, in clusters that begin with a key frame unless keys are rarer. The parts of the file, as they are sent. */
export function* live({
  seconds,
  frameBytes = 1000,
  clusterSeconds = 4,
  keyEverySeconds = clusterSeconds,
  startMs = 0,
  pictureEveryMs = FRAME_MS,
  hasVideoUntil = seconds,
  hasAudioUntil = seconds,
  isSized = false,
}: Live): Generator<Uint8Array> {
  yield beginning();
  for (let from = 0; from < seconds; from += clusterSeconds) {
    const blocks: Uint8Array[] = [element(ID.timestamp, number(startMs + from * 1000))];
    const until = Math.min(seconds, from + clusterSeconds) * 1000;
    for (let at = from * 1000; at < until; at += FRAME_MS) {
      const relative = at - from * 1000;
      const fill = (at / FRAME_MS) % 251;
      if (at < hasVideoUntil * 1000 && at % pictureEveryMs === 0)
        blocks.push(block(VIDEO, relative, at % (keyEverySeconds * 1000) === 0, new Uint8Array(frameBytes).fill(fill)));
      if (at < hasAudioUntil * 1000) blocks.push(block(AUDIO, relative, true, new Uint8Array(80).fill(fill)));
    }
    const data = concat(...blocks);
    yield element(ID.cluster, data, isSized ? size(data.length) : UNKNOWN);
  }
}

export const liveWebm = (wanted: Live): Uint8Array<ArrayBuffer> => concat(...live(wanted));
