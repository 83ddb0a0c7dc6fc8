/**
 * Nodes that hear of each other for the first time after one of them has subscribed: what was published before that is delivered, or
 * reported lost. A start in a healthy cluster loses nothing, and reports nothing.
 */
import { afterEach, expect, test } from "bun:test";
import { TestCluster } from "../testing/cluster.ts";
import { memoryCluster } from "../testing/memory-cluster.ts";
import { MemoryNetwork, type MemoryTransport } from "../testing/memory-transport.ts";
import { TestNode } from "../testing/test-node.ts";
import type { ClusterEngine } from "./cluster-engine.ts";
import { GONE_AFTER_HEARTBEATS } from "./nodes/nodes.ts";

const HEARTBEAT_MS = 60;
const SILENT_MS = HEARTBEAT_MS * GONE_AFTER_HEARTBEATS;
/** Longer than the clocks of two nodes may differ: what was published before that is older than a subscription. */
const EARLIER_MS = 700;

let open: TestCluster | undefined;
let started = 0;
let aheadMs = 0;
const late: TestNode[] = [];
afterEach(async () => {
  for (const node of late.splice(0)) await node.engine.close();
  const nodes = open;
  open = undefined;
  aheadMs = 0;
  nodes?.check();
  await nodes?.stop();
});

interface Late {
  readonly node: TestNode;
  readonly transport: MemoryTransport;
  readonly hears: () => void;
}

/** Nodes A and B know each other; `start` starts another one, which hears nothing before `hears` is called. */
async function pair() {
  const network = new MemoryNetwork();
  const cluster = await memoryCluster(2, { heartbeatMs: HEARTBEAT_MS }, network);
  const nodes = await TestCluster.of(async () => cluster, 2);
  open = nodes;
  for (const node of nodes.all) node.expectsReturns = true;
  const start = async (heartbeatMs = HEARTBEAT_MS): Promise<Late> => {
    const { engines, transports } = await memoryCluster(
      1,
      { heartbeatMs, nowMs: () => performance.now() + aheadMs },
      network,
    );
    const [engine, transport] = [engines[0], transports[0]];
    if (!engine || !transport) throw new Error("there is no engine");
    const node = new TestNode(`late${started++}`, engine);
    late.push(node);
    node.expectsReturns = true;
    const { receive } = transport;
    transport.receive = () => 0;
    engine.attach(node);
    const hears = (): void => {
      transport.receive = receive;
    };
    return { node, transport, hears };
  };
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  const [transportA] = cluster.transports as [MemoryTransport];
  return { nodes, nodeA, nodeB, transportA, start };
}

/** Nothing of it arrives anywhere, and nothing arrives at it, which neither side can notice. Returns what ends it. */
function partition(transport: MemoryTransport): () => void {
  const { publish, receive } = transport;
  transport.publish = () => undefined;
  transport.receive = () => 0;
  return () => {
    transport.publish = publish;
    transport.receive = receive;
  };
}

const OUTAGES: Readonly<Record<string, (transport: MemoryTransport) => () => void>> = {
  "has no transport": (transport) => {
    transport.setUp(false);
    return () => transport.setUp(true);
  },
  "is cut off, and does not notice": partition,
};

for (const [what, begin] of Object.entries(OUTAGES)) {
  test(`what a node publishes that starts while another one ${what} is reported lost there, on that channel only`, async () => {
    const { nodes, nodeA, nodeB, transportA, start } = await pair();
    for (const channel of ["c", "members", "unused"]) for (const node of [nodeA, nodeB]) await node.watch(channel);
    const end = begin(transportA);
    const { node, hears } = await start();
    hears();
    await nodes.settle();
    node.join("members", "eve", 1);
    const published = [node.publish("c"), node.publish("c")];
    await Bun.sleep(2 * SILENT_MS);
    end();
    expect(await nodes.until(() => nodeA.lostChannels.length > 0)).toBeTrue();
    expect(await nodes.until(() => Object.keys(nodeA.roster("members")).length > 0)).toBeTrue();
    const [after, unused] = [node.publish("c"), node.publish("unused")];
    expect(await nodes.until(() => nodeA.receivedOn("unused").includes(unused))).toBeTrue();
    expect([nodeA.receivedOn("c"), nodeA.lostChannels]).toEqual([[after], ["c"]]);
    expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([[...published, after], []]);
  });

  test(`what a node publishes while it ${what} is reported lost on one that starts meanwhile, on that channel only`, async () => {
    const { nodes, nodeA, transportA, start } = await pair();
    nodeA.publish("earlier");
    await Bun.sleep(EARLIER_MS);
    const end = begin(transportA);
    const { node, hears } = await start();
    hears();
    for (const channel of ["c", "earlier", "unused"]) await node.watch(channel);
    await Bun.sleep(2 * SILENT_MS);
    // As a process that was stopped: it has accepted messages before it notices.
    transportA.isUp = true;
    const { publish } = transportA;
    transportA.publish = () => undefined;
    nodeA.publish("c");
    transportA.publish = publish;
    end();
    expect(await nodes.until(() => node.lostChannels.length > 0)).toBeTrue();
    const after = [nodeA.publish("c"), nodeA.publish("earlier")];
    expect(await nodes.until(() => node.receivedOn("earlier").length > 0)).toBeTrue();
    expect([[...node.receivedOn("c"), ...node.receivedOn("earlier")], node.lostChannels]).toEqual([after, ["c"]]);
  });
}

test("a node whose machine was suspended has missed what one published that started meanwhile, however long ago", async () => {
  const { nodes, nodeA, transportA, start } = await pair();
  for (const channel of ["c", "members"]) await nodeA.watch(channel);
  transportA.setUp(false);
  const { node, hears } = await start();
  hears();
  await nodes.settle();
  node.join("members", "eve", 1);
  node.publish("c");
  await nodes.settle();
  // The clock of the other node has stood still.
  aheadMs = 3_600_000;
  transportA.setUp(true);
  expect(await nodes.until(() => nodeA.lostChannels.length > 0)).toBeTrue();
  expect(await nodes.until(() => Object.keys(nodeA.roster("members")).length > 0)).toBeTrue();
  expect(nodeA.lostChannels).toEqual(["c"]);
});

test("one that comes back just after another one has started says so: what it published meanwhile is reported lost", async () => {
  const { nodes, nodeA, transportA, start } = await pair();
  const end = partition(transportA);
  const { node, hears } = await start();
  hears();
  await node.watch("c");
  nodeA.publish("c");
  end();
  transportA.setUp(false);
  transportA.setUp(true);
  expect(await nodes.until(() => node.lostChannels.length > 0)).toBeTrue();
  expect([node.lostChannels, node.receivedOn("c")]).toEqual([["c"], []]);
});

test("a node that loses its transport just after its start may have missed what others published meanwhile: it is reported lost", async () => {
  const { nodes, nodeA, start } = await pair();
  const { node, transport, hears } = await start();
  await node.watch("c");
  transport.setUp(false);
  hears();
  nodeA.publish("c");
  await nodes.settle();
  transport.setUp(true);
  expect(await nodes.until(() => node.lostChannels.length > 0)).toBeTrue();
  expect(node.lostChannels).toEqual(["c"]);
});

test("one that starts and publishes at once loses nothing, and no loss is reported", async () => {
  const { nodes, nodeA, nodeB, start } = await pair();
  for (const node of [nodeA, nodeB]) await node.watch("c");
  await Bun.sleep(2 * SILENT_MS);
  const published: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { node, hears } = await start();
    hears();
    published.push(node.publish("c"), node.publish("c"));
    await nodes.settle();
    published.push(node.publish("c"));
    await nodes.settle();
    if (i < 2) await late.pop()?.engine.close();
  }
  for (const node of [nodeA, nodeB]) expect([node.receivedOn("c"), node.lostChannels]).toEqual([published, []]);
});

test.each(["says farewell", "falls silent"] as const)(
  "one that starts and %s before it has answered has published nothing: no loss is reported",
  async (how) => {
    const { nodes, nodeA, start } = await pair();
    const others = (): number => (nodeA.engine as ClusterEngine).others;
    await nodeA.watch("c");
    await Bun.sleep(2 * SILENT_MS);
    const { node, transport } = await start();
    expect(await nodes.until(() => others() === 2)).toBeTrue();
    if (how === "says farewell") await node.engine.close();
    else partition(transport);
    expect(await nodes.until(() => others() === 1)).toBeTrue();
    expect(nodeA.lostChannels).toEqual([]);
  },
);

test("who subscribes on a node that has just started gets what others publish from then on, and no loss is reported", async () => {
  const { nodes, nodeA, start } = await pair();
  await Bun.sleep(2 * SILENT_MS);
  nodeA.publish("c");
  // On a busy machine it may take a while until it hears the others.
  const { node, hears } = await start(2000);
  await node.watch("c");
  hears();
  const published = [nodeA.publish("c")];
  await nodes.settle();
  published.push(nodeA.publish("c"));
  await Bun.sleep(2 * SILENT_MS);
  await nodes.settle();
  expect([node.receivedOn("c"), node.lostChannels]).toEqual([published, []]);
});
