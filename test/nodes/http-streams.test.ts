/** Streams over HTTP on two nodes with PostgreSQL and NATS: a node is killed, PostgreSQL stops for a while, and a stream is deleted under its readers. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { IS_FULL, SLACK_MS } from "../support/slack.ts";
import { type Answered, codingOf, type StreamName } from "../support/streams/http.ts";
import { type StreamApp, StreamLoad, type StreamLoadOptions, streamApp, streamName } from "../support/streams/load.ts";
import { until, within } from "../support/wait.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(600_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_300);
const SIZE: Omit<StreamLoadOptions, "seed"> = IS_FULL
  ? { streams: 2, producers: 3, plain: 2, readers: 2 }
  : { streams: 1, producers: 2, plain: 1, readers: 1 };
const KILLS = IS_FULL ? 5 : 1;
const FROZEN_MS = 3000;
/** How long the service tries to find out what became of a write. */
const UNANSWERED_MS = 10_000;
const ROUNDS = IS_FULL ? 100 : 20;
const JSON_TYPE = "application/json";

let cluster: Cluster;
let app: StreamApp;
let running: readonly Server[];
beforeAll(async () => {
  const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_FRAMES_PER_SECOND: "0" };
  cluster = await Cluster.start({ env, ownPostgres: true });
  running = cluster.pair;
  app = await streamApp(cluster.pair[0].admin, () => running.map(({ url }) => url));
  const { channel } = await created();
  const isKnown = async (): Promise<boolean> =>
    (await Promise.all(app.http.urls().map((url) => app.http.ask(channel, { url })))).every(
      ({ status }) => status === 200,
    );
  await until("both nodes know the rule", isKnown);
});
afterAll(() => cluster.stop());

async function created(): Promise<StreamName & { readonly from: string }> {
  const stream = streamName(JSON_TYPE);
  return { ...stream, from: await app.http.create(stream) };
}

const post = (channel: string, value: string, url: string, headers: Record<string, string> = {}) =>
  app.http.ask(channel, {
    method: "POST",
    url,
    headers: { "Content-Type": JSON_TYPE, ...headers },
    body: codingOf({ type: JSON_TYPE }).encode([value]),
  });

async function valuesOf(channel: string): Promise<readonly string[]> {
  const { bytes } = await app.http.ask(channel, { query: { offset: "-1" } });
  return codingOf({ type: JSON_TYPE }).decode(bytes);
}

async function subscribed(node: Server, channel: string, recover: string): Promise<Wire> {
  const { keyId, secret } = app.key;
  const wire = await connect(
    node,
    `token=${encodeURIComponent(selfSigned(keyId, secret, { permissions: ["subscribe"] }))}`,
  );
  await wire.frame("welcome");
  await wire.request({ type: "subscribe", channel, recover });
  return wire;
}

test(`a node is killed ${KILLS} times, and PostgreSQL stops: each value once, in order, for every reader (seed ${SEED})`, async () => {
  const [one] = cluster.pair;
  await using load = await StreamLoad.on(app, { seed: SEED, ...SIZE });
  for (let kill = 0; kill < KILLS; kill++) {
    await load.flowing();
    const victim = running.at(-1);
    running = [one];
    await victim?.kill("SIGKILL");
    const added = cluster.add(1);
    await load.flowing();
    running = [one, ...(await added)];
  }
  await load.flowing();
  for (const frozenMs of IS_FULL ? [FROZEN_MS, FROZEN_MS + UNANSWERED_MS] : [FROZEN_MS]) {
    await cluster.postgres.freeze();
    await Bun.sleep(frozenMs);
    await cluster.postgres.thaw();
    await load.flowing();
  }
  await load.settle("kill -9 of a node, frozen PostgreSQL");
});

test("the same write of a producer, to both nodes at once, is stored once", async () => {
  const { channel } = await created();
  for (let seq = 0; seq < ROUNDS; seq++) {
    const headers = { "Producer-Id": "p", "Producer-Epoch": "0", "Producer-Seq": String(seq) };
    const answers = await Promise.all(app.http.urls().map((url) => post(channel, `v${seq}`, url, headers)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 204]);
  }
  expect(await valuesOf(channel)).toEqual(Array.from({ length: ROUNDS }, (_, seq) => `v${seq}`));
});

test("writes while PostgreSQL does not answer are answered when it does, and stored once", async () => {
  const { channel } = await created();
  await cluster.postgres.freeze();
  const values = Array.from({ length: 40 }, (_, nr) => `v${nr}`);
  const urls = app.http.urls();
  const writing = Promise.all(values.map((value, nr) => post(channel, value, urls[nr % urls.length] ?? "")));
  await Bun.sleep(FROZEN_MS);
  await cluster.postgres.thaw();
  expect(new Set((await writing).map(({ status }) => status))).toEqual(new Set([204]));
  expect((await valuesOf(channel)).toSorted()).toEqual(values.toSorted());
});

test("writes that the store does not answer in time get 503 and are counted; repeated, each is stored once", async () => {
  const { channel } = await created();
  const unconfirmed = async (): Promise<number> => {
    const nodes = await Promise.all(running.map(readMetrics));
    return nodes.reduce((sum, metrics) => sum + metrics.get("parley_stream_unconfirmed_writes_total"), 0);
  };
  const before = await unconfirmed();
  const urls = app.http.urls();
  const values = Array.from({ length: 12 }, (_, nr) => `v${nr}`);
  const write = (value: string, nr: number): Promise<Answered> => {
    const headers = { "Producer-Id": value, "Producer-Epoch": "0", "Producer-Seq": "0" };
    return post(channel, value, urls[nr % urls.length] ?? "", headers);
  };
  await cluster.postgres.freeze();
  const beganMs = performance.now();
  const first = await Promise.all(values.map(write)).finally(() => cluster.postgres.thaw());
  expect(first.map(({ status }) => status)).toEqual(values.map(() => 503));
  expect(first.map(({ headers }) => headers.get("retry-after"))).toEqual(values.map(() => "1"));
  expect(Buffer.from(first[0]?.bytes ?? []).toString()).toContain("backend_error");
  expect(performance.now() - beganMs).toBeGreaterThan(UNANSWERED_MS - 500);
  expect(performance.now() - beganMs).toBeLessThan(UNANSWERED_MS + 2000 + SLACK_MS);
  expect((await unconfirmed()) - before).toBe(values.length);
  await Promise.all(
    values.map((value, nr) => until("it is stored", async () => [200, 204].includes((await write(value, nr)).status))),
  );
  // All of them once more, when nothing is in doubt any more.
  expect((await Promise.all(values.map(write))).map(({ status }) => status)).toEqual(values.map(() => 204));
  expect((await valuesOf(channel)).toSorted()).toEqual(values.toSorted());
});

test("a stream that is deleted, and created anew: its readers end, and what they held is of no use", async () => {
  const stream = await created();
  const { channel, from } = stream;
  const { next } = await post(channel, "first", app.http.url);
  const wires: Wire[] = [];
  const polls: Promise<unknown>[] = [];
  const events: Response[] = [];
  for (const node of running) {
    wires.push(await subscribed(node, channel, from));
    polls.push(app.http.ask(channel, { url: node.url, query: { offset: next, live: "long-poll" } }));
    events.push(await app.http.open(channel, { url: node.url, query: { offset: next, live: "sse" } }));
  }
  const streams = events.map((response) => response.text());
  expect((await app.http.ask(channel, { method: "DELETE" })).status).toBe(204);
  await within("readers end", Promise.all([...polls, ...streams]));
  for (const wire of wires) expect(await wire.closed()).toMatchObject({ code: 1001 });
  for (const url of app.http.urls()) {
    for (const live of [{}, { live: "long-poll" }, { live: "sse" }])
      expect((await app.http.ask(channel, { url, query: { offset: next, ...live } })).status).toBe(404);
    expect((await post(channel, "late", url)).status).toBe(404);
  }
  await app.http.create(stream);
  for (const node of running) {
    const { url } = node;
    for (const live of [{}, { live: "long-poll" }, { live: "sse" }])
      expect((await app.http.ask(channel, { url, query: { offset: next, ...live } })).status).toBe(410);
    const wire = await subscribed(node, channel, next);
    expect(wire.frames.findLast(({ type }) => type === "ack")).toMatchObject({ recovered: false });
    wire.drop();
  }
  const second = await post(channel, "second", app.http.url);
  expect(second.status).toBe(204);
  expect(second.next).not.toBe(next);
  for (const url of app.http.urls())
    expect(Buffer.from((await app.http.ask(channel, { url })).bytes).toString()).toBe('["second"]');
});
