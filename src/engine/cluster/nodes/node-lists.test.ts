/** Heartbeats say which nodes a node receives by what has changed, and each node still notices that it was not received. */
import { afterEach, expect, test } from "bun:test";
import { until } from "../../../../test/support/wait.ts";
import { memoryCluster } from "../../testing/memory-cluster.ts";
import { MemoryNetwork } from "../../testing/memory-transport.ts";
import { TestNode } from "../../testing/test-node.ts";
import type { ClusterEngine } from "../cluster-engine.ts";
import type { Heartbeat } from "../wire/messages.ts";
import { hasReceived, NodeList, type SentList, WHOLE_LIST_EVERY } from "./node-lists.ts";
import type { OtherNode } from "./nodes.ts";

const other = (name: string, readsChanges = true): OtherNode => ({
  name,
  id: name,
  lastMs: 0,
  connections: new Map(),
  countedMs: 0,
  readsChanges,
});

/** A list that is not whole in the next heartbeats by itself, and what a node called `me` makes of what it sends. */
function pair() {
  const list = new NodeList();
  const sender = other("sender");
  const next = (...names: string[]): SentList =>
    list.next(
      names.map((name) => other(name)),
      false,
    );
  const hears = (sent: SentList): boolean | undefined => {
    const heartbeat: Heartbeat = {
      kind: "heartbeat",
      node: "sender",
      connections: new Map(),
      isReconnected: false,
      part: 0,
      parts: 1,
      ...sent,
    };
    return hasReceived("me", sender, heartbeat);
  };
  for (let sent = next(); sent.list?.added !== undefined; ) sent = next();
  return { list, next, hears };
}

test("who is in the list is named once, and knows from then on that it is received", () => {
  const { next, hears } = pair();
  const sent = [next("a", "me"), next("a", "me"), next("a", "b", "me"), next("b", "me")];
  expect(sent.map(({ receivesFrom, list }) => [receivesFrom, list?.added, list?.removed])).toEqual([
    [[], ["a", "me"], []],
    [[], [], []],
    [[], ["b"], []],
    [[], [], ["a"]],
  ]);
  expect(sent.map(hears)).toEqual([true, true, true, true]);
});

test("who is removed knows it until it is in the list again", () => {
  const { next, hears } = pair();
  expect([next("me"), next("a"), next("a"), next("a", "me")].map(hears)).toEqual([true, false, false, true]);
});

test("after a change that was missed, the whole list is needed, and it tells the same to each", () => {
  const { list, next, hears } = pair();
  hears(next("me"));
  next("a");
  expect([hears(next("a")), hears(next("a", "b"))]).toEqual([undefined, undefined]);
  expect(hears(list.whole())).toBe(false);
  expect(hears(next("a", "b"))).toBe(false);
  expect(hears(list.next([other("me")], true))).toBe(true);
});

test("who was removed in a change that it has missed learns of it when it is added", () => {
  const { next, hears } = pair();
  hears(next("me"));
  next("a");
  expect([next("a", "me"), next("a", "me")].map(hears)).toEqual([false, true]);
});

test("the list is whole while there is a node that reads no changes, and from time to time", () => {
  const { list, next } = pair();
  const isWhole = (sent: SentList): boolean => sent.list?.added === undefined;
  expect(list.next([other("a"), other("old", false)], false)).toEqual({
    receivesFrom: ["a", "old"],
    list: { number: 1 },
  });
  const sent = Array.from({ length: 2 * (WHOLE_LIST_EVERY + 1) }, () => next("a"));
  expect(sent.filter(isWhole).length).toBe(2);
});

const engines: ClusterEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

test("a node that has missed a change asks for the list, and all state is requested if it was not received", async () => {
  const network = new MemoryNetwork(64 * 1024);
  const cluster = await memoryCluster(3, { heartbeatMs: 60 }, network);
  engines.push(...cluster.engines);
  const seen: string[] = [];
  const enqueue = network.enqueue.bind(network);
  network.enqueue = (published) => {
    seen.push(`${published.subject} ${Buffer.from(published.payload).toString()}`);
    enqueue(published);
  };
  const nodes = cluster.engines.map((engine, at) => new TestNode(`n${at}`, engine));
  for (const [at, node] of nodes.entries()) cluster.engines[at]?.attach(node);
  await until("all know each other", () => cluster.engines.every(({ others }) => others === 2), 10_000);
  // What follows says nothing new: the names are those of the senders.
  const beats = (from = 0): string[] => seen.slice(from).filter((one) => one.includes('"beat"'));
  const isShort = (beat: string): boolean => beat.includes(",[],[]]]");
  await until("heartbeats are short", () => beats(-6).length === 6 && beats(-6).every(isShort), 10_000);
  const [late, lost] = [cluster.transports[2], cluster.transports[0]];
  if (!late || !lost) throw new Error("there is no transport");
  // The first node hears nothing of the change with which the others forget the third one, nor a whole list after it.
  const before = seen.length;
  late.publish = () => undefined;
  const { receive } = lost;
  lost.receive = (subject, payload, replyTo) => {
    const text = Buffer.from(payload).toString();
    const isLost = text.includes('"beat"') && !isShort(text) && !subject.includes(".node.");
    return isLost ? 0 : receive.call(lost, subject, payload, replyTo);
  };
  await until("it asks", () => seen.slice(before).some((one) => one.includes('{"what":"list"}')), 10_000);
  await until(
    "it is answered",
    () => seen.slice(before).some((one) => /\.node\.\S+ \[2,"beat".*\["n0"\]/.test(one)),
    10_000,
  );
});
