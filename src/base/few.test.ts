import { describe, expect, test } from "bun:test";
import { type Few, isList, listOf, withOne, withoutOne } from "./few.ts";

const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];

describe("a list of few", () => {
  test("keeps one element without an array, and several in their order", () => {
    let few: Few<{ name: string }>;
    few = withOne(few, a);
    expect(few).toBe(a);
    few = withOne(few, b);
    few = withOne(few, c, 0);
    expect(listOf(few)).toEqual([c, a, b]);
    few = withoutOne(few, a);
    expect(listOf(few)).toEqual([c, b]);
    few = withoutOne(few, c);
    expect(few).toBe(b);
    expect(isList(few)).toBe(false);
    expect(withoutOne(few, b)).toBeUndefined();
  });

  test("is the same without an element that it has not", () => {
    expect(withoutOne(undefined, a)).toBeUndefined();
    expect(withoutOne(a, b)).toBe(a);
    expect(listOf(withoutOne([a, b], c))).toEqual([a, b]);
  });

  test("is not changed under a loop over it", () => {
    let few: Few<{ name: string }> = [a, b, c];
    const seen: string[] = [];
    for (const one of listOf(few)) {
      seen.push(one.name);
      few = withoutOne(few, one);
    }
    expect(seen).toEqual(["a", "b", "c"]);
    expect(few).toBeUndefined();
  });
});
