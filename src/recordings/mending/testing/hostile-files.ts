/** For tests: files that claim to be recordings, made to make a reader loop, allocate, or fail. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beginning, block, concat, element, head, ID, liveWebm, number, size, text, UNKNOWN } from "./live-webm.ts";

const RECORDED = join(import.meta.dir, "../../../../test/fixtures/recorded");
const recorded = (name: string): Uint8Array => new Uint8Array(readFileSync(join(RECORDED, name)));

/** The largest size that a field can hold: 2^56 - 2. */
const HUGE = new Uint8Array([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
const MILLION = 1_000_000;
/** What costs a reader seconds is only done in full runs. */
const MANY = process.env.PARLEY_TEST_FULL ? 100_000 : 10_000;

export const box = (type: string, data: Uint8Array, length = data.length + 8): Uint8Array =>
  concat(number(length, 4), text(type), data);
const largeBox = (type: string, length: bigint): Uint8Array =>
  concat(number(1, 4), text(type), Buffer.from(length.toString(16).padStart(16, "0"), "hex"));
export const ftyp = box("ftyp", concat(text("isom"), number(0, 4), text("isomiso2")));

function nested(depth: number, ids: readonly number[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let i = 0; i < depth; i++) parts.push(number(ids[i % ids.length] ?? 0), size((depth - i) * 12));
  return concat(...parts);
}

function* noise(bytes: number): Generator<number> {
  for (let i = 0, state = 1; i < bytes; i++) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    yield state >>> 24;
  }
}

export function hostileFiles(): [string, () => Uint8Array][] {
  const cluster = (data: Uint8Array, sizeField: Uint8Array = UNKNOWN): Uint8Array =>
    element(ID.cluster, data, sizeField);
  const frame = block(1, 0, true, new Uint8Array(100));
  return [
    ["only the first bytes of a WebM file", () => head()],
    ["WebM, then HTML", () => concat(head(), text("<script>".repeat(10_000)))],
    ["WebM, then noise", () => concat(head(), Uint8Array.from(noise(200_000)))],
    ["WebM, then zeros", () => concat(beginning(), new Uint8Array(MILLION))],
    [
      "WebM, then clusters without a valid size",
      () => concat(beginning(), ...Array.from({ length: 100 }, () => new Uint8Array([0x1f, 0x43, 0xb6, 0x75, 0]))),
    ],
    ["a head of 2^56 bytes", () => concat(number(ID.ebml), HUGE, element(ID.docType, text("webm")))],
    ["a segment of 2^56 bytes", () => concat(head(), number(ID.segment), HUGE, liveWebm({ seconds: 1 }).subarray(40))],
    ["a list of tracks of 2^56 bytes", () => concat(head(), number(ID.segment), UNKNOWN, number(ID.tracks), HUGE)],
    ["a cluster of 2^56 bytes", () => concat(beginning(), cluster(frame, HUGE))],
    ["a frame of 2^56 bytes", () => concat(beginning(), cluster(concat(number(ID.simpleBlock), HUGE)))],
    ["a frame of 2^40 bytes", () => concat(beginning(), cluster(concat(number(ID.simpleBlock), size(2 ** 40))))],
    ["100,000 levels of clusters", () => concat(beginning(), nested(100_000, [ID.cluster]))],
    [
      "100,000 levels of segments and tracks",
      () => concat(head(), nested(100_000, [ID.segment, ID.tracks, ID.trackEntry])),
    ],
    [
      "100,000 levels of tags",
      () => concat(head(), number(ID.segment), UNKNOWN, nested(100_000, [ID.tags, 0x7373, 0x67c8])),
    ],
    [
      "very many empty clusters",
      () => concat(beginning(), ...Array.from({ length: 2 * MANY }, () => cluster(new Uint8Array(), size(0)))),
    ],
    [
      "very many clusters with a frame each, at the same time",
      () =>
        concat(
          beginning(),
          ...Array.from({ length: MANY }, () =>
            cluster(concat(element(ID.timestamp, number(0)), block(1, 0, true, new Uint8Array(1)))),
          ),
        ),
    ],
    [
      "very many voids",
      () => concat(beginning(), new Uint8Array(Array.from({ length: 10 * MANY }, () => [ID.void, 0x80]).flat())),
    ],
    [
      "very many tracks",
      () =>
        concat(
          head(),
          number(ID.segment),
          UNKNOWN,
          element(
            ID.tracks,
            concat(
              ...Array.from({ length: 2 * MANY }, () =>
                element(ID.trackEntry, element(ID.trackNumber, number(1)), new Uint8Array([0x8b])),
              ),
            ),
          ),
        ),
    ],
    [
      "a seek head that points at itself",
      () =>
        concat(
          head(),
          number(ID.segment),
          UNKNOWN,
          element(
            ID.seekHead,
            element(0x4dbb, concat(element(0x53ab, number(ID.seekHead)), element(0x53ac, number(0)))),
          ),
          liveWebm({ seconds: 1 }).subarray(60),
        ),
    ],
    [
      "times that go back",
      () =>
        concat(
          beginning(),
          ...[9, 5, 7, 1, 3].map((at) => cluster(concat(element(ID.timestamp, number(at * 1000)), frame))),
        ),
    ],
    [
      "times of thousands of years",
      () =>
        concat(beginning(), ...[0, 2 ** 47].map((at) => cluster(concat(element(ID.timestamp, number(at, 6)), frame)))),
    ],
    [
      "a time scale of 0",
      () =>
        concat(
          head(),
          number(ID.segment),
          UNKNOWN,
          element(ID.info, element(ID.timestampScale, number(0))),
          beginning().subarray(head().length + 12),
          cluster(frame),
        ),
    ],
    [
      "a file that was cut within its frames and goes on with noise",
      () => concat(recorded("camera.webm").subarray(0, 20_000), Uint8Array.from(noise(20_000))),
    ],
    ["only the first bytes of an MP4 file", () => ftyp],
    ["an MP4 box of 2^63 bytes", () => concat(ftyp, largeBox("moov", 2n ** 63n - 1n))],
    ["an MP4 box that says 4 GiB", () => concat(ftyp, box("moov", new Uint8Array(1000), 0xffffffff))],
    [
      "MP4 boxes of 0 bytes",
      () => concat(ftyp, ...Array.from({ length: 10_000 }, () => box("free", new Uint8Array(), 0))),
    ],
    [
      "MP4 boxes of 1 byte",
      () => concat(ftyp, ...Array.from({ length: 10_000 }, () => box("moov", new Uint8Array(), 7))),
    ],
    [
      "100,000 levels of MP4 boxes",
      () =>
        concat(
          ftyp,
          ...Array.from({ length: 100_000 }, (_, i) =>
            concat(number((100_000 - i) * 8, 4), text(["moov", "trak", "mdia", "minf"][i % 4] ?? "moov")),
          ),
        ),
    ],
    [
      "an MP4 file that lost its middle",
      () => concat(recorded("camera.mp4").subarray(0, 1500), recorded("camera.mp4").subarray(9000)),
    ],
    [
      "an MP4 fragment that claims a million samples of no bytes",
      () => {
        const run = box("trun", concat(number(0, 4), number(MILLION, 4)));
        const head = box("tfhd", concat(number(0, 4), number(1, 4)));
        return concat(recorded("camera.mp4").subarray(0, 1500), box("moof", box("traf", concat(head, run))));
      },
    ],
    [
      "WebM blocks of no bytes that claim 256 frames each",
      () => {
        const laced = element(ID.simpleBlock, concat([0x81], number(0, 2), [0x84, 0xff]));
        return concat(beginning(), cluster(concat(element(ID.timestamp, number(0)), ...Array(MANY / 10).fill(laced))));
      },
    ],
    ["an MP4 file that was cut off", () => recorded("camera.mp4").subarray(0, 30_000)],
    ["an Ogg file of noise", () => concat(text("OggS\0"), Uint8Array.from(noise(100_000)))],
    [
      "an Ogg file of page heads",
      () => concat(...Array.from({ length: 50_000 }, () => concat(text("OggS\0"), new Uint8Array(22)))),
    ],
  ];
}
