import { expect, test } from "bun:test";
import fc from "fast-check";
import { FirstOf } from "./first-of.ts";

const isLess = (one: number, other: number): boolean => one < other;

test("keeps the first entries of any list, sorted", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 200 }),
      fc.integer({ min: 1, max: 30 }),
      (all, count) => {
        const first = new FirstOf<number>(count, isLess);
        for (const one of all) first.offer(one);
        expect(first.sorted()).toEqual(all.toSorted((a, b) => a - b).slice(0, count));
      },
    ),
    { seed: 20_264 },
  );
});

test("most entries of a long list cost one comparison", () => {
  let comparisons = 0;
  const first = new FirstOf<number>(101, (one, other) => {
    comparisons++;
    return one < other;
  });
  let value = 1;
  for (let i = 0; i < 50_000; i++) {
    value = (value * 48_271) % 2_147_483_647;
    first.offer(value);
  }
  expect(first.sorted()).toHaveLength(101);
  expect(comparisons).toBeLessThan(70_000);
});
