import { expect, test } from "bun:test";
import { hasMoreFields } from "./query-fields.ts";

test("counts the parameters of a query, up to the bound", () => {
  for (const [query, more] of [
    ["", false],
    ["a", false],
    ["a&b", false],
    ["a&b&c", true],
    ["&&&&", true],
    [`a=${"x".repeat(1000)}&b`, false],
    ["a&".repeat(60_000), true],
  ] as const)
    expect([query.slice(0, 10), hasMoreFields(query, 2)]).toEqual([query.slice(0, 10), more]);
});

test("ignores what is before the query", () => {
  expect(hasMoreFields("/a&b&c?d&e", 2, 7)).toBe(false);
  expect(hasMoreFields("/a&b&c?d&e&f", 2, 7)).toBe(true);
});
