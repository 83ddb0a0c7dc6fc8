/** The live tail over two nodes, joined by NATS. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { TailReader } from "../support/tail.ts";
import { found, until, within } from "../support/wait.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
let one: Server;
let other: Server;
let key: SecretKey;
beforeAll(async () => {
  cluster = await Cluster.start();
  [one, other] = cluster.pair;
  key = await one.admin.createKey((await one.admin.createApp())._id);
});
afterAll(() => cluster.stop());

const tail = (server: Server, query = ""): Promise<TailReader> => TailReader.open(server.url, server.adminToken, query);

/** A tail of this number of nodes: one that has just started may not know all others yet. */
const tailOf = (nodes: number, server: Server): Promise<TailReader> =>
  found(`a tail of ${nodes} nodes`, async () => {
    const reader = await tail(server);
    if (reader.text.includes(`: watching ${nodes} nodes`)) return reader;
    await reader[Symbol.asyncDispose]();
    return undefined;
  });

async function publishOn(server: Server, peerId: string, channel: string): Promise<void> {
  const wire = await connect(server, tokenQuery(selfSigned(key.keyId, key.secret, { sub: peerId })));
  await wire.frame("welcome");
  wire.send({ type: "publish", channel, data: { a: 1 } });
  await wire.sync();
  wire.drop();
}

test("events of both nodes reach a reader of either, filtered", async () => {
  for (const server of [one, other]) {
    await using all = await tailOf(2, server);
    await using reader = await tail(server, "channel=both/*&kind=publish");
    for (const [at, node] of [one, other].entries()) {
      await publishOn(node, `peer-${at}`, `both/${at}`);
      await publishOn(node, `peer-${at}`, "elsewhere");
    }
    await reader.until("both publishes", () => reader.events.length >= 2);
    await all.until("all four", () => all.events.filter(({ kind }) => kind === "publish").length >= 4);
    expect(reader.events.map(({ channel, peerId }) => `${channel} ${peerId}`).sort()).toEqual([
      "both/0 peer-0",
      "both/1 peer-1",
    ]);
    expect(new Set(reader.events.map(({ nodeId }) => nodeId)).size).toBe(2);
    expect(reader.events.every((event) => !("data" in event))).toBe(true);
  }
});

test("more than a reader can take is counted, also on the way between nodes", async () => {
  await using reader = await tail(one, "kind=publish");
  const wire = await connect(other, tokenQuery(selfSigned(key.keyId, key.secret, { sub: "fast" })));
  await wire.frame("welcome");
  const count = 450;
  for (let i = 0; i < count; i++) wire.send({ type: "publish", channel: "c", data: i });
  await wire.sync();
  await reader.until("all are shown or counted", () => {
    const shown = reader.events.filter(({ kind }) => kind === "publish").length;
    return shown + reader.dropped >= count;
  });
  wire.drop();
});

/** Readers on other nodes that this node gathers for. */
const gathersFor = async (server: Server): Promise<number> =>
  Number(/^parley_tail_remote_readers (\d+)$/m.exec((await call(`${server.url}/metrics`)).text)?.[1]);

test("a reader that goes away ends the work of the other node at once", async () => {
  const reader = await tail(one);
  expect(await gathersFor(other)).toBe(1);
  await reader[Symbol.asyncDispose]();
  // Before the lease ends, which would be after six seconds.
  await until("the other node has stopped", async () => (await gathersFor(other)) === 0, 5500);
});

test("an operator who is revoked on one node loses the tail on the other, and both stop to gather", async () => {
  const made = await one.admin.must<{ _id: string; token: string }>("POST", "/operators", {
    name: "ann",
    role: "read",
  });
  const reader = await TailReader.open(other.url, made.token);
  expect(await gathersFor(one)).toBe(1);
  await one.admin.must("DELETE", `/operators/${made._id}`);
  await within("the stream ends", reader.ended, 5500);
  await until("the first node has stopped", async () => (await gathersFor(one)) === 0, 5500);
});

test("a node stops to gather for a reader whose node has died", async () => {
  const [third] = await cluster.add(1);
  if (!third) throw new Error("no third node");
  const reader = await tailOf(3, third);
  await third.kill("SIGKILL");
  await reader.ended;
  expect(await gathersFor(other)).toBe(1);
  await until("the lease has ended", async () => (await gathersFor(other)) === 0, 20_000);
  await using after = await tail(one, "kind=publish");
  await publishOn(other, "later", "c");
  await after.event("the publish", ({ peerId }) => peerId === "later");
});
