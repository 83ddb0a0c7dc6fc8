import { expect, test } from "bun:test";
import { imbalanceOf } from "./imbalance.ts";
import type { SeenNode } from "./nodes.ts";

const nodes = (...connections: number[]): SeenNode[] =>
  connections.map((count, at) => ({
    nodeId: `node-${at}`,
    version: "1.0.0",
    startedAt: 0,
    connections: count,
    channels: 0,
    cpu: 0,
    rssBytes: 0,
    loopLagMs: 0,
    nats: null,
    store: "ok",
  }));

test.each([
  [[]],
  [[5000]],
  [[0, 0]],
  // 1.5 times the mean, and not more.
  [[3000, 1000]],
  // Many times the mean, but few.
  [[149, 0]],
  [[140, 0, 1]],
])("%j connections are not shown as uneven", (connections) => {
  expect(imbalanceOf(nodes(...connections))).toBeUndefined();
});

test.each([
  [[3010, 990], "node-0", 1.505],
  [[0, 200], "node-1", 2],
  [[0, 0, 150], "node-2", 3],
])("%j connections are uneven: the busiest is named, with how many times the mean it has", (connections, id, times) => {
  const found = imbalanceOf(nodes(...connections));
  expect(found?.busiest.nodeId).toBe(id);
  expect(found?.timesMean).toBeCloseTo(times, 3);
});

test("a node that no longer responds does not count", () => {
  const [busy, idle] = nodes(3000, 0);
  expect(imbalanceOf([busy, idle].flatMap((node) => node ?? []))?.busiest.nodeId).toBe("node-0");
  const gone = [busy, { ...idle, awaySince: 1 }] as SeenNode[];
  expect(imbalanceOf(gone)).toBeUndefined();
});
