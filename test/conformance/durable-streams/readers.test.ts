/** Readers that wait: how long they may, when they end, and how many there may be. */

import { expect, test } from "bun:test";
import { connect } from "node:net";
import { DurableStream, IdempotentProducer, stream } from "@durable-streams/client";
import { until } from "../../support/wait.ts";
import { fresh, ownWorldForTests } from "../raw/support/world.ts";
import { EventClient, keyQuery, refusalOf, StreamClient, withStreams } from "./support.ts";

const world = await ownWorldForTests({ env: { PARLEY_STREAM_POLL_SECONDS: "2", PARLEY_DRAIN_SECONDS: "1" } });
await withStreams(world);
const client = new StreamClient(world);
/** A second, and the time that the test's machine may take. */
const A_SECOND_MS = 3000;

const events = async (channel: string, credential?: string, query = "offset=-1&live=sse"): Promise<EventClient> => {
  const reader = new EventClient(await client.call("GET", channel, { credential, query }));
  await reader.until("control");
  return reader;
};

async function endsSoon(reader: EventClient): Promise<void> {
  const fromMs = performance.now();
  await reader.ended();
  expect(performance.now() - fromMs).toBeLessThan(A_SECOND_MS);
}

test("a reader ends when its key is revoked, its peer blocked, or its token expires", async () => {
  const channel = await client.create();
  const key = await world.admin.createKey(world.app._id);
  const open = await world.admin.createPublishable(world.app._id);
  const peer = fresh("blocked");
  const byKey = await events(channel, key.credential);
  const byPublic = await events(channel, "", `${keyQuery(open)}&offset=-1&live=sse`);
  const byPeer = await events(channel, world.token({ sub: peer }));
  const byToken = await events(channel, world.token({ exp: Math.floor(Date.now() / 1000) + 2 }));
  const stays = await events(channel, world.token());
  await world.admin.revoke(key.keyId);
  await endsSoon(byKey);
  await world.admin.patchKey(open.keyId, { actions: ["publish"] });
  await endsSoon(byPublic);
  expect((await world.rest("DELETE", `/v1/peers/${peer}?blockSec=60`)).status).toBe(200);
  await endsSoon(byPeer);
  await byToken.ended();
  await client.append(channel, "1");
  expect(await stays.until("data")).toBe("[1]");
  await stays.close();
});

test("a long poll whose key is revoked is refused", async () => {
  const channel = await client.create();
  const key = await world.admin.createKey(world.app._id);
  const poll = client.call("GET", channel, { credential: key.credential, query: "offset=-1&live=long-poll" });
  await waiting(1);
  await world.admin.revoke(key.keyId);
  expect(await refusalOf(await poll)).toBe("401 unauthorized");
});

test("readers end with their stream, and begin with the next one of its name", async () => {
  const channel = await client.create();
  const first = await events(channel);
  const poll = client.call("GET", channel, { query: "offset=-1&live=long-poll" });
  expect((await client.call("DELETE", channel)).status).toBe(204);
  await first.ended();
  expect(await refusalOf(await poll)).toBe("404 stream_not_found");
  expect((await client.call("PUT", channel, { headers: { "Content-Type": "text/plain" } })).status).toBe(201);
  const second = await events(channel);
  await client.append(channel, " one\r\ntwo\n three", "text/plain");
  expect(await second.until("data")).toBe(" one\ntwo\n three");
  await second.close();
});

test("closing ends readers, and an EventSource that comes back is sent away", async () => {
  const channel = await client.create();
  const reader = await events(channel);
  await client.call("POST", channel, {
    headers: { "Stream-Closed": "true", "Content-Type": "application/json" },
    body: "1",
  });
  expect(await reader.until("data")).toBe("[1]");
  const control = await reader.next();
  expect(JSON.parse(control?.data ?? "")).toEqual({
    streamNextOffset: control?.id as string,
    upToDate: true,
    streamClosed: true,
  });
  await reader.ended();
  const back = await client.call("GET", channel, {
    query: "offset=-1&live=sse",
    headers: { "Last-Event-ID": control?.id ?? "" },
  });
  expect(back.status).toBe(204);
});

test("an EventSource that comes back goes on behind the last event", async () => {
  const channel = await client.create();
  const offset = await client.append(channel, "1");
  await client.append(channel, "2");
  const headers = { "Last-Event-ID": offset };
  const reader = new EventClient(await client.call("GET", channel, { query: "offset=-1&live=sse", headers }));
  expect(await reader.until("data")).toBe("[2]");
  await reader.close();
});

test("data has the same id as the control behind it: an EventSource that is cut between them repeats nothing", async () => {
  const channel = await client.create();
  await client.append(channel, "1");
  const reader = new EventClient(await client.call("GET", channel, { query: "offset=-1&live=sse" }));
  const [first, control] = [await reader.next(), await reader.next()];
  expect(first).toEqual({ event: "data", data: "[1]", id: control?.id });
  const offset = await client.append(channel, "2");
  expect(await reader.next()).toEqual({ event: "data", data: "[2]", id: offset });
  await reader.close();
});

test("readers count as connections, and as many as 100 of one peer may wait", async () => {
  const { admin } = world;
  const own = await admin.createApp();
  await admin.must("PATCH", `/apps/${own._id}`, {
    channelRules: [{ pattern: "kept/**", history: { messages: 9, seconds: 60 } }],
  });
  await admin.must("PATCH", `/apps/${own._id}`, { plan: { maxConcurrentConnections: 2 } });
  const key = await admin.createKey(own._id);
  const two = [await events("kept/a", key.credential), await events("kept/a", key.credential)];
  expect(
    await refusalOf(await client.call("GET", "kept/a", { credential: key.credential, query: "offset=now&live=sse" })),
  ).toBe("429 rate_limited");
  await Promise.all(two.map((one) => one.close()));
  await waiting(0);
  const channel = await client.create();
  const token = world.token();
  const all = await Promise.all(Array.from({ length: 100 }, () => events(channel, token)));
  expect(await refusalOf(await client.call("GET", channel, { credential: token, query: "offset=-1&live=sse" }))).toBe(
    "429 rate_limited",
  );
  await client.append(channel, "1");
  expect(await Promise.all(all.map((one) => one.until("data")))).toEqual(Array(100).fill("[1]"));
  await Promise.all(all.map((one) => one.close()));
  await waiting(0);
});

test("a reader that takes nothing holds up no one, and goes on where it was", async () => {
  const channel = await client.create("text/plain");
  const { hostname, port } = new URL(world.url);
  const socket = connect(Number(port), hostname);
  const auth = `Authorization: Bearer ${world.key.credential}`;
  socket.write(`GET /v1/stream/${channel}?offset=-1&live=sse HTTP/1.1\r\nHost: a\r\n${auth}\r\n\r\n`);
  const PARTS = 160;
  let taken = "";
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.pause();
  const quick = await events(channel);
  const sent: string[] = [];
  // More than the sockets of both sides hold, each part within what a stream may have.
  for (let at = 0; at < PARTS; at++) {
    const part = `<${at}>${"x".repeat(60_000)}`;
    sent.push(part);
    await client.append(channel, part, "text/plain");
  }
  const whole = sent.join("");
  let read = "";
  while (read.length < whole.length) read += await quick.until("data");
  expect(read === whole).toBe(true);
  await quick.close();
  socket.on("data", (bytes) => {
    taken += bytes.toString();
  });
  socket.resume();
  await until("the rest is taken", () => taken.includes(`<${PARTS - 1}>`));
  socket.destroy();
});

test("the public client reads, follows, and writes exactly once", async () => {
  const url = `${world.url}/v1/stream/${fresh("public")}`;
  const headers = { Authorization: `Bearer ${world.key.credential}` };
  const handle = await DurableStream.create({ url, headers, contentType: "application/json" });
  const producer = new IdempotentProducer(handle, "p1", { autoClaim: true });
  for (let n = 0; n < 50; n++) producer.append(JSON.stringify({ n }));
  await producer.flush();
  const numbers = Array.from({ length: 50 }, (_, n) => ({ n }));
  expect(await (await stream({ url, headers, offset: "-1", live: false })).json()).toEqual(numbers);
  for (const live of ["long-poll", "sse"] as const) {
    const seen: unknown[] = [];
    const followed = await stream({ url, headers, offset: "-1", live });
    followed.subscribeJson(async ({ items }) => void seen.push(...items));
    await until("all is seen", () => seen.length >= 50);
    expect(seen).toEqual(numbers);
    followed.cancel();
  }
  await producer.close();
  // With the token in its address, as a page without headers has it.
  const token = await stream({ url: `${url}?token=${world.token()}`, offset: "-1", live: false });
  expect(((await token.json()) as unknown[]).length).toBe(50);
});

test("no query string is logged", async () => {
  const channel = await client.create();
  const token = world.token();
  await client.call("GET", channel, { credential: "", query: `token=${token}&offset=-1` });
  await client.call("GET", channel, { credential: "", query: `token=${token}x&offset=-1` });
  expect(world.server.output).not.toContain(token.slice(-40));
});

test("a node that stops ends its readers in order", async () => {
  const channel = await client.create();
  const reader = await events(channel);
  const poll = client.call("GET", channel, { query: "offset=-1&live=long-poll" });
  await waiting(2);
  world.server.signal("SIGTERM");
  await reader.ended();
  expect((await poll).status).toBe(204);
  expect(await world.server.exited).toBe(0);
});

async function readers(): Promise<number> {
  const text = await (
    await fetch(`${world.url}/metrics`, { headers: { Authorization: `Bearer ${world.admin.token}` } })
  ).text();
  return Number(/^parley_stream_readers (\d+)$/m.exec(text)?.[1]);
}

const waiting = (count: number): Promise<number> => until(`${count} readers`, async () => (await readers()) === count);
