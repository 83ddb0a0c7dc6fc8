import { expect, test } from "bun:test";
import { AHEAD_MAX_MS, ConnectionTimes } from "./connection-times.ts";
import { FakeClock } from "./testing/fake-clock.ts";

test("times of connections grow, whatever the clock does", () => {
  const clock = new FakeClock();
  const times = new ConnectionTimes(clock);
  const taken = [times.next(), times.next()];
  clock.jump(-600_000);
  const between = times.now();
  expect(between).toBe(taken.at(-1) as number);
  taken.push(times.next());
  clock.jump(600_000);
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
