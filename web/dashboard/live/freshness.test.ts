/** What a page says about how fresh it is. */
import { expect, test } from "bun:test";
import { freshnessOf } from "./freshness.ts";

const one = (change: { everyMs?: number; at?: number; isFailing?: boolean }) => ({
  everyMs: undefined,
  isFailing: false,
  reload: () => Promise.resolve(),
  ...change,
});

test("a page without data says nothing", () => {
  expect(freshnessOf([])).toBeUndefined();
  expect(freshnessOf([one({})])).toBeUndefined();
});

test("a page is as fresh as the slowest of what it follows", () => {
  expect(freshnessOf([one({ everyMs: 3000, at: 5 }), one({ everyMs: 10_000 }), one({ at: 1 })])).toEqual({
    state: "followed",
    everySec: 10,
  });
});

test("what is only loaded once is as old as its oldest part", () => {
  expect(freshnessOf([one({ at: 9 }), one({ at: 7 })])).toMatchObject({ state: "once", at: 7 });
});

test("one part that fails makes it lost", () => {
  expect(freshnessOf([one({ everyMs: 3000, at: 9 }), one({ everyMs: 3000, at: 7, isFailing: true })])).toEqual({
    state: "lost",
    at: 7,
  });
  expect(freshnessOf([one({ everyMs: 3000, isFailing: true })])).toEqual({ state: "lost", at: undefined });
});
