/** When the person of a recording spoke: intervals from its start. They are kept in tenths of a second, as gaps and lengths: `12,22,5,30`. */

/** From and to, in ms from the start of the recording. */
export type Interval = readonly [fromMs: number, toMs: number];

/** With pauses of some seconds between them these are hours; a page joins what is closer. */
export const SPEECH_INTERVALS_MAX = 2000;
/** Longer than any stay. */
export const SPEECH_MAX_MS = 25 * 3_600_000;

const STEP_MS = 100;

/** Whether they are in order and do not overlap. */
export const areIntervals = (intervals: readonly Interval[]): boolean =>
  intervals.every(([from, to], at) => from < to && from >= (intervals[at - 1]?.[1] ?? 0));

export interface WrittenSpeech {
  readonly text: string;
  /** The sum of the intervals. */
  readonly totalMs: number;
}

/** `intervals` are in order and do not overlap. */
export function writeSpeech(intervals: readonly Interval[]): WrittenSpeech {
  const numbers: number[] = [];
  let [end, total] = [0, 0];
  for (const [fromMs, toMs] of intervals) {
    const from = Math.max(end, Math.round(fromMs / STEP_MS));
    const to = Math.round(toMs / STEP_MS);
    if (to <= from) continue;
    numbers.push(from - end, to - from);
    total += to - from;
    end = to;
  }
  return { text: numbers.join(","), totalMs: total * STEP_MS };
}

export function readSpeech(text: string): Interval[] {
  const numbers = text === "" ? [] : text.split(",").map(Number);
  const intervals: Interval[] = [];
  let at = 0;
  for (let n = 0; n + 1 < numbers.length; n += 2) {
    const from = at + (numbers[n] ?? 0);
    at = from + (numbers[n + 1] ?? 0);
    intervals.push([from * STEP_MS, at * STEP_MS]);
  }
  return intervals;
}
