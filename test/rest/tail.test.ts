/** The live tail of one node: what is in it, its filters, and how it begins and ends. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { type Guest, World } from "../conformance/raw/support/world.ts";
import { expectFrame } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { TailReader } from "../support/tail.ts";
import { until, within } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { url, admin, adminToken } = server;
const app = await admin.createApp();
const key = await admin.createKey(app._id);
const world = new World(server, app, key);
const tail = (query = ""): Promise<TailReader> => TailReader.open(url, adminToken, query);
const readers = async (): Promise<number> =>
  Number(/^parley_tail_readers (\d+)$/m.exec((await call(`${url}/metrics`)).text)?.[1]);
const noReaders = (): Promise<number> => until("no reader is left", async () => (await readers()) === 0);
/** Opened now and looked at by the last test. */
const patient = await tail();

const publish = (guest: Guest, channel: string, data: unknown = 1): void =>
  guest.wire.send({ type: "publish", channel, data });

describe("events", () => {
  test("of one connection, from connect to close, in order", async () => {
    await using reader = await tail(`app=${app.name}`);
    const ann = await world.member("chat/1", { sub: "ann" });
    publish(ann, "chat/1", { hidden: "payload" });
    // Several workers ask each other first.
    expect(await ann.wire.request({ type: "send", to: "nobody-here", data: 1 })).toMatchObject({ type: "error" });
    ann.wire.send({ type: "publish", channel: "_system/x", data: 1 });
    ann.wire.send({ type: "unsubscribe", channel: "chat/1", requestId: "u" });
    ann.wire.drop();
    await reader.event("close", ({ kind }) => kind === "close");
    const own = reader.events.filter(({ kind, peerId }) => kind !== "presence" && peerId === "ann");
    const common = {
      at: expect.any(Number),
      app: app._id,
      peerId: "ann",
      keyId: key.keyId,
      connectionId: expect.any(String),
      nodeId: expect.any(String),
    };
    expect(own.filter(({ kind }) => kind !== "send")).toEqual([
      { ...common, kind: "connect", address: "127.0.0.1" },
      { ...common, kind: "subscribe", channel: "chat/1" },
      { ...common, kind: "publish", channel: "chat/1", bytes: 20 },
      { ...common, kind: "error", code: "peer_not_found" },
      { ...common, kind: "error", channel: "_system/x", code: "channel_reserved" },
      { ...common, kind: "unsubscribe", channel: "chat/1" },
      { ...common, kind: "close", code: expect.any(Number) },
    ]);
    expect(new Set(own.map(({ connectionId }) => connectionId)).size).toBe(1);
    const gap = Math.abs(Date.now() - (own[0]?.at ?? 0));
    expect(gap).toBeLessThan(60_000);
    expect(reader.text).not.toContain("hidden");
  });

  test("direct messages name both peers, and presence says who joined and left", async () => {
    await using reader = await tail(`app=${app._id}`);
    const [ann, bob] = [await world.member("p/1", { sub: "ann" }), await world.member("p/1", { sub: "bob" })];
    ann.wire.send({ type: "send", to: "bob", data: "hi" });
    const sent = await reader.event("the send", ({ kind }) => kind === "send");
    expect(sent).toMatchObject({ peerId: "ann", to: "bob", bytes: 4, keyId: key.keyId });
    await reader.event("bob's join", (one) => one.peerId === "bob" && one.change === "joined");
    bob.wire.drop();
    await reader.event("bob's leave", (one) => one.peerId === "bob" && one.change === "left" && one.channel === "p/1");
    ann.wire.drop();
  });

  test("refused connects have their reason, and what was known of them", async () => {
    await using reader = await tail("kind=refuse");
    await attempt(url, { query: "key=pk_live_unknown" });
    expect(await reader.event("a refusal", ({ kind }) => kind === "refuse")).toMatchObject({
      code: "unauthorized",
      address: "127.0.0.1",
    });
  });

  test("publishes over REST are in it too", async () => {
    await using reader = await tail("channel=rest/*");
    await call(`${url}/v1/channels/rest%2F1/publish`, { bearer: key.credential, body: { data: 1 } });
    expect(await reader.event("the publish", ({ kind }) => kind === "publish")).toMatchObject({
      app: app._id,
      channel: "rest/1",
      bytes: 1,
    });
  });
});

describe("filters", () => {
  test.each([
    ["channel=f/*", ["f/1"]],
    ["channel=f/**", ["f/1", "f/1/2"]],
    ["channel=f/1/2&kind=publish", ["f/1/2"]],
    ["peer=zo*&kind=publish", ["f/1", "f/1/2", "g"]],
    ["kind=publish,dropped&peer=zoe", ["f/1", "f/1/2", "g"]],
  ])("%s", async (query, channels) => {
    await using reader = await tail(`${query}&app=${app.name}`);
    await using all = await tail(`app=${app.name}`);
    const zoe = await world.guest({ sub: "zoe" });
    for (const channel of ["f/1", "f/1/2", "g"]) publish(zoe, channel);
    await all.event("the last", ({ kind, channel }) => kind === "publish" && channel === "g");
    if (channels.length > 0) await reader.event("its last", ({ channel }) => channel === channels.at(-1));
    expect(reader.events.map(({ channel }) => channel)).toEqual(channels);
    zoe.wire.drop();
  });

  test.each([
    ["kinds=publish", "kinds: there is no such field; did you mean"],
    ["channel=a/***", "channel: a pattern must not contain '***'."],
    ["channel=", "channel: a pattern must not be empty."],
    [`channel=${"x".repeat(300)}`, "channel: a pattern must be at most 256 bytes."],
    ["peer=", "peer: must be a peer id"],
    ["peer=%C3%A9", "peer: must be a peer id"],
    ["key=sk_id_1:sk_secret_2", "key: must be an id"],
    ["app=nothing-of-that-name", "app: there is no application"],
    ["app=", "app: there is no application"],
    ["kind=publish,sneeze", "kind: must be one or more of connect, refuse"],
    ["kind=", "kind: must be one or more of"],
  ])("%s is refused, and the message names the field", async (query, message) => {
    const { status, body } = await admin.call("GET", `/tail?${query}`);
    expect([status, body.error]).toEqual([400, "invalid_request"]);
    expect(body.message).toStartWith(message);
  });
});

describe("the stream", () => {
  test("has the headers of Server-Sent Events, and is never buffered or cached", async () => {
    await using reader = await tail();
    const { headers } = reader.response;
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expectFrame({ headers });
    expect(reader.text).toStartWith(`retry: 2000\n\n: watching ${WORKERS === 1 ? "1 node" : `${WORKERS} nodes`}\n\n`);
  });

  test("needs an operator", async () => {
    for (const bearer of [key.credential, "wrong", app.secretKey])
      expect((await call(`${url}/api/internal/v1/tail`, { bearer })).status).toBe(401);
    expect((await call(`${url}/api/internal/v1/tail`)).status).toBe(401);
    const onAppHost = await call(`${url}/api/internal/v1/tail`, {
      bearer: adminToken,
      headers: { Host: `${app.name}.localhost` },
    });
    expect(onAppHost.status).toBe(404);
  });

  test("leaves nothing behind when its client goes away, or only asks for the head", async () => {
    for (let i = 0; i < 40; i++) {
      const { status, headers } = await call(`${url}/api/internal/v1/tail`, { method: "HEAD", bearer: adminToken });
      expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    }
    for (let i = 0; i < 3; i++) {
      const opened = await Promise.all(Array.from({ length: 8 }, () => tail()));
      expect(await readers()).toBe(9);
      await Promise.all(opened.map((reader) => reader[Symbol.asyncDispose]()));
      await until("only the patient reader is left", async () => (await readers()) === 1);
    }
  });

  test("goes away with its connection, also on one that has served other requests", async () => {
    const socket = connectTcp(Number(new URL(url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    const request = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`;
    socket.write(request("/healthz"));
    await until("the first response", () => received.includes('"ok"'));
    socket.write(request("/api/internal/v1/tail"));
    await until("the stream", () => received.includes(": watching"));
    expect(await readers()).toBe(2);
    socket.destroy();
    await until("its reader is gone", async () => (await readers()) === 1);
  });

  test("is open although nothing happens, and has a heartbeat", async () => {
    await patient.until("a heartbeat", () => patient.text.includes(": heartbeat\n\n"));
    expect(patient.isEnded).toBe(false);
    await patient[Symbol.asyncDispose]();
    await noReaders();
  });

  test("ends with the node, which does not wait for it", async () => {
    /** Shorter than the time that the node would wait. */
    const SHORTER_MS = 15_000;
    await using own = await startParley({ env: { PARLEY_DEMO: "off", PARLEY_DRAIN_SECONDS: "20" } });
    const reader = await TailReader.open(own.url, own.adminToken);
    const stopped = own.kill("SIGTERM");
    await within("the stream ends", reader.ended, SHORTER_MS);
    expect(await within("the node ends", stopped, SHORTER_MS)).toBe(0);
  });
});
