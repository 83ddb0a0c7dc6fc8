import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInSample } from "../../../../test/support/sample.ts";
import { beginning, block, concat, element, ID, type Live, liveWebm, number } from "../testing/live-webm.ts";
import { indexedTimes, isSeekable, readBack } from "../testing/read-back.ts";
import { remux } from "./remux.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-remux-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileOf(bytes: Uint8Array): string {
  const path = join(folder, String(files++));
  writeFileSync(path, bytes);
  return path;
}

async function mended(bytes: Uint8Array): Promise<{ durationMs: number; path: string }> {
  const [input, path] = [fileOf(bytes), join(folder, String(files++))];
  return { ...(await remux(input, path)), path };
}

test("a recorder's file gets a duration and an index, and keeps every frame", async () => {
  const bytes = liveWebm({ seconds: 20 });
  expect((await readBack(fileOf(bytes))).duration).toBeNull();
  const { durationMs, path } = await mended(bytes);
  expect(durationMs).toBe(20_000);
  expect(await readBack(path)).toEqual({
    duration: 20,
    tracks: { video: { first: 0, last: 19.96, count: 500 }, audio: { first: 0, last: 19.96, count: 500 } },
  });
  expect(await isSeekable(path)).toBe(true);
  expect(statSync(path).size).toBeLessThan(bytes.length * 1.02);
});

test("the index has only times from which a player can decode pictures", async () => {
  const { path } = await mended(liveWebm({ seconds: 140, keyEverySeconds: 60, frameBytes: 100 }));
  expect(await indexedTimes(path)).toEqual([0, 60_000, 120_000]);
});

test("the same input gives the same bytes", async () => {
  const bytes = liveWebm({ seconds: 8 });
  const [one, other] = [await mended(bytes), await mended(bytes)];
  expect(await Bun.file(one.path).bytes()).toEqual(await Bun.file(other.path).bytes());
});

test.each<[string, Live, number]>([
  ["that begins late", { seconds: 10, startMs: 3_600_000 }, 10_000],
  ["whose sound ends early", { seconds: 60, hasAudioUntil: 4 }, 60_000],
  ["whose video ends early", { seconds: 60, hasVideoUntil: 4 }, 60_000],
  ["without sound", { seconds: 10, hasAudioUntil: 0 }, 10_000],
  ["with sound only", { seconds: 10, hasVideoUntil: 0 }, 10_000],
  ["whose last picture may last long", { seconds: 10, pictureEveryMs: 2000, hasAudioUntil: 8 }, 8500],
  ["with one cluster of half a minute", { seconds: 30, clusterSeconds: 30 }, 30_000],
  ["with clusters that say their size", { seconds: 10, isSized: true }, 10_000],
])("a file %s has the right duration and begins at 0", async (_, live, wantedMs) => {
  const { durationMs, path } = await mended(liveWebm(live));
  expect(durationMs).toBe(wantedMs);
  const { duration, tracks } = await readBack(path);
  expect(duration).toBe(wantedMs / 1000);
  expect(Math.min(...Object.values(tracks).map(({ first }) => first))).toBe(0);
});

/** In twentieths of the file. */
const CUTS = Array.from({ length: 19 }, (_, at) => at + 1).filter((_, at) => isInSample(at, 6));

describe.each([
  ["of unknown sizes", false],
  ["that say their size", true],
])("a file with clusters %s that was cut off", (_, isSized) => {
  const seconds = 20;
  const bytes = liveWebm({ seconds, isSized });

  test.each(CUTS)("at %i/20 keeps all frames that are whole", async (at) => {
    const part = bytes.subarray(0, Math.floor((bytes.length * at) / 20) + 7);
    const { durationMs, path } = await mended(part);
    // Less than two frames are missing.
    expect(durationMs).toBeWithin((1000 * seconds * at) / 20 - 80, (1000 * seconds * at) / 20 + 81);
    expect((await readBack(path)).duration).toBeCloseTo(durationMs / 1000, 2);
  });
});

test("a file without a frame is refused", async () => {
  const bytes = liveWebm({ seconds: 1 });
  for (const length of [0, 1, 40, 100, 300]) expect(mended(bytes.subarray(0, length))).rejects.toThrow();
});

test("a file of which only a part can be read is refused, because the original is worth more", async () => {
  const bytes = liveWebm({ seconds: 40 });
  const middle = Math.floor(bytes.length / 3);
  const damaged = new Uint8Array(bytes);
  damaged.fill(0, middle);
  expect(mended(damaged)).rejects.toThrow(/frames with only \d+ of its \d+ bytes can be read/);
});

/** Ten clusters of a second each, with these times in front of their frames. */
const withTimes = (
  times: readonly number[],
  frame = (n: number): Uint8Array => block(1, n * 40, n === 0, new Uint8Array(1000)),
) =>
  concat(
    beginning(),
    ...times.map((at) =>
      element(
        ID.cluster,
        concat(element(ID.timestamp, number(at, 4)), ...Array.from({ length: 25 }, (_, n) => frame(n))),
      ),
    ),
  );
const TEN = Array.from({ length: 10 }, (_, n) => n * 1000);

test.each([
  ["go back", TEN.toReversed()],
  ["go back once", [...TEN.slice(2), 0, 1000]],
  ["jump to and fro", [9000, 5000, 7000, 1000, 3000]],
])("a file whose times %s would lose frames, and is refused", async (_, times) => {
  expect(mended(withTimes(times))).rejects.toThrow(/^only \d+ of the \d+ frames of its track 1 would be left/);
});

test("a file whose frames all have the same time is refused", async () => {
  const still = withTimes([0], () => block(1, 0, true, new Uint8Array(1000)));
  expect(mended(still)).rejects.toThrow("all of its frames have the same time");
});

test.each([
  ["with a gap of hours", [0, 1000, 36_000_000, 36_001_000]],
  ["of which clusters have the same time", [0, 0, 1000, 1000, 2000]],
])("a file %s keeps every frame", async (_, times) => {
  const { path } = await mended(withTimes(times));
  expect((await readBack(path)).tracks.video?.count).toBe(25 * times.length);
});

test("a file of two tracks of which one cannot be read is refused, however small that one is", async () => {
  const bytes = Buffer.from(liveWebm({ seconds: 20 }));
  // The codec of the sound is one that no reader knows.
  bytes.write("A_XXXX", bytes.indexOf("A_OPUS"));
  expect(mended(bytes)).rejects.toThrow("track 2 of it cannot be read, and has 500 frames");
});

test("a file with a damaged frame in the middle keeps the others", async () => {
  const bytes = liveWebm({ seconds: 40 });
  const damaged = new Uint8Array(bytes);
  const middle = Math.floor(bytes.length / 2);
  damaged.fill(0, middle, middle + 3000);
  const { durationMs } = await mended(damaged);
  expect(durationMs).toBe(40_000);
});

/** One page of an Ogg file, whose checksum the library does not need. */
function oggPage(flags: number, track: number, text: string): Uint8Array {
  const page = Buffer.alloc(28 + text.length);
  page.write("OggS");
  page.writeUInt8(flags, 5);
  page.writeUInt32LE(track, 14);
  page.writeUInt8(1, 26);
  page.writeUInt8(text.length, 27);
  page.write(text, 28);
  return page;
}

test("a file of thousands of tracks is refused before the library reads it", async () => {
  const begins = Array.from({ length: 9000 }, (_, track) => oggPage(2, track, "OpusHead".padEnd(19, "\0")));
  expect(mended(concat(...begins))).rejects.toThrow("it has 9 tracks");
  expect(mended(concat(...begins.slice(0, 8)))).rejects.toThrow("no frame in it can be read");
});
