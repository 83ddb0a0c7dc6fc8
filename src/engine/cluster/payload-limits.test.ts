/** The payload limit of a transport, beyond the engine's suite: lost parts, long requests, a limit that changes. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { until as polled } from "../../../test/support/wait.ts";
import { CHANNEL_MAX_BYTES, MESSAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { freePort } from "../../testing/ports.ts";
import { type MemberState, UNAVAILABLE } from "../engine.ts";
import { TestCluster } from "../testing/cluster.ts";
import { type NatsCluster, natsCluster } from "../testing/nats-cluster.ts";
import { type NatsServer, startNats } from "../testing/nats-server.ts";
import { plain } from "../testing/rosters.ts";
import { APP, TestNode } from "../testing/test-node.ts";
import type { Transport } from "../transport/transport.ts";
import type { ClusterEngine } from "./cluster-engine.ts";
import { MESSAGE_MAX_CHARS } from "./wire/payload.ts";

const NARROW = "max_payload: 64KB";
const WAIT_MS = 15_000;

let server: NatsServer;
beforeAll(async () => {
  server = await startNats([], undefined, NARROW);
});
afterAll(() => server?.stop());

let nodes: TestCluster | undefined;
afterEach(async () => {
  const open = nodes;
  nodes = undefined;
  open?.check();
  await open?.stop();
});

async function pair(
  at: Pick<NatsServer, "url"> = server,
): Promise<{ nodeA: TestNode; nodeB: TestNode; faults: unknown[] }> {
  const faults: unknown[] = [];
  const made = await TestCluster.of((size) => natsCluster(at, size, { fault: (error) => faults.push(error) }), 2);
  nodes = made;
  const [nodeA, nodeB] = made.all as [TestNode, TestNode];
  return { nodeA, nodeB, faults };
}

const settle = async (): Promise<void> => nodes?.settle();

const until = (condition: () => boolean): Promise<unknown> =>
  polled("the condition holds", () => settle().then(condition), WAIT_MS);

const members = (count: number): MemberState[] =>
  Array.from({ length: count }, (_, at) => ({
    peerId: `p${at}`,
    since: at,
    node: "elsewhere",
    metadataJson: `{"x":"${"x".repeat(4000)}"}`,
  }));

const transportOf = (node: TestNode): Transport =>
  Reflect.get(Reflect.get(node.engine, "wire") as object, "transport") as Transport;

/** Drops payloads that a node publishes to channels, by their position. */
function lose(node: TestNode, isLost: (at: number) => boolean): { readonly published: number } {
  const transport = transportOf(node);
  const publish = transport.publish.bind(transport);
  const count = { published: 0 };
  transport.publish = (subject, payload, replyTo) => {
    if (subject.includes(".lane.") && isLost(count.published++)) return;
    publish(subject, payload, replyTo);
  };
  return count;
}

describe("a lost part", () => {
  test.each([
    ["in the middle", (at: number) => at === 3],
    ["at the end", (at: number) => at > 10],
  ])("%s of an announcement is noticed and requested", async (_where, isLost) => {
    const { nodeA, nodeB, faults } = await pair();
    await nodeB.watch("c");
    const states = members(100);
    let isOn = true;
    const count = lose(nodeA, (at) => isOn && isLost(at));
    nodeA.joinAll("c", states);
    isOn = false;
    expect(count.published).toBeGreaterThan(10);
    await until(() => nodeB.roster("c")[nodeA.id]?.length === states.length);
    expect(nodeB.roster("c")).toEqual(plain([[nodeA.id, states]]));
    expect([nodeB.lostChannels, faults]).toEqual([[], []]);
  });

  test.each([0, 1])("of a large message, fragment %d, is noticed and requested", async (lost) => {
    const { nodeA, nodeB, faults } = await pair();
    await nodeB.watch("c");
    const count = lose(nodeA, (at) => at === lost);
    nodeA.padding = '"'.repeat(MESSAGE_MAX_BYTES / 2);
    const published = [nodeA.publish("c")];
    expect(count.published).toBe(2);
    nodeA.padding = "";
    published.push(nodeA.publish("c"));
    await until(() => nodeB.receivedOn("c").length === 2);
    expect([nodeB.receivedOn("c"), nodeB.lostChannels, faults]).toEqual([published, [], []]);
  });
});

test("a node that appears later is asked about very many channels with long names", async () => {
  const cluster: NatsCluster = await natsCluster(server, 1);
  const made = await TestCluster.of(async () => cluster, 1);
  nodes = made;
  const [nodeA] = made.all as [TestNode];
  // Quotes are escaped in JSON: 250 KB altogether.
  const channels = Array.from({ length: 500 }, (_, at) => `${at} `.padEnd(CHANNEL_MAX_BYTES, '"'));
  for (const channel of channels) await nodeA.watch(channel);
  const nodeB = new TestNode("late", await cluster.add());
  nodeB.engine.attach(nodeB);
  for (const channel of channels) nodeB.join(channel, "eve", 1);
  const known = (): number => channels.filter((channel) => nodeA.roster(channel)[nodeB.id]?.length === 1).length;
  await until(() => known() === channels.length);
});

test("a smaller limit after a reconnect is respected", async () => {
  const port = await freePort();
  let running = await startNats([], port);
  try {
    const { nodeA, nodeB, faults } = await pair(running);
    await nodeB.watch("c");
    const isUp = (): boolean => [nodeA, nodeB].every(({ engine }) => (engine as ClusterEngine).isUp);
    await running.stop();
    await until(() => !isUp());
    const states = members(300);
    // Announced during the outage: it gets sequence numbers and is requested later.
    nodeA.joinAll("c", states.slice(0, 200));
    running = await startNats([], port, NARROW);
    await until(isUp);
    nodeA.joinAll("c", states);
    nodeA.padding = "x".repeat(MESSAGE_MAX_BYTES);
    const published = nodeA.publish("c");
    await until(
      () => nodeB.roster("c")[nodeA.id]?.length === states.length && nodeB.receivedOn("c").includes(published),
    );
    expect(faults).toEqual([]);
    await nodes?.stop();
    nodes = undefined;
  } finally {
    await running.stop();
  }
});

describe("a missing response", () => {
  test("makes channels and members undefined instead of empty", async () => {
    const { nodeA, nodeB } = await pair();
    nodeB.join("c", "eve", 1);
    await settle();
    const [channels, peers] = [nodeB.localChannels, nodeB.localPeers];
    const failing = (): never => {
      throw new Error("thrown");
    };
    [nodeB.localChannels, nodeB.localPeers] = [failing, failing];
    const results = await Promise.all([nodeA.engine.channels(APP), nodeA.engine.members(APP, "c")]);
    expect(results).toEqual([undefined, undefined]);
    [nodeB.localChannels, nodeB.localPeers] = [channels, peers];
    expect(await nodeA.engine.channels(APP)).toEqual({
      counts: [{ channel: "c", peerIds: ["eve"], connections: 1 }],
      steps: 1,
    });
    // No response is expected from a node that is gone.
    await nodes?.close(nodeB);
    await settle();
    expect(await nodeA.engine.channels(APP)).toEqual({ counts: [], steps: 0 });
  });

  test("does so during an outage, too", async () => {
    const own = await startNats();
    const { nodeA } = await pair(own);
    await own.stop();
    await until(() => !(nodeA.engine as ClusterEngine).isUp);
    expect(await nodeA.engine.channels(APP)).toBeUndefined();
    expect(await nodeA.engine.members(APP, "c")).toBeUndefined();
    await nodes?.stop();
    nodes = undefined;
  });
});

test("a message above the limit is refused before it gets a sequence number", async () => {
  const { nodeA, nodeB, faults } = await pair();
  nodeB.setConnections("eve", 1);
  await nodeB.watch("c");
  const envelope = { from: "x", metadataJson: undefined, dataJson: `"${"x".repeat(MESSAGE_MAX_CHARS)}"` };
  expect(nodeA.engine.publish(APP, "c", envelope)).toBeFalse();
  expect(await nodeA.engine.send(APP, "eve", envelope, false)).toBe(UNAVAILABLE);
  const published = nodeA.publish("c");
  await settle();
  expect([nodeB.receivedOn("c"), nodeB.lostChannels, faults]).toEqual([[published], [], []]);
});
