/** A sample of `npm run soak`: three periods of a few seconds instead of thirty of a minute, with every kind of event. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { soak } from "./soak.ts";
import { flatness, median } from "./weigh.ts";

setDefaultTimeout(300_000);

const SAMPLE = process.env.PARLEY_TEST_FULL
  ? { minutes: 1, periodSeconds: 12, connections: 300, rate: 300 }
  : { minutes: 0.2, periodSeconds: 4, connections: 100, rate: 100 };

test("restarts, kills, kicks, rotations, key edits and uploads under load: nothing lost, nothing inexact, no fault", async () => {
  const lines: string[] = [];
  const report = await soak({
    ...SAMPLE,
    channelSize: 5,
    uploadPauseMs: 300,
    haste: 10,
    print: (line) => lines.push(line),
  });
  if (report.violations.length > 0) console.log(lines.join("\n"));
  expect(report.violations).toEqual([]);
  // Each event must have happened, or a pass would prove nothing about it.
  expect(report.restarts.drain).toBeGreaterThanOrEqual(2);
  expect(report.restarts.kill).toBeGreaterThanOrEqual(1);
  const { rotations, edits, narrowings, leaves, rejoins, departures, cuts, kicks, blocks } = report.chores;
  for (const count of [rotations, edits, narrowings, leaves, rejoins, departures, cuts, kicks, blocks])
    expect(count).toBeGreaterThan(0);
  expect(report.uploads.completed).toBeGreaterThan(3);
  expect(report.messages.acked).toBeGreaterThan(SAMPLE.rate * SAMPLE.minutes * 60 * 0.5);
  expect(report.deliveries).toBeGreaterThan(report.messages.acked);
  expect(report.closes["1001"]).toBeGreaterThan(0);
  expect(report.closes["4002"]).toBeGreaterThan(0);
});

describe("memory is flat", () => {
  const samples = (value: (at: number) => number): number[] => Array.from({ length: 120 }, (_, at) => value(at));

  test("when it varies around the same level", () => {
    expect(flatness(samples((at) => 180 + (at % 7) * 8)).isFlat).toBe(true);
  });

  test("when only the beginning was lower, while the runtime's heap grows to its size", () => {
    expect(flatness(samples((at) => (at < 25 ? 80 + at * 4 : 180))).isFlat).toBe(true);
  });

  test("but not when it climbs all the time, even slowly", () => {
    expect(flatness(samples((at) => 180 + at * 0.5)).isFlat).toBe(false);
    expect(flatness(samples((at) => 180 + at * 0.1)).isFlat).toBe(true);
  });

  test("a median ignores single peaks", () => {
    expect(median([1, 2, 900, 3, 2])).toBe(2);
  });
});
