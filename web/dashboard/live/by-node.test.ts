/** Series of several nodes as lines. */
import { expect, test } from "bun:test";
import type { Series } from "../api/types.ts";
import { byNode } from "./by-node.ts";

const END = 1_800_000_000;
const node = (nodeId: string, ...values: (number | null)[]): Series["nodes"][number] => ({
  nodeId,
  start: END - values.length * 5,
  values,
});
const series = (...nodes: Series["nodes"][number][]): Series => ({ metric: "messages", stepSec: 5, nodes });

test("each node is a line, at the same times; workers of one node are added up", () => {
  const { times, nodes } = byNode(series(node("a", 1, 2), node("b", null, 9), node("a", 1, 1)), "15m", 5);
  expect(times.slice(-2)).toEqual([END - 10, END - 5]);
  expect(nodes.map(({ nodeId, values }) => [nodeId, values.slice(-3)])).toEqual([
    ["b", [null, null, 9]],
    ["a", [null, 2, 3]],
  ]);
});

test("beyond a few nodes, those with the least are one line", () => {
  const { nodes } = byNode(series(node("a", 1), node("b", 5), node("c", 3), node("d", 2)), "15m", 3);
  expect(nodes.map(({ nodeId, values }) => [nodeId, values.at(-1)])).toEqual([
    ["b", 5],
    ["c", 3],
    [undefined, 3],
  ]);
});
