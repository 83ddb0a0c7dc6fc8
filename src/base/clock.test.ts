import { beforeEach, describe, expect, test } from "bun:test";
import { DOUBTED_STEP_MS, retentionClock, steadyClock, steplessClock } from "./clock.ts";

const START_MS = 1_800_000_000_000;
const MINUTES = 60_000;

let wall: number;
let running: number;
const wallMs = (): number => wall;
const monotonicMs = (): number => running;
const pass = (ms: number): void => {
  wall += ms;
  running += ms;
};
beforeEach(() => {
  wall = START_MS;
  running = 5000;
});

describe("the steady clock", () => {
  test("goes on at the speed of time where the wall clock is set back", () => {
    const now = steadyClock(wallMs, monotonicMs);
    expect(now()).toBe(START_MS);
    wall -= 10 * MINUTES;
    expect(now()).toBe(START_MS);
    pass(1000);
    expect(now()).toBe(START_MS + 1000);
  });

  test("goes forward where the wall clock is set forward, or the machine was suspended", () => {
    const now = steadyClock(wallMs, monotonicMs);
    wall += 10 * MINUTES;
    expect(now()).toBe(START_MS + 10 * MINUTES);
    wall -= 10 * MINUTES;
    pass(1000);
    expect(now()).toBe(START_MS + 10 * MINUTES + 1000);
  });

  test("counts a suspension once where the monotonic clock counts it too", () => {
    const now = steadyClock(wallMs, monotonicMs);
    pass(10 * MINUTES);
    expect(now()).toBe(START_MS + 10 * MINUTES);
  });

  test("does not run fast while a time service moves the wall clock, however often it is read", () => {
    const now = steadyClock(wallMs, monotonicMs);
    for (let i = 0; i < 10_000; i++) {
      running += 0.25;
      // Whole milliseconds, and 0.05 % fast.
      wall = START_MS + Math.floor((running - 5000) * 1.0005);
      now();
    }
    expect(now()).toBeCloseTo(START_MS + 2500, 3);
    // A leap second that is repeated.
    wall -= 999;
    expect(now()).toBeCloseTo(START_MS + 2500, 3);
  });
});

describe("the clock without steps", () => {
  test("is the wall clock until that is set, and goes on then", () => {
    const now = steplessClock(wallMs, monotonicMs, 0);
    pass(3);
    expect(now()).toBe(wall);
    for (const stepMs of [-10 * MINUTES, 60 * MINUTES, -365 * 24 * 60 * MINUTES]) {
      const beforeMs = now();
      wall += stepMs;
      pass(1000);
      expect(now()).toBe(beforeMs + 1000);
    }
  });

  test("goes on where an earlier process got to", () => {
    const now = steplessClock(wallMs, monotonicMs, START_MS + 10 * MINUTES);
    pass(1000);
    expect(now()).toBe(START_MS + 10 * MINUTES + 1000);
    expect(steplessClock(wallMs, monotonicMs, START_MS - 1)()).toBe(wall);
  });
});

describe("the clock for deletions", () => {
  const YEAR_MS = 365 * 24 * 60 * MINUTES;

  test("does not follow a clock that is a year ahead for a minute", () => {
    const now = retentionClock(wallMs, monotonicMs);
    wall += YEAR_MS;
    expect(now()).toBe(START_MS);
    pass(MINUTES);
    expect(now()).toBe(START_MS + MINUTES);
    wall -= YEAR_MS;
    expect(now()).toBe(START_MS + MINUTES);
  });

  test("follows one that stays ahead after an hour", () => {
    const now = retentionClock(wallMs, monotonicMs);
    wall += YEAR_MS;
    now();
    pass(DOUBTED_STEP_MS - 1);
    expect(now()).toBe(START_MS + DOUBTED_STEP_MS - 1);
    pass(1);
    expect(now()).toBe(wall);
  });

  test("begins to doubt anew with each time the clock is ahead", () => {
    const now = retentionClock(wallMs, monotonicMs);
    wall += YEAR_MS;
    now();
    pass(DOUBTED_STEP_MS - 1);
    wall -= YEAR_MS;
    now();
    wall += YEAR_MS;
    pass(1);
    expect(now()).toBe(START_MS + DOUBTED_STEP_MS);
  });

  test("follows at once where the clock is set back, or forward by minutes", () => {
    const now = retentionClock(wallMs, monotonicMs);
    wall += 10 * MINUTES;
    expect(now()).toBe(wall);
    wall -= YEAR_MS;
    expect(now()).toBe(wall);
  });
});
