/** The formula behind the scaling curve, against cases that can be counted by hand. */
import { expect, test } from "bun:test";
import { costWith, fitOf, otherWorkers, speedUp } from "./curve.ts";

test("a message goes to the other workers that have a receiver", () => {
  expect(otherWorkers(1, 10)).toBe(0);
  // One receiver is on the other one of two workers half of the time.
  expect(otherWorkers(2, 1)).toBe(0.5);
  // Of 4 equally likely places of two receivers, 3 have one on the other worker.
  expect(otherWorkers(2, 2)).toBe(0.75);
  // Very many receivers are everywhere.
  expect(otherWorkers(8, 1000)).toBeCloseTo(7, 9);
});

test("with one measurement, all of the difference is hops", () => {
  const parts = { receivers: 10, one: 50, several: [{ workers: 2, cpu: 80 }] };
  expect(costWith(1, parts)).toBe(50);
  expect(costWith(2, parts)).toBe(80);
  expect(speedUp(1, parts)).toBe(1);
  expect(speedUp(2, parts)).toBe(100 / 80);
});

test("with two measurements, a fixed cost and the cost of a hop are separated", () => {
  // Everywhere: 1 and 3 other workers. 40 fixed and 10 per hop.
  const several = [
    { workers: 2, cpu: 150 },
    { workers: 4, cpu: 170 },
  ];
  const parts = { receivers: 1e6, one: 100, several };
  expect(fitOf(parts).fixed).toBeCloseTo(40, 9);
  expect(fitOf(parts).hop).toBeCloseTo(10, 9);
  expect(costWith(8, parts)).toBeCloseTo(100 + 40 + 70, 9);
});

test("hops that cost nothing scale with the cores, also if noise makes more workers cheaper", () => {
  expect(speedUp(16, { receivers: 1000, one: 5000, several: [{ workers: 2, cpu: 5000 }] })).toBe(16);
  const several = [
    { workers: 2, cpu: 5100 },
    { workers: 4, cpu: 4900 },
  ];
  expect(fitOf({ receivers: 1000, one: 5000, several })).toEqual({ fixed: 0, hop: 0 });
});
