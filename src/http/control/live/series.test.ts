/** What other nodes answer to a request for their series. */
import { expect, test } from "bun:test";
import { decodeNodeSeries } from "./series.ts";

const GOOD = { nodeId: "n", start: 1_800_000_000, values: [1, null, 0.5] };

test("an answer of the expected form is taken, without fields that are not known", () => {
  expect(decodeNodeSeries({ ...GOOD, more: 1 })).toEqual(GOOD);
  const byReason = { token_expired: [1, null, 0] };
  expect(decodeNodeSeries({ ...GOOD, byReason })).toEqual({ ...GOOD, byReason });
});

test("anything else is refused, and nothing in it can be of any length", () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`code${i}`, []]));
  for (const wrong of [
    undefined,
    null,
    "text",
    { ...GOOD, start: "soon" },
    { ...GOOD, values: ["1"] },
    { ...GOOD, values: Array<number>(289).fill(0) },
    { ...GOOD, nodeId: "n".repeat(201) },
    { ...GOOD, byReason: { code: Array<number>(289).fill(0) } },
    { ...GOOD, byReason: { ["c".repeat(201)]: [] } },
    { ...GOOD, byReason: many },
  ])
    expect(() => decodeNodeSeries(wrong)).toThrow();
});
