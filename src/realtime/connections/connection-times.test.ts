import { expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { AHEAD_MAX_MS, ConnectionTimes } from "./connection-times.ts";

test("times of connections grow, although the clock is set back by some seconds", () => {
  const clock = new FakeClock();
  const times = new ConnectionTimes(clock);
  const taken = [times.next(), times.next()];
  clock.jump(-AHEAD_MAX_MS);
  const between = times.now();
  expect(between).toBe(taken.at(-1) as number);
  taken.push(times.next());
  clock.jump(AHEAD_MAX_MS);
  clock.advance(1);
  taken.push(times.next());
  expect(taken.toSorted((a, b) => a - b)).toEqual(taken);
  expect(new Set(taken).size).toBe(4);
  expect(taken.at(-1)).toBe(clock.wallMs());
});

test("a connection is newer than those that other nodes have, as far as their clocks can be trusted", () => {
  const clock = new FakeClock();
  const times = new ConnectionTimes(clock);
  times.heard(clock.wallMs() + 5000);
  expect(times.next()).toBeGreaterThan(clock.wallMs() + 5000);
  times.heard(clock.wallMs() + 365 * 86_400_000);
  expect(times.next()).toBeCloseTo(clock.wallMs() + AHEAD_MAX_MS, 0);
});

test("a clock that was far ahead and is set back does not decide which connection is the newest", () => {
  const clock = new FakeClock();
  const [times, elsewhere] = [new ConnectionTimes(clock), new ConnectionTimes(clock)];
  clock.jump(3_600_000);
  const wrong = times.next();
  clock.jump(-3_600_000);
  elsewhere.heard(wrong);
  for (let i = 0; i < 3; i++) {
    const here = times.next();
    expect(here).toBeLessThanOrEqual(clock.wallMs() + AHEAD_MAX_MS + 1);
    elsewhere.heard(here);
    const there = elsewhere.next();
    expect(there).toBeGreaterThan(here);
    times.heard(there);
  }
  clock.advance(2 * AHEAD_MAX_MS);
  expect(times.now()).toBeGreaterThanOrEqual(wrong);
  expect(times.next()).toBeCloseTo(clock.wallMs(), 1);
});

test("after that, connections of one peer stay in order, and do not take the others along", () => {
  const clock = new FakeClock();
  const times = new ConnectionTimes(clock);
  clock.jump(3_600_000);
  const first = times.next();
  clock.jump(-3_600_000);
  const second = times.next(first);
  expect(second).toBeGreaterThan(first);
  expect(times.next(second)).toBeGreaterThan(second);
  expect(times.next()).toBeLessThan(first);
  expect(times.now()).toBeGreaterThan(second);
});
