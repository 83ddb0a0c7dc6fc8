import { expect, test } from "bun:test";
import { roomSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { fakeConnection, TailCluster } from "../testing/tail-cluster.ts";

const A1 = anAppId("a1");
const OPEN = anAppId("open");

async function scene(query = {}) {
  const cluster = new TailCluster("n1");
  const [node] = cluster.nodes;
  if (!node) throw new Error("no node");
  const reader = node.open(query);
  await reader.open.nodes;
  return { cluster, node, reader, listener: node.source };
}

const at = expect.any(Number);
const refused = { at, kind: "refuse", address: "192.0.2.9", code: "internal_error", nodeId: "n1" };
const common = { at, app: A1, peerId: "ann", keyId: "pk_live_1", connectionId: "c-ann", nodeId: "n1" };

test("each event has its kind, where it happened, and what it is about", async () => {
  const { cluster, reader, listener } = await scene();
  const ann = fakeConnection(A1, "ann");
  listener.connected(ann);
  const unknown = {
    code: "crash",
    app: undefined,
    keyId: undefined,
    peerId: undefined,
    offered: undefined,
    address: "192.0.2.9",
  } as const;
  for (const origin of [null, "https://shop.example", "https://shop.example/?token=secret", "secret"])
    listener.refused({ ...unknown, origin });
  listener.subscribed(ann, "chat/1");
  listener.unsubscribed(ann, "chat/1");
  listener.published(A1, "chat/1", "ann", '"é"', ann);
  listener.published(A1, "chat/1", "backend", "1", undefined);
  listener.sent(A1, "bob", "ann", "{}", ann);
  listener.presence(A1, "chat/1", "bob", "joined");
  listener.failed(ann, "channel_reserved", "_system/x");
  listener.closed(ann, 4011);
  await cluster.pass(100);
  expect(reader.events).toEqual([
    { ...common, kind: "connect", address: "192.0.2.7" },
    refused,
    { ...refused, origin: "https://shop.example" },
    refused,
    refused,
    { ...common, kind: "subscribe", channel: "chat/1" },
    { ...common, kind: "unsubscribe", channel: "chat/1" },
    { ...common, kind: "publish", channel: "chat/1", bytes: 4 },
    { at, kind: "publish", app: A1, channel: "chat/1", peerId: "backend", bytes: 1, nodeId: "n1" },
    { ...common, kind: "send", to: "bob", bytes: 2 },
    { at, kind: "presence", app: A1, channel: "chat/1", peerId: "bob", change: "joined", nodeId: "n1" },
    { ...common, kind: "error", channel: "_system/x", code: "channel_reserved" },
    { ...common, kind: "close", code: 4011 },
  ]);
});

test("a filter on a peer finds what it sends and what is sent to it", async () => {
  const { cluster, reader, listener } = await scene({ peer: "bo*" });
  listener.sent(A1, "bob", "ann", "1", undefined);
  listener.sent(A1, "ann", "bob", "2", undefined);
  listener.sent(A1, "ann", "zoe", "3", undefined);
  await cluster.pass(100);
  expect(reader.events).toMatchObject([{ to: "bob" }, { peerId: "bob" }]);
});

test("what happens in rooms is shown with its application, and never what is said there", async () => {
  const { cluster, reader, listener } = await scene({ app: OPEN, payloads: true });
  listener.published(OPEN, "chat", "ann", '"hi"', undefined);
  listener.published(roomSpaceOf(OPEN), "_parley/room/1/chat", "ann", '"secret"', undefined);
  listener.sent(roomSpaceOf(OPEN), "bob", "ann", '"secret"', undefined);
  listener.presence(roomSpaceOf(OPEN), "_parley/room/1/room", "ann", "joined");
  await cluster.pass(100);
  expect(reader.events).toMatchObject([
    { kind: "publish", app: OPEN, data: "hi" },
    { kind: "publish", app: OPEN, bytes: 8 },
    { kind: "send", app: OPEN, bytes: 8 },
    { kind: "presence", app: OPEN },
  ]);
  expect(JSON.stringify(reader.events)).not.toContain("secret");
});

test("nothing listens unless a reader looks", async () => {
  const { node, reader } = await scene();
  expect(node.listener).toBe(node.source);
  reader.open.close();
  reader.open.close();
  expect(node.listener).toBeUndefined();
});

test.each([
  [{ channel: "chat/*" }, ["chat/1"]],
  [{ channel: "**" }, ["chat/1", "chat/1/2"]],
  [{ app: anAppId("other") }, []],
  [{ peer: "zoe" }, []],
  [{ key: "pk_live_1" }, []],
  [{ kinds: ["connect", "close"] as const }, []],
  [{ kinds: ["publish"] as const, peer: "ann", app: A1 }, ["chat/1", "chat/1/2"]],
])("the filter %j is applied", async (query, channels) => {
  const { cluster, node, reader } = await scene(query);
  node.publish(A1, "chat/1");
  node.publish(A1, "chat/1/2");
  await cluster.pass(100);
  expect(reader.events.map(({ channel }) => channel)).toEqual(channels as unknown[]);
});
