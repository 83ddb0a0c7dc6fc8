/** Attempts to deliver a direct message, while a node that has the peer does not read. */
import { afterEach, expect, test } from "bun:test";
import { until } from "../../../../test/support/wait.ts";
import { DEFERRED, type DirectAttempt, OVERTAKEN, type Sent, UNAVAILABLE } from "../../engine.ts";
import { type MemoryCluster, memoryCluster } from "../../testing/memory-cluster.ts";
import { APP, TestNode } from "../../testing/test-node.ts";

let cluster: MemoryCluster;
let nodes: TestNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.map(({ engine }) => engine.close()));
  expect(nodes.flatMap(({ violations }) => violations)).toEqual([]);
});

/** The node of the sender, one that expects eve back, and one that eve has returned to. */
async function three(heartbeatMs = 1000): Promise<[sender: TestNode, holder: TestNode, receiver: TestNode]> {
  // Time passes faster than it does, so that the timeouts of attempts are short.
  cluster = await memoryCluster(3, { heartbeatMs, nowMs: () => performance.now() * 4 });
  nodes = cluster.engines.map((engine, at) => new TestNode(`node-${at}`, engine));
  for (const node of nodes) node.engine.attach(node);
  const [sender, holder, receiver] = nodes as [TestNode, TestNode, TestNode];
  holder.holdPeer("eve");
  await cluster.settle();
  return [sender, holder, receiver];
}

interface Sending {
  readonly attempt: DirectAttempt;
  tryOnce(): Sent;
}

let lastMessage = 0;

function sending(node: TestNode, to = "eve"): Sending {
  const dataJson = JSON.stringify({ node: node.id, n: ++lastMessage });
  const envelope = { from: "sender", metadataJson: undefined, dataJson };
  const onDeferred = (): void => undefined;
  const attempt = {
    spaceId: APP,
    to,
    onDeferred,
    number: 0,
    firstMs: 0,
    isHeld: false,
    isUnanswered: false,
    delivered: 0,
    isNext: false,
    isLast: false,
  };
  return { attempt, tryOnce: () => node.engine.send(APP, to, envelope, false, attempt) };
}

test("a message that was tried several times while its receiver's node did not read arrives once, and is confirmed", async () => {
  const [sender, , receiver] = await three();
  receiver.setConnections("eve", 1);
  await cluster.settle();
  cluster.transports[2]?.suspend();
  const first = sending(sender);
  const second = sending(sender);
  expect(await Promise.all([first.tryOnce(), second.tryOnce()])).toEqual([DEFERRED, DEFERRED]);
  first.attempt.isNext = true;
  expect(await first.tryOnce()).toBe(DEFERRED);
  cluster.transports[2]?.resume();
  await cluster.settle();
  expect(receiver.deliveredTo("eve")).toHaveLength(2);
  // Each by the receipt of its first attempt.
  expect([first.attempt.delivered, second.attempt.delivered]).toEqual([1, 1]);
});

test("what was sent behind a message that a node has answered as deferred is not delivered before it", async () => {
  const [sender, holder] = await three();
  const [one, two] = [sending(sender), sending(sender)];
  const held = one.tryOnce();
  await cluster.settle();
  // The peer is back before the sender's node knows that it was held.
  holder.setConnections("eve", 1);
  expect(await Promise.all([held, two.tryOnce()])).toEqual([DEFERRED, DEFERRED]);
  expect(holder.deliveredTo("eve")).toEqual([]);
  for (const { attempt, tryOnce } of [one, two]) {
    attempt.isNext = true;
    expect(await tryOnce()).toBe(1);
  }
  // In the order of their numbers: TestNode records it otherwise.
  expect(holder.deliveredTo("eve")).toHaveLength(2);
});

test("a node that has answered a message as deferred gets what is sent after another node has delivered it", async () => {
  const [sender, holder, receiver] = await three();
  receiver.setConnections("eve", 1);
  await cluster.settle();
  expect(await sending(sender).tryOnce()).toBe(1);
  // Her second connection.
  holder.setConnections("eve", 1);
  for (const sent of [1, 2]) {
    expect(await sending(sender).tryOnce()).toBe(2);
    await cluster.settle();
    expect(holder.deliveredTo("eve")).toHaveLength(sent);
  }
  expect(receiver.deliveredTo("eve")).toHaveLength(3);
});

test("so does what is tried once, as a message to the sender's own peer", async () => {
  const [sender, holder] = await three();
  expect(await sender.send("eve").count).toBe(DEFERRED);
  holder.setConnections("eve", 1);
  expect(await sender.send("eve").count).toBe(1);
});

test("a message behind which a later one was delivered is not delivered any more, and its sender does not know", async () => {
  const [sender, , receiver] = await three();
  const overtaken = sending(sender);
  expect(await overtaken.tryOnce()).toBe(DEFERRED);
  receiver.setConnections("eve", 1);
  await cluster.settle();
  expect(await sending(sender).tryOnce()).toBe(1);
  overtaken.attempt.isNext = true;
  expect(await overtaken.tryOnce()).toBe(OVERTAKEN);
  expect(receiver.deliveredTo("eve")).toHaveLength(1);
});

test("the last attempt says that no one has the peer only if every node has answered", async () => {
  const [sender, , receiver] = await three();
  const certain = sending(sender);
  certain.attempt.isLast = true;
  expect(await certain.tryOnce()).toBe(DEFERRED);
  receiver.setConnections("eve", 1);
  await cluster.settle();
  cluster.transports[2]?.suspend();
  const unknown = sending(sender);
  unknown.attempt.isLast = true;
  expect(await unknown.tryOnce()).toBe(UNAVAILABLE);
  cluster.transports[2]?.resume();
});

test("nor if a node has fallen silent since the first attempt: it may be suspended, with the message in its queue", async () => {
  const [sender, , receiver] = await three(200);
  const unknown = sending(sender);
  expect(await unknown.tryOnce()).toBe(DEFERRED);
  cluster.transports[2]?.setUp(false);
  await until("the receiver is gone", () => sender.gone.includes(receiver.id));
  Object.assign(unknown.attempt, { isNext: true, isLast: true });
  expect(await unknown.tryOnce()).toBe(UNAVAILABLE);
});

test("a node that sends its farewell instead of an answer has no connection of the peer", async () => {
  const [sender, , receiver] = await three();
  cluster.transports[2]?.suspend();
  const count = sending(sender, "absent").tryOnce();
  await cluster.settle();
  await receiver.engine.close();
  expect(await count).toBe(0);
});

/** Eve has connections on two nodes, both of which have got a message of the sender. One of them cannot be reached now. */
async function oneCutOff(): Promise<[sender: TestNode, cutOff: TestNode, other: TestNode]> {
  const [sender, cutOff, other] = await three();
  for (const node of [cutOff, other]) node.setConnections("eve", 1);
  await cluster.settle();
  await sender.send("eve").count;
  await cluster.settle();
  cluster.transports[1]?.setUp(false);
  return [sender, cutOff, other];
}

test("a node with connections of the peer cannot be reached: that others have delivered a message is not enough", async () => {
  const [sender, cutOff] = await oneCutOff();
  expect(await sender.send("eve").count).toBe(UNAVAILABLE);
  cluster.transports[1]?.setUp(true);
  await cluster.settle();
  expect(await sender.send("eve").count).toBe(2);
  expect(cutOff.deliveredTo("eve")).toHaveLength(2);
});

test("nor is that the sender's own node has", async () => {
  const [sender, , other] = await oneCutOff();
  const envelope = { from: "sender", metadataJson: undefined, dataJson: "1" };
  const send = (): Sent => sender.engine.send(APP, "eve", envelope, true);
  other.setConnections("eve", 0);
  await cluster.settle();
  expect(await send()).toBe(UNAVAILABLE);
  cluster.transports[1]?.setUp(true);
  await cluster.settle();
});

test("a node whose connections of the peer have ended is awaited once", async () => {
  const [sender, ended, other] = await three();
  for (const node of [ended, other]) node.setConnections("eve", 1);
  await cluster.settle();
  await sender.send("eve").count;
  await cluster.settle();
  ended.setConnections("eve", 0);
  await cluster.settle();
  for (let n = 0; n < 2; n++) expect(await sender.send("eve").count).toBe(1);
});
