import { expect, test } from "bun:test";
import { SharedMap } from "./shared-map.ts";

const keysOf = (map: SharedMap<number>): string[] => [...map].map(([key]) => key);

test("one owner alone may use all of it, and the oldest is forgotten", () => {
  const map = new SharedMap<number>(3);
  for (const number of [1, 2, 3, 4]) map.set("a", `a${number}`, number);
  expect([keysOf(map), map.size, map.get("a4"), map.get("a1")]).toEqual([["a2", "a3", "a4"], 3, 4, undefined]);
});

test("an owner with many entries does not push out those of another", () => {
  const map = new SharedMap<number>(4);
  map.set("b", "b1", 1);
  for (let number = 1; number <= 100; number++) map.set("a", `a${number}`, number);
  expect(keysOf(map)).toEqual(["b1", "a98", "a99", "a100"]);
  for (let number = 2; number <= 100; number++) map.set("b", `b${number}`, number);
  expect(keysOf(map)).toEqual(["a99", "a100", "b99", "b100"]);
});

test("an entry that is set again is behind the others, and one that was removed counts no more", () => {
  const map = new SharedMap<number>(3);
  for (const number of [1, 2]) map.set("a", `a${number}`, number);
  map.set("a", "a1", 5);
  map.delete("a", "a2");
  map.delete("a", "unknown");
  for (const number of [1, 2]) map.set("b", `b${number}`, number);
  expect([...map]).toEqual([
    ["a1", 5],
    ["b1", 1],
    ["b2", 2],
  ]);
});
