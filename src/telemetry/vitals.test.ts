import { expect, test } from "bun:test";
import { Vitals } from "./vitals.ts";

test("cpu and lag are those of the last samples", () => {
  let [nowMs, cpuMs] = [1000, 50];
  const vitals = new Vitals({ monotonicMs: () => nowMs, cpuMs: () => cpuMs });
  expect([vitals.cpu, vitals.loopLagMs]).toEqual([0, 0]);
  const pass = (ms: number, usedMs: number, lagMs: number): void => {
    nowMs += ms;
    cpuMs += usedMs;
    vitals.sample(lagMs);
  };
  pass(500, 500, 80);
  expect([vitals.cpu, vitals.loopLagMs]).toEqual([1, 80]);
  // A busy start is forgotten after 20 samples.
  for (let i = 0; i < 20; i++) pass(500, 125, 3);
  expect([vitals.cpu, vitals.loopLagMs]).toEqual([0.25, 3]);
});
