import { expect, test } from "bun:test";
import { BUCKETS_MAX, Throttle } from "./throttle.ts";

test("a burst is allowed at once, then the steady rate, with the seconds to wait", () => {
  let now = 0;
  const throttle = new Throttle(3, 0.5, () => now);
  expect([1, 2, 3].map(() => throttle.take("a"))).toEqual([0, 0, 0]);
  expect(throttle.take("a")).toBe(2);
  expect(throttle.take("b")).toBe(0);
  now += 1000;
  expect(throttle.take("a")).toBe(1);
  now += 1000;
  expect(throttle.take("a")).toBe(0);
  expect(throttle.take("a")).toBe(2);
});

test("a charge of any size is paid back at the steady rate", () => {
  let now = 0;
  const throttle = new Throttle(20, 10, () => now);
  for (let i = 0; i < 2; i++) {
    expect(throttle.take("a")).toBe(0);
    throttle.charge("a", 9);
  }
  expect(throttle.take("a")).toBe(1);
  now += 100;
  expect(throttle.take("a")).toBe(0);
  throttle.charge("a", 9);
  now += 900;
  expect(throttle.take("a")).toBe(1);
  now += 100;
  expect(throttle.take("a")).toBe(0);
  expect(throttle.take("b")).toBe(0);
  throttle.charge("b", -50);
  for (let i = 0; i < 20; i++) expect(throttle.take("b")).toBe(0);
  expect(throttle.take("b")).toBe(1);
});

test("a rate of 0 is no limit, and full buckets are removed", () => {
  const unlimited = new Throttle(0, 0, () => 0);
  expect(Array.from({ length: 1000 }, () => unlimited.take("a")).every((wait) => wait === 0)).toBe(true);
  let now = 0;
  const throttle = new Throttle(1, 1, () => now);
  for (let i = 0; i < 20_000; i++) {
    now += 1;
    throttle.take(`key ${i}`);
  }
  expect(throttle.size).toBeLessThan(12_000);
});

test("beyond the maximum of buckets the oldest key starts with a full one", () => {
  const throttle = new Throttle(1, 0.001, () => 0);
  for (let i = 0; i < BUCKETS_MAX + 5; i++) expect(throttle.take(`key ${i}`)).toBe(0);
  expect(throttle.size).toBe(BUCKETS_MAX);
  expect(throttle.take(`key ${BUCKETS_MAX}`)).toBeGreaterThan(0);
  expect(throttle.take("key 0")).toBe(0);
});

test("charges keep to the maximum of buckets too, and giving back keeps none", () => {
  const throttle = new Throttle(2, 0.001, () => 0);
  for (let i = 0; i < BUCKETS_MAX + 5; i++) throttle.charge(`key ${i}`, 3);
  expect(throttle.size).toBe(BUCKETS_MAX);
  expect(throttle.debt(`key ${BUCKETS_MAX}`)).toBeGreaterThan(0);
  throttle.charge(`key ${BUCKETS_MAX}`, -3);
  throttle.charge("never seen", -3);
  expect(throttle.size).toBe(BUCKETS_MAX - 1);
});
