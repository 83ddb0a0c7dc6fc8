/** The formula behind the scaling curve, against cases that can be counted by hand. */
import { expect, test } from "bun:test";
import { costWith, otherWorkers, speedUp } from "./curve.ts";

test("a message goes to the other workers that have a receiver", () => {
  expect(otherWorkers(1, 10)).toBe(0);
  // One receiver is on the other one of two workers half of the time.
  expect(otherWorkers(2, 1)).toBe(0.5);
  // Of 4 equally likely places of two receivers, 3 have one on the other worker.
  expect(otherWorkers(2, 2)).toBe(0.75);
  // Very many receivers are everywhere.
  expect(otherWorkers(8, 1000)).toBeCloseTo(7, 9);
});

test("the measured points are on the curve", () => {
  const parts = { receivers: 10, one: 50, two: 80 };
  expect(costWith(1, parts)).toBe(50);
  expect(costWith(2, parts)).toBe(80);
  expect(speedUp(1, parts)).toBe(1);
  expect(speedUp(2, parts)).toBe(100 / 80);
});

test("hops that cost nothing scale with the cores", () => {
  expect(speedUp(16, { receivers: 1000, one: 5000, two: 5000 })).toBe(16);
});
