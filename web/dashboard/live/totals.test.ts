/** The charts of the dashboard: series of several nodes become one. */
import { expect, test } from "bun:test";
import type { Metric, Series } from "../api/types.ts";
import { reasonsOf, totalOf } from "./totals.ts";

const STEP_SEC = 5;
const STEPS = 180;
const START = 1_000_000;

const seriesOf = (metric: Metric, ...nodes: Series["nodes"]): Series => ({ metric, stepSec: STEP_SEC, nodes });
const nodeOf = (nodeId: string, values: readonly (number | null)[], start = START): Series["nodes"][number] => ({
  nodeId,
  start,
  values,
});

test("rates of nodes are added, also if one of them started later", () => {
  const { times, values } = totalOf(
    seriesOf("messages", nodeOf("a", [1, 2, 3]), nodeOf("b", [10, 20], START + STEP_SEC)),
    "15m",
  );
  expect(values).toHaveLength(STEPS);
  expect(values.slice(-3)).toEqual([1, 12, 23]);
  expect(times.slice(-3)).toEqual([START, START + STEP_SEC, START + 2 * STEP_SEC]);
});

test("of percentiles the slowest node is shown", () => {
  const { values } = totalOf(seriesOf("p99Ms", nodeOf("a", [1, 5]), nodeOf("b", [3, 2])), "15m");
  expect(values.slice(-2)).toEqual([3, 5]);
});

test("a time at which no node has a value is a gap, and the range before the first value too", () => {
  const { values } = totalOf(seriesOf("messages", nodeOf("a", [1, null, 3]), nodeOf("b", [null, null, 1])), "15m");
  expect(values.slice(-4)).toEqual([null, 1, null, 4]);
});

test("the newest step is left out until every node has it, so that the total does not dip", () => {
  const { values } = totalOf(seriesOf("connections", nodeOf("a", [5, 5, 5]), nodeOf("b", [5, 5])), "15m");
  expect(values.slice(-2)).toEqual([10, 10]);
});

test("a node that is far behind does not hold back the others", () => {
  const { values } = totalOf(seriesOf("connections", nodeOf("a", [1, 2, 3, 4, 5, 6]), nodeOf("b", [1])), "15m");
  expect(values.slice(-4)).toEqual([2, 2, 3, 4]);
});

test("without any node the whole range is a gap", () => {
  expect(totalOf(seriesOf("errors"), "3h").values.every((value) => value === null)).toBe(true);
});

test("refusals are counted by reason over all nodes, the most frequent first", () => {
  const series = seriesOf(
    "refusals",
    { ...nodeOf("a", []), byReason: { token_expired: [0.2, null, 0.2], rate_limited: [0, 0, 0] } },
    { ...nodeOf("b", []), byReason: { token_expired: [0.2], invalid_token: [2] } },
  );
  expect(reasonsOf(series)).toEqual([
    ["invalid_token", 10],
    ["token_expired", 3],
  ]);
});
