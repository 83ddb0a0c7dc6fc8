/** One moment in all charts of a page. */
import { expect, test } from "bun:test";
import { crosshair, movedBy, pointAt, stepAt } from "./crosshair.ts";

test("a moment is found in every chart that has it", () => {
  const times = [100, 105, 110];
  expect([95, 100, 109, 110, 115].map((at) => stepAt(times, at))).toEqual([undefined, 0, 2, 2, undefined]);
  expect([stepAt([], 100), stepAt([100], 100)]).toEqual([undefined, 0]);
});

test("keys move it by steps, and never out of the chart", () => {
  const to = (key: string, from: number): unknown => movedBy(key, from, 20);
  expect([to("ArrowLeft", 5), to("ArrowRight", 5), to("PageUp", 5), to("PageDown", 5)]).toEqual([4, 6, 15, 0]);
  expect([to("Home", 5), to("End", 5), to("ArrowRight", 19), to("ArrowLeft", 0), to("x", 5)]).toEqual([
    0,
    19,
    19,
    0,
    undefined,
  ]);
});

test("only the chart that set it takes it away", () => {
  pointAt("one", 5);
  pointAt("other", undefined);
  expect(crosshair.value).toEqual({ at: 5, chart: "one" });
  const before = crosshair.value;
  pointAt("one", 5);
  expect(crosshair.value).toBe(before);
  pointAt("one", undefined);
  expect(crosshair.value).toBeUndefined();
});
