import { expect, test } from "bun:test";
import { areIntervals, type Interval, readSpeech, SPEECH_INTERVALS_MAX, writeSpeech } from "./speech.ts";

test("intervals are read as they were written, in tenths of a second", () => {
  const intervals: Interval[] = [
    [0, 1200],
    [1200, 1300],
    [60_000, 3_600_000],
  ];
  const { text, totalMs } = writeSpeech(intervals);
  expect(text).toBe("0,12,0,1,587,35400");
  expect(readSpeech(text)).toEqual(intervals);
  expect(totalMs).toBe(1200 + 100 + 3_540_000);
  expect(readSpeech(writeSpeech([]).text)).toEqual([]);
});

test("what is shorter than a tenth of a second is left out, and rounding makes none overlap", () => {
  const { text, totalMs } = writeSpeech([
    [10, 20],
    [949, 1051],
    [1052, 1160],
  ]);
  expect(readSpeech(text)).toEqual([
    [900, 1100],
    [1100, 1200],
  ]);
  expect(totalMs).toBe(300);
});

test("only intervals in order, without overlaps, are accepted", () => {
  expect(areIntervals([])).toBe(true);
  expect(
    areIntervals([
      [0, 5],
      [5, 6],
    ]),
  ).toBe(true);
  expect(areIntervals([[5, 5]])).toBe(false);
  expect(areIntervals([[6, 5]])).toBe(false);
  expect(
    areIntervals([
      [0, 5],
      [4, 6],
    ]),
  ).toBe(false);
  expect(
    areIntervals([
      [4, 6],
      [0, 3],
    ]),
  ).toBe(false);
});

test("as many as are accepted take less than what a thumbnail takes", () => {
  const many = Array.from({ length: SPEECH_INTERVALS_MAX }, (_, n): Interval => [n * 43_000, n * 43_000 + 12_300]);
  expect(writeSpeech(many).text.length).toBeLessThan(20 * 1024);
});
