/** The audit of the dashboard: what a change has changed. */
import { expect, test } from "bun:test";
import { differences } from "./differences.ts";

test("only fields that differ are listed, those inside objects by their path", () => {
  const before = { plan: { name: "small", cap: null }, label: "a" };
  const after = { plan: { name: "small", cap: 10 }, label: "a" };
  expect(differences(before, after)).toEqual([{ field: "plan.cap", before: null, after: 10 }]);
});

test("a field that was added or removed is listed with the side that has it", () => {
  expect(differences({ a: 1 }, { b: ["x"] })).toEqual([
    { field: "a", before: 1, after: undefined },
    { field: "b", before: undefined, after: ["x"] },
  ]);
});
