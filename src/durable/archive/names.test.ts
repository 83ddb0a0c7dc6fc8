import { expect, test } from "bun:test";
import { NameSet } from "./names.ts";

test("a name that comes twice is found, however many are between", () => {
  const names = new NameSet();
  const all = Array.from({ length: 10_000 }, (_, at) => `recordings/${at}`);
  expect(all.filter((name) => !names.add(name))).toEqual([]);
  expect(all.filter((name) => names.add(name))).toEqual([]);
  expect(names.add("recordings/10000")).toBe(true);
});
