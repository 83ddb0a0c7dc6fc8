import { expect, test } from "bun:test";
import { SpeechLog, WINDOW_MS } from "./speech-log.ts";

const QUIET = 0.001;
const VOICE = 0.08;

/** `seconds` of a level. */
const hear = (log: SpeechLog, level: number, seconds: number): void => {
  for (let n = 0; n < (seconds * 1000) / WINDOW_MS; n++) log.add(level);
};

test("speech is from its first loud moment to its last, with the short pauses in it", () => {
  const log = new SpeechLog();
  hear(log, QUIET, 2);
  for (let word = 0; word < 5; word++) {
    hear(log, VOICE, 0.4);
    hear(log, QUIET, 0.3);
  }
  hear(log, QUIET, 5);
  hear(log, VOICE, 1);
  expect(log.intervals).toEqual([
    [2000, 5200],
    [10_500, 11_500],
  ]);
  expect(log.windows).toBe(115);
});

test("a click is no speech, and neither is silence", () => {
  const log = new SpeechLog();
  for (let n = 0; n < 10; n++) {
    hear(log, QUIET, 3);
    hear(log, 0.5, 0.2);
  }
  expect(log.intervals).toEqual([]);
});

test("a fan that is always there is no speech; a voice above it is", () => {
  const log = new SpeechLog();
  hear(log, QUIET, 5);
  // It is taken for a voice until it has gone on for longer than anyone speaks without a breath.
  hear(log, 0.02, 600);
  const before = log.intervals.length;
  const endedMs = log.windows * WINDOW_MS;
  hear(log, 0.02, 60);
  expect(log.intervals.length).toBe(before);
  hear(log, 0.1, 2);
  hear(log, 0.02, 2);
  expect(log.intervals.at(-1)).toEqual([endedMs + 60_000, endedMs + 62_000]);
});

test("someone who speaks for a quarter of an hour, with a breath now and then, is heard to the end", () => {
  const log = new SpeechLog();
  for (let n = 0; n < 150; n++) {
    hear(log, VOICE, 5.5);
    hear(log, QUIET, 0.5);
  }
  expect(log.intervals).toEqual([[0, 899_500]]);
});

test("moments of which nothing is known are not speech, and keep what follows in its place", () => {
  const log = new SpeechLog();
  hear(log, VOICE, 1);
  log.skip(100);
  hear(log, VOICE, 1);
  expect(log.intervals).toEqual([
    [0, 1000],
    [11_000, 12_000],
  ]);
});

test("however often someone speaks, there are no more intervals than the service takes, and they cover the same time", () => {
  const log = new SpeechLog();
  for (let n = 0; n < 5000; n++) {
    hear(log, VOICE, 0.5);
    hear(log, QUIET, 1 + (n % 7));
  }
  const { intervals } = log;
  expect(intervals.length).toBeLessThanOrEqual(1501);
  expect(intervals.length).toBeGreaterThan(300);
  expect(intervals[0]?.[0]).toBe(0);
  expect(intervals.every(([from, to], at) => from < to && from > (intervals[at - 1]?.[1] ?? -1))).toBe(true);
});
