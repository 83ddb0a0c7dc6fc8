import { expect, test } from "bun:test";
import { refreshed } from "./sorted-rows.ts";

const keyOf = ({ key }: { readonly key: string }): string => key;
const old = (keys: string) => [...keys].map((key) => ({ key, isNew: false }));
const fresh = (keys: string) => [...keys].map((key) => ({ key, isNew: true }));
const shown = (rows: readonly { key: string; isNew: boolean }[]): string =>
  rows.map(({ key, isNew }) => (isNew ? key.toUpperCase() : key)).join("");

test.each([
  ["a page within the list", "abcdef", "b", "cd", false, "abCDef"],
  ["the first page", "abcdef", undefined, "abc", false, "ABCdef"],
  ["the last page", "abcdef", "c", "d", true, "abcD"],
  ["rows that came in between", "aceg", "a", "bcd", false, "aBCDeg"],
  ["rows that have gone", "abcdef", "a", "e", false, "aEf"],
  ["an end that is empty now", "abc", "a", "", true, "a"],
  ["a list that has grown", "ab", undefined, "abcd", false, "ABCD"],
])("replaces %s", (_, rows, after, page, isLast, expected) => {
  expect(shown(refreshed({ rows: old(rows), page: fresh(page), after, isLast, keyOf }))).toBe(expected);
});
