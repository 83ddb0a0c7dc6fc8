import { expect, test } from "bun:test";
import { LATENCY_BOUNDS_US, LATENCY_BUCKETS, Latency, quantileMs } from "./latency.ts";

test("a duration is counted in the bucket whose bound it does not exceed", () => {
  for (const [i, bound] of LATENCY_BOUNDS_US.entries()) {
    const latency = new Latency();
    latency.observeMs(bound / 1000);
    latency.observeMs((bound * 1.0001) / 1000);
    expect([latency.counts[i], latency.counts[i + 1]]).toEqual([1, 1]);
    expect(latency.atMost(bound)).toBe(1);
  }
  const latency = new Latency();
  for (const ms of [0, -0.001, 3_600_000]) latency.observeMs(ms);
  expect([latency.counts[0], latency.counts[LATENCY_BUCKETS - 1], latency.count]).toEqual([2, 1, 3]);
});

test("quantiles are within the width of a bucket, and unknown without durations", () => {
  const latency = new Latency();
  expect(quantileMs(latency.counts, 0.5)).toBeNaN();
  for (let us = 1; us <= 1000; us++) latency.observeMs(us / 1000);
  expect(quantileMs(latency.counts, 0.5)).toBeCloseTo(0.5, 2);
  expect(quantileMs(latency.counts, 0.99)).toBeCloseTo(0.99, 2);
  const long = new Latency();
  long.observeMs(5_000_000);
  expect(quantileMs(long.counts, 0.99)).toBe(1000);
});
