/** The engine's suite on Unix sockets, and what the node protocol repairs when connections between workers are lost. */
import { afterEach, expect, test } from "bun:test";
import { unlinkSync } from "node:fs";
import { nextTurn, until } from "../../../test/support/wait.ts";
import { ClusterEngine } from "../cluster/cluster-engine.ts";
import type { Sent } from "../engine.ts";
import { TestCluster } from "../testing/cluster.ts";
import { engineSuite } from "../testing/engine.suite.ts";
import { APP, TestNode } from "../testing/test-node.ts";
import { type UnixCluster, unixCluster } from "../testing/unix-cluster.ts";
import { PAYLOAD_MAX_BYTES } from "./unix/frames.ts";
import { UnixTransport } from "./unix.ts";

engineSuite("Unix sockets", (nodes) => unixCluster(nodes), { runs: 200, payloadBytes: PAYLOAD_MAX_BYTES });

let open: TestCluster | undefined;
afterEach(async () => {
  const nodes = open;
  open = undefined;
  nodes?.check();
  await nodes?.stop();
});

async function start(size: number, queueMaxBytes: number): Promise<{ cluster: UnixCluster; nodes: TestCluster }> {
  const cluster = await unixCluster(size, {}, { queueMaxBytes });
  open = await TestCluster.of(async () => cluster, size);
  return { cluster, nodes: open };
}

test("messages to a worker that was cut because it did not read are replayed, in order", async () => {
  const { cluster, nodes } = await start(2, 20_000);
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  await nodeB.watch("c");
  const { folder } = cluster;
  const published = [nodeA.publish("c")];
  folder.relay(0).isStalled = true;
  while (folder.warnings.length === 0) {
    published.push(nodeA.publish("c"));
    // So that the queue is written to the kernel's buffer, as far as that has room.
    if (published.length % 100 === 0) await nextTurn();
  }
  expect(folder.warnings[0]).toContain("it does not read");
  nodeA.join("c", "eve", 1);
  folder.relay(0).release();
  expect(await nodes.until(() => nodeB.receivedOn("c").length >= published.length)).toBeTrue();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([published, []]);
  expect(await nodes.until(() => nodeB.roster("c")[nodeA.id]?.length === 1)).toBeTrue();
  expect([nodeA.gone, nodeB.gone]).toEqual([[], []]);
});

/** By then a worker that has started looks at its file every few seconds only. */
const QUIET_AFTER_MS = 500;

test("what two workers accepted before they found each other is reported lost on both, on that channel only", async () => {
  const { cluster } = await start(0, PAYLOAD_MAX_BYTES);
  const worker = async (slot: number): Promise<TestNode> => {
    const transport = await UnixTransport.join({ folder: cluster.folder.path, slot, slots: 2 });
    const node = new TestNode(`w${slot}`, new ClusterEngine(transport, { prefix: "test", heartbeatMs: 500 }));
    node.engine.attach(node);
    for (const channel of ["c", "unused"]) await node.watch(channel);
    return node;
  };
  const nodeA = await worker(0);
  await Bun.sleep(QUIET_AFTER_MS);
  unlinkSync(cluster.folder.pathOf(0));
  const nodeB = await worker(1);
  for (const node of [nodeA, nodeB]) node.publish("c");
  const both = (what: string, isTrue: (node: TestNode) => boolean): Promise<unknown> =>
    until(what, () => [nodeA, nodeB].every(isTrue), 40_000);
  await both("a loss is reported", ({ lostChannels }) => lostChannels.length > 0);
  for (const node of [nodeA, nodeB]) for (const channel of ["c", "unused"]) node.publish(channel);
  // Those of the channel with the loss wait for the state of the other node.
  await both("messages arrive", (node) => ["c", "unused"].every((channel) => node.receivedOn(channel).length > 0));
  expect([nodeA.receivedOn("c"), nodeB.receivedOn("c")]).toEqual([["w1 2"], ["w0 2"]]);
  expect([nodeA.lostChannels, nodeB.lostChannels]).toEqual([["c"], ["c"]]);
  for (const node of [nodeA, nodeB]) await node.engine.close();
});

const isUp = ({ engine }: TestNode): boolean => (engine as ClusterEngine).isUp;

test("connections that are cut again and again lose no message, and no node is considered gone", async () => {
  const { cluster, nodes } = await start(3, PAYLOAD_MAX_BYTES);
  const [nodeA, nodeB, nodeC] = nodes.all as [TestNode, TestNode, TestNode];
  await nodeB.watch("c");
  await nodeC.watch("c");
  const published: string[] = [];
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 5; i++) published.push(nodeA.publish("c"));
    cluster.folder.relay(round % 2).cut();
    for (let i = 0; i < 5; i++) published.push(nodeA.publish("c"));
    await Bun.sleep(round * 5);
    // On a busy machine the connections may not be back yet, and a node without any refuses to publish.
    expect(await nodes.until(() => isUp(nodeA))).toBeTrue();
  }
  for (const node of [nodeB, nodeC]) {
    expect(await nodes.until(() => node.receivedOn("c").length >= published.length)).toBeTrue();
    expect([node.receivedOn("c"), node.lostChannels, node.gone]).toEqual([published, [], []]);
  }
});

test("a message to a peer that is connected here only needs no answer; one to a peer of another worker does", async () => {
  const { nodes } = await start(2, PAYLOAD_MAX_BYTES);
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  const send = (isHere: boolean): Sent =>
    nodeA.engine.send(APP, "eve", { from: "zoe", metadataJson: undefined, dataJson: "1" }, isHere);
  expect(send(true)).toBe(0);
  // Not connected here: other nodes may have a connection that is not known yet.
  expect(await send(false)).toBe(0);
  nodeB.setConnections("eve", 1);
  await nodes.settle();
  expect(await send(true)).toBe(1);
  nodeB.setConnections("eve", 0);
  await nodes.settle();
  // It has confirmed a message, so it is asked.
  expect(await send(true)).toBe(0);
  expect(send(true)).toBe(0);
});
