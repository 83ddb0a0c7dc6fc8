/** Webhooks about connections, channels, peers and messages, as receivers get them. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { until } from "../support/wait.ts";
import { WebhookReceiver } from "../support/webhooks/receiver.ts";
import { Reported, sumsOf } from "../support/webhooks/reported.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" } });
const receiver = new WebhookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  expect(receiver.wrong).toEqual([]);
});

interface World {
  readonly app: string;
  readonly key: SecretKey;
  readonly add: (path: string, fields: Json) => Promise<string>;
  readonly connect: (sub: string, claims?: Json) => Promise<Wire>;
}

async function fresh(): Promise<World> {
  const app = await server.admin.createApp();
  const key = await server.admin.createKey(app._id);
  const add = async (path: string, fields: Json): Promise<string> => {
    const url = receiver.url(path);
    const made = await server.admin.must<{ _id: string; secret: string }>("POST", `/apps/${app.name}/webhooks`, {
      url,
      ...fields,
    });
    receiver.expect(path, made.secret);
    return made._id;
  };
  const connect = async (sub: string, claims: Json = {}): Promise<Wire> => {
    const outcome = await attempt(server.url, {
      query: tokenQuery(selfSigned(key.keyId, key.secret, { sub, ...claims })),
    });
    if (outcome instanceof Wire) return outcome;
    throw new Error(`refused: ${outcome.status}`);
  };
  return { app: app.name, key, add, connect };
}

const subscribed = async (wire: Wire, channel: string): Promise<void> =>
  expect((await wire.request({ type: "subscribe", channel })).type).toBe("ack");

test("who connects, joins, leaves and goes; a channel is vacated when no one comes back within 5 s", async () => {
  const { add, connect, key } = await fresh();
  const before = await connect("old");
  await subscribed(before, "room");
  await add("/people", { events: ["connection.*", "channel.*", "peer.*"], channelPatterns: ["room", "other/*"] });
  const ann = await connect("ann", { peerMetadata: { name: "Ann" }, metadata: { private: "mine" } });
  await subscribed(ann, "room");
  await subscribed(ann, "unasked");
  await until("ann has joined", () => receiver.of("/people", "peer.joined").length === 1);
  const [opened] = receiver.of("/people", "connection.opened");
  expect(opened?.data).toMatchObject({ peerId: "ann", keyId: key.keyId, peerMetadata: { name: "Ann" } });
  expect(JSON.stringify(opened?.data)).not.toContain("mine");
  expect(receiver.of("/people", "peer.joined")[0]?.data).toMatchObject({
    channel: "room",
    peerId: "ann",
    metadata: { name: "Ann" },
  });
  // It was occupied before anyone asked.
  expect(receiver.of("/people", "channel.occupied")).toEqual([]);
  ann.close(1000, "done");
  await until("ann has gone", () => receiver.of("/people", "connection.closed").length === 1);
  expect(receiver.of("/people", "connection.closed")[0]?.data).toMatchObject({
    peerId: "ann",
    connectionId: opened?.data.connectionId,
    code: 1000,
    reason: "done",
  });
  before.close(1000);
  await until("the channel is vacated", () => receiver.of("/people", "channel.vacated").length === 1);
  expect(receiver.of("/people", "peer.left").map(({ data }) => data.peerId)).toEqual(["ann", "old"]);
  const reported = new Reported(receiver.of("/people"));
  expect(reported.missing).toEqual([]);
  // The end of what was there before has no beginning.
  expect(reported.wrong.map((text) => text.split(" ")[1])).toEqual([
    "connection.closed",
    "peer.left",
    "channel.vacated",
  ]);
  expect(reported.sums).toEqual(sumsOf([], []));
});

test("messages of channels with history, in order, and `gap` where some are gone", async () => {
  const { app, add, connect, key } = await fresh();
  await server.admin.must("PATCH", `/apps/${app}`, {
    channelRules: [{ pattern: "log/*", history: { messages: 1000, seconds: 3600 } }],
  });
  const ann = await connect("ann", { peerMetadata: { n: 1 } });
  const publish = async (channel: string, data: unknown): Promise<void> =>
    expect((await ann.request({ type: "publish", channel, data })).type).toBe("ack");
  await publish("log/a", "before");
  await add("/messages", { events: ["message.published"], channelPatterns: ["log/*"] });
  const texts = (): unknown[] =>
    receiver
      .of("/messages")
      .toSorted((a, b) => a.data.seq - b.data.seq)
      .flatMap(({ data }) => (data.messages as { data: unknown }[]).map((one) => one.data));
  const all = Array.from({ length: 250 }, (_, i) => `m${i}`);
  for (const text of all) await publish("log/a", text);
  await publish("plain", "not kept");
  await until("all messages have come", () => texts().length >= all.length);
  expect(texts()).toEqual(all);
  // A copy: toMatchObject puts its matchers into what it is given.
  const first = structuredClone(receiver.of("/messages")[0]?.data);
  expect(first).toMatchObject({ channel: "log/a" });
  expect(first?.gap).toBeUndefined();
  expect(first).toMatchObject({
    messages: expect.arrayContaining([expect.objectContaining({ from: "ann", metadata: { n: 1 }, offset: 2 })]),
  });
  const deleted = await call(`${server.url}/v1/channels/log%2Fa/history`, { method: "DELETE", bearer: key.credential });
  expect(deleted.status).toBe(200);
  await publish("log/a", "after");
  await until("what follows has come", () => texts().includes("after"));
  expect(receiver.of("/messages").at(-1)?.data).toMatchObject({ gap: true, channel: "log/a" });
});

test("a quota that is used up, once per period", async () => {
  const { app, add, connect } = await fresh();
  await server.admin.must("PATCH", `/apps/${app}`, { plan: { name: "small", maxMessagesPerPeriod: 3 } });
  await add("/quota", { events: ["quota.reached"] });
  const ann = await connect("ann");
  const answers: string[] = [];
  for (let i = 0; i < 8; i++) answers.push((await ann.request({ type: "publish", channel: "c", data: i })).type);
  expect(answers.filter((type) => type === "error").length).toBe(5);
  await until("it is said", () => receiver.of("/quota").length > 0);
  expect(receiver.of("/quota").map(({ data }) => [data.kind, data.limit])).toEqual([["messages", 3]]);
});
