/** What the node protocol repairs after losses and outages of the transport. */
import { afterEach, expect, test } from "bun:test";
import { TestCluster } from "../testing/cluster.ts";
import { type MemoryCluster, memoryCluster } from "../testing/memory-cluster.ts";
import type { MemoryTransport } from "../testing/memory-transport.ts";
import type { TestNode } from "../testing/test-node.ts";

/** Short, so that a silent node is soon considered gone. */
const HEARTBEAT_MS = 60;

let open: TestCluster | undefined;
afterEach(async () => {
  const nodes = open;
  open = undefined;
  nodes?.check();
  await nodes?.stop();
});

interface Pair {
  readonly nodes: TestCluster;
  readonly nodeA: TestNode;
  readonly nodeB: TestNode;
  readonly transportA: MemoryTransport;
}

async function pair(): Promise<Pair> {
  const cluster: MemoryCluster = await memoryCluster(2, { heartbeatMs: HEARTBEAT_MS });
  const nodes = await TestCluster.of(async () => cluster, 2);
  open = nodes;
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  const [transportA] = cluster.transports as [MemoryTransport];
  return { nodes, nodeA, nodeB, transportA };
}

/** Loses what is published while `work` runs. */
function losing(transport: MemoryTransport, work: () => void): void {
  const { publish } = transport;
  transport.publish = () => undefined;
  work();
  transport.publish = publish;
}

test("a lost message is replayed before later ones", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  await nodeB.watch("c");
  const published = [nodeA.publish("c")];
  losing(transportA, () => published.push(nodeA.publish("c")));
  published.push(nodeA.publish("c"));
  await nodes.settle();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([published, []]);
});

test("a lost message without a later one is replayed when its sequence is idle", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  await nodeB.watch("c");
  let published = "";
  losing(transportA, () => {
    published = nodeA.publish("c");
  });
  expect(await nodes.until(() => nodeB.receivedOn("c").includes(published))).toBeTrue();
});

test("a message that cannot be replayed is reported lost once, and later messages arrive", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  await nodeB.watch("c");
  const { outgoing } = Reflect.get(nodeA.engine, "attached") as { outgoing: { replay: () => undefined } };
  outgoing.replay = () => undefined;
  losing(transportA, () => nodeA.publish("c"));
  nodeA.publish("c");
  await nodes.settle();
  expect(nodeB.lostChannels).toEqual(["c"]);
  const published = nodeA.publish("c");
  await nodes.settle();
  expect([nodeB.receivedOn("c").at(-1), nodeB.lostChannels]).toEqual([published, ["c"]]);
});

test("members that join during a short outage are known afterwards", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  await nodeB.watch("c");
  transportA.setUp(false);
  nodeA.join("c", "eve", 1);
  transportA.setUp(true);
  await nodes.settle();
  expect(Object.keys(nodeB.roster("c"))).toEqual([nodeA.id]);
  expect([nodeA.gone, nodeB.gone, nodeB.lostChannels]).toEqual([[], [], []]);
});

test("after a long outage a node returns under another id, with its members", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  await nodeB.watch("c");
  nodeA.join("c", "eve", 1);
  transportA.setUp(false);
  expect(await nodes.until(() => nodeB.gone.length > 0)).toBeTrue();
  expect([nodeB.gone, nodeB.roster("c")]).toEqual([[nodeA.id], {}]);
  transportA.setUp(true);
  expect(await nodes.until(() => Object.keys(nodeB.roster("c")).length > 0)).toBeTrue();
  expect(Object.keys(nodeB.roster("c"))).toEqual([`${nodeA.id}~2`]);
  // The disconnected node received nothing either, but did not consider the other one gone.
  expect(nodeA.gone).toEqual([]);
});

test("a node that has returned is still reached by its name, and what it sends is under its name", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  transportA.setUp(false);
  expect(await nodes.until(() => nodeB.gone.length > 0)).toBeTrue();
  transportA.setUp(true);
  await nodes.settle();
  nodeB.engine.notify(nodeA.id, "to the one that returned");
  nodeA.engine.notify(nodeB.id, "from it");
  await nodes.settle();
  expect([nodeA.notifications, nodeB.notifications]).toEqual([
    [[nodeB.id, "to the one that returned"]],
    [[nodeA.id, "from it"]],
  ]);
  await nodes.close(nodeA);
  expect(await nodes.until(() => nodeB.gone.length > 1)).toBeTrue();
  expect([nodeB.gone, nodeB.goneNames]).toEqual([
    [nodeA.id, `${nodeA.id}~2`],
    [nodeA.id, nodeA.id],
  ]);
});

/** B considers A gone, whose publishes are lost meanwhile: it was stopped, or is cut off, and has not noticed. */
async function whileConsideredGone({ nodes, nodeB, transportA }: Pair, work: () => void): Promise<void> {
  const { publish } = transportA;
  nodeB.expectsReturns = true;
  transportA.publish = () => undefined;
  expect(await nodes.until(() => nodeB.gone.length > 0)).toBeTrue();
  work();
  transportA.publish = publish;
}

test("what a node has published while it was considered gone is replayed when it returns", async () => {
  const it = await pair();
  const { nodes, nodeA, nodeB } = it;
  await nodeB.watch("c");
  await nodeB.watch("new");
  const published = [nodeA.publish("c")];
  await nodes.settle();
  await whileConsideredGone(it, () => {
    published.push(nodeA.publish("c"), nodeA.publish("c"));
    nodeA.publish("new");
  });
  published.push(nodeA.publish("c"));
  expect(await nodes.until(() => nodeB.receivedOn("c").length === published.length)).toBeTrue();
  expect(await nodes.until(() => nodeB.receivedOn("new").length === 1)).toBeTrue();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([published, []]);
});

test("what a node has published before it answers a new subscription is reported lost when it returns", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  nodeA.publish("c");
  await nodes.settle();
  const { publish } = transportA;
  nodeB.expectsReturns = true;
  transportA.publish = () => undefined;
  const watching = Promise.all([nodeB.watch("c"), nodeB.watch("unused")]);
  expect(await nodes.until(() => nodeB.gone.length > 0)).toBeTrue();
  await watching;
  nodeA.publish("c");
  transportA.publish = publish;
  expect(await nodes.until(() => nodeB.lostChannels.length > 0)).toBeTrue();
  const published = nodeA.publish("c");
  await nodes.settle();
  expect([nodeB.receivedOn("c").at(-1), nodeB.lostChannels]).toEqual([published, ["c"]]);
});

test("what cannot be replayed when a node returns is reported lost", async () => {
  const it = await pair();
  const { nodes, nodeA, nodeB } = it;
  await nodeB.watch("c");
  nodeA.publish("c");
  await nodes.settle();
  const { outgoing } = Reflect.get(nodeA.engine, "attached") as { outgoing: { replay: () => undefined } };
  outgoing.replay = () => undefined;
  await whileConsideredGone(it, () => nodeA.publish("c"));
  expect(await nodes.until(() => nodeB.lostChannels.length > 0)).toBeTrue();
  expect(nodeB.lostChannels).toEqual(["c"]);
});

test("a nudge says whether it may not have reached every node", async () => {
  const { nodes, nodeA, nodeB, transportA } = await pair();
  transportA.setUp(false);
  expect(await nodes.answer(nodeA.engine.invalidate(undefined, "first"))).toBe("unsent");
  transportA.setUp(true);
  let lost: Promise<unknown> | undefined;
  losing(transportA, () => {
    lost = nodeA.engine.invalidate(undefined, "second");
  });
  expect([await lost, nodeB.withdrawn]).toEqual(["unanswered", undefined]);
  expect(await nodes.answer(nodeA.engine.invalidate(undefined, "third"))).toBe("answered");
  expect(nodeB.withdrawn).toBe("third");
});
