import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { box, ftyp } from "../testing/hostile-files.ts";
import { beginning, block, concat, element, head, ID, number, text, UNKNOWN } from "../testing/live-webm.ts";
import { readBack } from "../testing/read-back.ts";
import { type CountedMedia, requireAllOf } from "./count.ts";
import { countMp4 } from "./mp4-count.ts";
import { remux } from "./remux.ts";
import { countWebm } from "./webm-count.ts";

const RECORDED = join(import.meta.dir, "../../../../test/fixtures/recorded");
const folder = mkdtempSync(join(tmpdir(), "parley-count-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = (): string => join(folder, String(files++));
function fileOf(bytes: Uint8Array): string {
  const path = newPath();
  writeFileSync(path, bytes);
  return path;
}

async function counted(path: string, count: typeof countMp4): Promise<CountedMedia> {
  const file = await open(path, "r");
  try {
    return await count(file, (await file.stat()).size);
  } finally {
    await file.close();
  }
}

const mp4 = (...boxes: Uint8Array[]): Promise<CountedMedia> => counted(fileOf(concat(ftyp, ...boxes)), countMp4);
const webm = (bytes: Uint8Array): Promise<CountedMedia> => counted(fileOf(bytes), countWebm);

/** A box with version and flags, and these numbers of four bytes. */
const full = (type: string, numbers: readonly number[], flags = 0): Uint8Array =>
  box(type, concat(number(flags, 4), ...numbers.map((one) => number(one, 4))));
const track = (...tables: Uint8Array[]): Uint8Array =>
  box(
    "moov",
    box(
      "trak",
      concat(
        full("tkhd", [0, 0, 1, 0, 0]),
        box("mdia", concat(full("mdhd", [0, 0, 1000, 0]), box("minf", box("stbl", concat(...tables))))),
      ),
    ),
  );

test.each(["camera.webm", "microphone.webm", "camera.mp4"])(
  "%s: what is counted in it, and in what is mended of it, is what a player finds",
  async (name) => {
    const path = join(RECORDED, name);
    const output = newPath();
    await remux(path, output);
    const count = name.endsWith("mp4") ? countMp4 : countWebm;
    const frames = [...(await counted(path, count)).values()].map((one) => one.frames).sort();
    const found = Object.values((await readBack(output)).tracks).map((one) => one.count);
    expect(frames).toEqual(found.sort());
    const bytes = async (of: string): Promise<number[]> =>
      [...(await counted(of, count)).values()].map((one) => one.bytes).sort();
    expect(await bytes(output)).toEqual(await bytes(path));
  },
);

describe("claims that the bytes of a file cannot hold are refused, before anything else is done", () => {
  const MANY = 1_500_000;
  test.each<[string, () => Promise<unknown>, RegExp]>([
    ["samples of one size", () => mp4(track(full("stsz", [1, MANY]))), /^it claims 1500000 samples in \d+ bytes$/],
    ["samples with sizes", () => mp4(track(full("stsz", [0, MANY, 1, 1]))), /\(stsz\) claims 1500000 entries$/],
    ["samples with times", () => mp4(track(full("stts", [1, MANY, 1]))), /^it claims 1500000 samples/],
    ["times", () => mp4(track(full("stts", [MANY]))), /\(stts\) claims 1500000 entries$/],
    ["shifted times", () => mp4(track(full("ctts", [1, MANY, 1]))), /^it claims 1500000 samples/],
    ["samples in a chunk", () => mp4(track(full("stsc", [1, 1, MANY, 1]))), /^it claims 1500000 samples/],
    ["chunks", () => mp4(track(full("stco", [MANY]))), /\(stco\) claims 1500000 entries$/],
    ["large chunks", () => mp4(track(full("co64", [MANY]))), /\(co64\) claims 1500000 entries$/],
    ["one huge sample", () => mp4(track(full("stsz", [0xffffffff, 1]))), /^it claims 1 samples in \d+ bytes$/],
    ["a duration", () => mp4(box("moov", full("mvhd", [0, 0, 1, 172_801]))), /^it claims to last longer/],
    ["times of years", () => mp4(track(full("stts", [1, 1, 4_000_000_000]))), /^it claims to last longer/],
    ["a box in a smaller one", () => mp4(box("moov", box("trak", new Uint8Array(8), 4000))), /\(trak\) is larger than/],
    [
      "samples of a fragment",
      () => mp4(box("moof", box("traf", concat(full("tfhd", [1]), full("trun", [MANY]))))),
      /^it claims 1500000 samples/,
    ],
    [
      "sizes in a fragment",
      () => mp4(box("moof", box("traf", concat(full("tfhd", [1]), full("trun", [MANY, 9], 0x200))))),
      /\(trun\) claims 1500000 entries$/,
    ],
    [
      "MP4 tracks",
      () => mp4(box("moov", concat(...Array(9).fill(box("trak", new Uint8Array()))))),
      /^it has 9 tracks$/,
    ],
    [
      "nested boxes",
      () => mp4(Array.from({ length: 10 }).reduce<Uint8Array>((inner) => box("moov", inner), new Uint8Array())),
      /nested too deeply$/,
    ],
    [
      "WebM tracks",
      () =>
        webm(
          concat(
            head(),
            number(ID.segment),
            UNKNOWN,
            element(ID.tracks, concat(...Array(9).fill(element(ID.trackEntry, new Uint8Array())))),
          ),
        ),
      /^it has 9 tracks$/,
    ],
    [
      "a WebM duration",
      () =>
        webm(
          concat(head(), number(ID.segment), UNKNOWN, element(ID.info, element(ID.duration, concat([0x4e, 0, 0, 0])))),
        ),
      /^it claims to last longer/,
    ],
    [
      "tiny clusters",
      () => webm(concat(beginning(), ...Array(1500).fill(element(ID.cluster, element(ID.timestamp, number(0)))))),
      /^it has \d+ clusters and more in \d+ bytes$/,
    ],
    [
      "tiny elements",
      () => webm(concat(beginning(), new Uint8Array(Array.from({ length: 3000 }, () => [ID.void, 0x80]).flat()))),
      /^it has \d+ elements and more in \d+ bytes$/,
    ],
    [
      "frames of a WebM block",
      () => webm(concat(beginning(), element(ID.cluster, element(ID.simpleBlock, concat([0x81, 0, 0, 0x84, 0xff]))))),
      /^a block of 1 bytes claims 256 frames$/,
    ],
  ])("%s", async (_, count, message) => {
    await expect(count()).rejects.toThrow(message);
  });

  test("in a file that can be read otherwise", async () => {
    const good = newPath();
    await remux(join(RECORDED, "camera.mp4"), good);
    const bytes = readFileSync(good);
    const at = bytes.indexOf("stts");
    bytes.writeUInt32BE(2 ** 24, at + 12);
    await expect(remux(fileOf(bytes), newPath())).rejects.toThrow(/^it claims \d+ samples in \d+ bytes$/);
  });
});

test("a file that was cut off claims nothing wrong, and has what is left of it", async () => {
  const bytes = readFileSync(join(RECORDED, "camera.mp4"));
  const bytesIn = async (file: Uint8Array): Promise<number> =>
    [...(await counted(fileOf(file), countMp4)).values()].reduce((sum, one) => sum + one.bytes, 0);
  const half = Math.floor(bytes.length / 2);
  expect(await bytesIn(bytes.subarray(0, half))).toBeWithin(half * 0.8, half);
  expect(await bytesIn(bytes)).toBeGreaterThan(bytes.length * 0.8);
  // Also within the boxes of a fragment.
  for (let at = 0; at <= 3000; at += 100) expect(await bytesIn(bytes.subarray(0, at))).toBeLessThanOrEqual(at);
});

test("frames in front of the first key frame do not count, nor do tracks of something else", async () => {
  const frame = (track: number, isKey: boolean): Uint8Array => block(track, 0, isKey, new Uint8Array(9));
  const cluster = element(
    ID.cluster,
    concat(element(ID.timestamp, number(0)), frame(1, false), frame(1, true), frame(1, false), frame(3, true)),
  );
  const subtitles = element(
    ID.tracks,
    element(ID.trackEntry, concat(element(ID.trackNumber, number(3)), element(ID.trackType, number(17)), text(""))),
  );
  expect(await webm(concat(beginning(), subtitles, cluster))).toEqual(new Map([[1, { frames: 2, bytes: 18 }]]));
});

describe("what may be missing in the output", () => {
  const media = (frames: number, bytes: number): CountedMedia => new Map([[1, { frames, bytes }]]);
  const written = (frames = 0, bytes = 0) => [{ input: 1, output: 1, leftOut: { frames, bytes } }];
  test.each<[string, CountedMedia, ReturnType<typeof written>, boolean]>([
    ["nothing", media(1000, 1e6), written(), true],
    ["what two readers see differently at a damaged place", media(991, 991_000), written(), true],
    ["more frames", media(980, 1e6), written(), false],
    ["more bytes", media(1000, 980_000), written(), false],
    ["frames in front of the first one", media(984, 984_000), written(16, 16_000), true],
    ["more of these than a video can have", media(10, 10_000), written(990, 990_000), false],
  ])("%s", (_, output, tracks, isAccepted) => {
    const check = (): void => requireAllOf(media(1000, 1e6), output, tracks);
    if (isAccepted) check();
    else expect(check).toThrow(/would be left/);
  });
});
