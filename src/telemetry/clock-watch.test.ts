import { expect, test } from "bun:test";
import { ClockWatch } from "./clock-watch.ts";

test("a clock that is set forward or back is reported once, and one that drifts is not", () => {
  const [state, jumps] = [{ nowMs: 1e12, monotonicMs: 0 }, [] as number[]];
  const watch = new ClockWatch({
    wallMs: () => state.nowMs,
    monotonicMs: () => state.monotonicMs,
    jumped: (byMs) => jumps.push(byMs),
  });
  const after = (wallMs: number): void => {
    state.nowMs += wallMs;
    state.monotonicMs += 5000;
    watch.check();
  };
  for (const wallMs of [5000, 5300, 4700, 65_000, 5000, -15_000, 5000]) after(wallMs);
  expect(jumps).toEqual([60_000, -20_000]);
});
