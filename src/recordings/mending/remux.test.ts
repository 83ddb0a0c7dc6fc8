import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remux } from "./remux.ts";
import { type Live, liveWebm } from "./testing/live-webm.ts";
import { indexedTimes, isSeekable, readBack } from "./testing/read-back.ts";

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

describe.each([
  ["of unknown sizes", false],
  ["that say their size", true],
])("a file with clusters %s that was cut off", (_, isSized) => {
  const seconds = 20;
  const bytes = liveWebm({ seconds, isSized });

  test.each(Array.from({ length: 19 }, (_, at) => at + 1))("at %i/20 keeps all frames that are whole", async (at) => {
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

test("a file with a damaged frame in the middle keeps the others", async () => {
  const bytes = liveWebm({ seconds: 40 });
  const damaged = new Uint8Array(bytes);
  const middle = Math.floor(bytes.length / 2);
  damaged.fill(0, middle, middle + 3000);
  const { durationMs } = await mended(damaged);
  expect(durationMs).toBe(40_000);
});
