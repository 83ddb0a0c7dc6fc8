import { expect, test } from "bun:test";
import { UNAVAILABLE } from "../engine.ts";
import { TestCluster } from "../testing/cluster.ts";
import { memoryCluster } from "../testing/memory-cluster.ts";
import type { TestNode } from "../testing/test-node.ts";

const HEARTBEAT_MS = 200;
/** Longer than three ticks. */
const BUSY_MS = 90;
const BREAK_MS = 1;
/** Both are decided within a second of time between nodes; the machine may be slow. */
const LATE_MS = 15_000;

/** Keeps the event loop busy until `done` is called: every tick is late. */
function overload(): { done(): void } {
  let isDone = false;
  const block = (): void => {
    const untilMs = performance.now() + BUSY_MS;
    while (performance.now() < untilMs);
    if (!isDone) setTimeout(block, BREAK_MS);
  };
  setTimeout(block, BREAK_MS);
  return {
    done: () => {
      isDone = true;
    },
  };
}

test("under lasting overload requests and direct messages still time out", async () => {
  const cluster = await memoryCluster(2, { heartbeatMs: HEARTBEAT_MS });
  const nodes = await TestCluster.of(async () => cluster, 2);
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  nodeA.expectsReturns = nodeB.expectsReturns = true;
  nodeB.setConnections("peer", 1);
  await nodes.settle();
  cluster.transports[1]?.suspend();
  const { count } = nodeA.send("peer");
  const request = nodeA.engine.request("text");
  const { done } = overload();
  const late = Bun.sleep(LATE_MS).then(() => "late");
  const ended = Promise.all([count, request.then(({ responses }) => responses.size)]);
  const outcome = await Promise.race([ended, late]);
  done();
  await ended;
  cluster.transports[1]?.resume();
  await nodes.stop();
  expect(outcome).toEqual([UNAVAILABLE, 0]);
}, 60_000);
