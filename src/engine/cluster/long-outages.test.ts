/** Outages that outlast what nodes keep for replay: each message is delivered or its loss reported, and presence is right afterwards. */
import { afterEach, expect, test } from "bun:test";
import { TestCluster } from "../testing/cluster.ts";
import { memoryCluster } from "../testing/memory-cluster.ts";
import type { MemoryTransport } from "../testing/memory-transport.ts";
import type { TestNode } from "../testing/test-node.ts";

const HEARTBEAT_MS = 60;
const STEP_MS = 10_000;

let open: TestCluster | undefined;
let aheadMs = 0;
afterEach(async () => {
  const nodes = open;
  open = undefined;
  aheadMs = 0;
  nodes?.check();
  await nodes?.stop();
});

async function pair() {
  const cluster = await memoryCluster(2, { heartbeatMs: HEARTBEAT_MS, nowMs: () => performance.now() + aheadMs });
  const nodes = await TestCluster.of(async () => cluster, 2);
  open = nodes;
  const [nodeA, nodeB] = nodes.all as [TestNode, TestNode];
  for (const node of nodes.all) node.expectsReturns = true;
  const [transportA, transportB] = cluster.transports as [MemoryTransport, MemoryTransport];
  return { nodes, nodeA, nodeB, transportA, transportB };
}

type Pair = Awaited<ReturnType<typeof pair>>;

/** The clocks of all nodes go on in steps, with time for their timers after each. */
async function pass(seconds: number): Promise<void> {
  for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
    aheadMs += STEP_MS;
    await Bun.sleep(HEARTBEAT_MS * 1.5);
  }
}

/** What B does not receive from A. Each begins the outage and returns what ends it. */
const OUTAGES: Readonly<Record<string, (pair: Pair) => Promise<() => void>>> = {
  "B has no transport": async ({ transportB }) => {
    transportB.setUp(false);
    return () => transportB.setUp(true);
  },
  "A is considered gone and has not noticed": async ({ nodes, nodeB, transportA }) => {
    const { publish } = transportA;
    transportA.publish = () => undefined;
    expect(await nodes.until(() => nodeB.gone.length > 0)).toBeTrue();
    return () => {
      transportA.publish = publish;
    };
  },
};

const shown = (node: TestNode, channel: string): string[] =>
  Object.values(node.roster(channel))
    .flat()
    .map(({ peerId }) => peerId)
    .sort();

for (const [what, begin] of Object.entries(OUTAGES)) {
  test.each([
    [20, false],
    [40, true],
    [70, false],
    [70, true],
    [180, false],
  ])(
    `${what} for %p s: a message is replayed or reported lost; another one at the end: %p`,
    async (seconds, isAgain) => {
      const it = await pair();
      const { nodes, nodeA, nodeB } = it;
      await nodeB.watch("c");
      nodeA.publish("c");
      await nodes.settle();
      const end = await begin(it);
      const missed = nodeA.publish("c");
      await pass(seconds);
      if (isAgain) nodeA.publish("c");
      end();
      const isReceived = (): boolean => nodeB.receivedOn("c").includes(missed);
      expect(await nodes.until(() => isReceived() || nodeB.lostChannels.length > 0)).toBeTrue();
      expect(isReceived()).toBe(seconds < 30);
    },
    20_000,
  );

  test.each([70, 180])(
    `${what} for %p s: members are right afterwards, and no loss is reported`,
    async (seconds) => {
      const it = await pair();
      const { nodes, nodeA, nodeB } = it;
      nodeA.join("c", "stays", 1);
      nodeA.join("c", "leaves", 2);
      await nodes.settle();
      await nodeB.watch("c");
      const end = await begin(it);
      nodeA.leave("c", "leaves");
      nodeA.join("c", "joins", 3);
      await pass(seconds);
      end();
      expect(await nodes.until(() => shown(nodeB, "c").join() === "joins,stays")).toBeTrue();
      // No message was missed: the subscribers stay connected, and get the next one.
      const message = nodeA.publish("c");
      await nodes.settle();
      expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([[message], []]);
    },
    20_000,
  );

  test(`${what} for 70 s: a channel on which nothing was published keeps its subscribers`, async () => {
    const it = await pair();
    const { nodes, nodeA, nodeB } = it;
    await nodeB.watch("used");
    await nodeB.watch("unused");
    const before = nodeA.publish("used");
    await nodes.settle();
    // A reduces the sequence to its end before the outage, or during it.
    const end = await begin(it);
    await pass(70);
    end();
    await pass(10);
    const after = [nodeA.publish("used"), nodeA.publish("unused")];
    expect(await nodes.until(() => nodeB.receivedOn("unused").length > 0)).toBeTrue();
    expect([nodeB.receivedOn("used"), nodeB.receivedOn("unused")]).toEqual([
      [before, after[0] ?? ""],
      [after[1] ?? ""],
    ]);
    expect(nodeB.lostChannels).toEqual([]);
  }, 20_000);

  test(`${what}: what A accepts on a channel that got its first subscriber meanwhile is reported lost`, async () => {
    const it = await pair();
    const { nodes, nodeA, nodeB } = it;
    for (const channel of ["quiet", "used"]) nodeA.publish(channel);
    await nodes.settle();
    await pass(10);
    const end = await begin(it);
    for (const channel of ["quiet", "used", "new", "unused"]) await nodeB.watch(channel);
    nodeA.join("quiet", "eve", 1);
    await pass(10);
    for (const channel of ["used", "new"]) nodeA.publish(channel);
    // Otherwise they may arrive after the outage.
    await nodes.settle();
    end();
    expect(await nodes.until(() => nodeB.lostChannels.length === 2)).toBeTrue();
    await pass(10);
    expect([[...nodeB.lostChannels].sort(), shown(nodeB, "quiet")]).toEqual([["new", "used"], ["eve"]]);
  }, 20_000);
}

test("an idle sequence continues without an outage, and no loss is reported", async () => {
  const { nodes, nodeA, nodeB } = await pair();
  await nodeB.watch("c");
  const published = [nodeA.publish("c")];
  await pass(100);
  published.push(nodeA.publish("c"));
  await nodes.settle();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([published, []]);
}, 20_000);

test("an outage that begins and ends while a subscription waits for answers: what was missed is reported lost", async () => {
  const { nodes, nodeA, nodeB, transportA, transportB } = await pair();
  transportA.suspend();
  const opened = nodeB.watch("c");
  transportB.setUp(false);
  nodeA.publish("c");
  await nodes.settle();
  transportB.setUp(true);
  await pass(10);
  await opened;
  transportA.resume();
  expect(await nodes.until(() => nodeB.lostChannels.length > 0)).toBeTrue();
  const after = nodeA.publish("c");
  await nodes.settle();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels]).toEqual([[after], ["c"]]);
}, 20_000);

test("a node alone answers subscriptions at once while it has no transport", async () => {
  const cluster = await memoryCluster(1);
  open = await TestCluster.of(async () => cluster, 1);
  const [node] = open.all as [TestNode];
  cluster.transports[0]?.setUp(false);
  let isAnswered = false;
  void node.watch("c").then(() => {
    isAnswered = true;
  });
  await Promise.resolve();
  expect(isAnswered).toBeTrue();
});
