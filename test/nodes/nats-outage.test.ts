/** NATS becomes unreachable and reachable again: what /readyz says, and what docs/clustering.md says still works. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { join, tokenQuery } from "../conformance/raw/support/world.ts";
import type { SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { runParley, type Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(90_000);

const RULES = [{ pattern: "kept-*", history: { messages: 100, seconds: 3600 } }];

let nats: NatsServer;
const folder = scratch();
let cluster: Cluster;
let one: Server;
let other: Server;
/** Two workers on one port. */
let crowd: Server | undefined;
let key: SecretKey;
beforeAll(async () => {
  nats = await startNats();
  // With a password, which no answer may reveal.
  const url = nats.url.replace("://", "://ann:hush-password@");
  cluster = await Cluster.start({ joined: false, data: folder.path, env: { PARLEY_NATS_URL: url } });
  [one, other] = cluster.pair;
  [crowd] = await cluster.add(1, { PARLEY_WORKERS: "2" });
  const app = await one.admin.createApp();
  key = await one.admin.createKey(app._id);
  await one.admin.must("PATCH", `/apps/${app._id}`, { channelRules: RULES });
});
afterAll(async () => {
  await cluster.stop();
  await nats.stop();
  folder[Symbol.dispose]();
});

interface Readiness {
  readonly ready: boolean;
  readonly degraded: readonly string[];
  readonly checks: Readonly<Record<string, string>>;
}

const ready = (node: Server) => call<Readiness>(`${node.url}/readyz`);
const isDegraded = async (node: Server): Promise<boolean> => (await ready(node)).body.degraded.includes("nats");
const token = (sub: string): string => tokenQuery(selfSigned(key.keyId, key.secret, { sub }));

const UNREACHABLE = "NATS is unreachable: this node and the others cannot reach each other";

async function everyNodeSaysSo(): Promise<void> {
  for (const node of [one, other]) {
    await until("it is degraded", () => isDegraded(node));
    const { status, body, text } = await ready(node);
    expect([status, body.ready, body.degraded, body.checks.nats]).toEqual([200, true, ["nats"], UNREACHABLE]);
    expect(text).not.toMatch(/hush|127\.0\.0\.1|:\/\//);
    expect((await readMetrics({ url: node.url, adminToken: node.adminToken })).get("parley_nats_up")).toBe(0);
    const nodes = await node.admin.must<{ data: { nats: string }[] }>("GET", "/nodes");
    expect(nodes.data.map((each) => each.nats)).toEqual(["away"]);
  }
}

async function everyNodeIsWell(): Promise<void> {
  for (const node of [one, other]) {
    await until("it is well again", async () => !(await isDegraded(node)));
    expect((await ready(node)).body).toMatchObject({ ready: true, degraded: [], checks: { nats: "ok" } });
  }
}

/** What the row of NATS in docs/clustering.md says. */
async function theTableHolds(outage: string): Promise<void> {
  const named = (name: string): string => `${name}-${outage}`;
  const [ann, ben, cat] = await Promise.all([
    connect(one, token(named("ann"))),
    connect(one, token(named("ben"))),
    connect(other, token(named("cat"))),
  ]);
  const wires = [ann, ben, cat];
  for (const wire of wires) for (const name of ["plain", "kept"]) await join(wire, named(name));
  await (outage === "killed" ? nats.stop() : process.kill(nats.pid, "SIGSTOP"));
  await everyNodeSaysSo();

  // Without history nothing is accepted, not even for receivers on the same node.
  const refused = { type: "error", code: "backend_error" };
  expect(await ann.request({ type: "publish", channel: named("plain"), data: 1 })).toMatchObject(refused);
  for (const peer of ["ben", "cat"])
    expect(await ann.request({ type: "send", to: named(peer), data: 1 })).toMatchObject(refused);
  const rest = (name: string, data: string) =>
    call(`${one.url}/v1/channels/${named(name)}/publish`, { bearer: key.credential, body: { data } });
  expect(await rest("plain", "r")).toMatchObject({ status: 503, body: { error: "backend_error" } });
  // With history it is stored, acked, and delivered on every node.
  expect(await ann.request({ type: "publish", channel: named("kept"), data: "k" })).toMatchObject({ type: "ack" });
  expect(await rest("kept", "r")).toMatchObject({ status: 200, body: { published: true } });
  for (const wire of [ben, cat])
    for (const data of ["k", "r"]) expect(await wire.until("message")).toMatchObject({ channel: named("kept"), data });
  const history = await call<{ messages: object[] }>(`${other.url}/v1/channels/${named("kept")}/history`, {
    bearer: key.credential,
  });
  expect([history.status, history.body.messages.length]).toEqual([200, 2]);

  // Connects and subscribes work. Presence is right on the same node; of the others it stays as it was.
  const eve = await connect(one, token(named("eve")));
  const { joined } = await join(eve, named("plain"));
  expect(joined.map(({ peerId }) => peerId).toSorted()).toEqual(["ann", "ben", "cat"].map(named));
  for (const wire of [ann, ben])
    await wire.until("presence", (frame) => frame.joined.some(({ peerId }) => peerId === named("eve")));
  for (const path of ["/v1/channels", `/v1/channels/${named("plain")}/peers`])
    expect(await call(`${one.url}${path}`, { bearer: key.credential })).toMatchObject({ status: 503 });
  // A disconnect reaches the peers of the node that is asked; one with a block reaches the others through the store.
  const disconnect = (peer: string, query = "") =>
    call<{ closed: number }>(`${one.url}/v1/peers/${named(peer)}${query}`, {
      method: "DELETE",
      bearer: key.credential,
    });
  expect((await disconnect("cat")).body.closed).toBe(0);
  expect((await disconnect("ben")).body.closed).toBe(1);
  await disconnect("cat", "?blockSec=1");
  await cat.closed();

  if (outage === "killed") nats = await startNats([], nats.port);
  else process.kill(nats.pid, "SIGCONT");
  await everyNodeIsWell();
  // Presence on the other node catches up, and messages flow again.
  const dan = await connect(other, token(named("dan")));
  await join(dan, named("plain"));
  await until("it is published again", async () => (await rest("plain", "again")).status === 200);
  expect(await dan.until("message")).toMatchObject({ data: "again" });
  await ann.until("presence", ({ left }) => left.some(({ peerId }) => peerId === named("cat")));
  for (const wire of [...wires, eve, dan]) wire.drop();
}

test("before the outage all is well", everyNodeIsWell);

test("NATS is killed and started again", () => theTableHolds("killed"));

test("NATS falls silent and answers again", () => theTableHolds("silent"));

test.if(IS_FULL)("whichever of several workers is asked, it says so", async () => {
  if (!crowd) throw new Error("it was not started");
  await nats.stop();
  for (const isExpected of [true, false]) {
    for (let inARow = 0; inARow < 10; ) inARow = (await isDegraded(crowd)) === isExpected ? inARow + 1 : 0;
    if (isExpected) nats = await startNats([], nats.port);
  }
});

test("doctor says what the node says, and what it finds itself", async () => {
  await nats.stop();
  await until("it is degraded", () => isDegraded(one));
  const env = { PARLEY_URL: one.url, PARLEY_ADMIN_TOKEN: one.adminToken };
  const set = { ...env, PARLEY_NATS_URL: cluster.env.PARLEY_NATS_URL ?? "" };
  for (const [given, found] of [
    [env, `${UNREACHABLE}\n`],
    [set, `${UNREACHABLE}. From this machine: connection refused\n`],
  ] as const) {
    const { code, output } = await runParley(["doctor"], given);
    expect(code).toBe(1);
    expect(output).toContain(`SERIOUS          NATS                ${found}`);
    expect(output).toMatch(/-> start NATS/);
    expect(output).not.toContain("hush");
  }
  // Without a server: why it would not start.
  const none = await runParley(["doctor", "--url", "http://127.0.0.1:1"], set);
  expect([none.code, none.output]).toEqual([1, expect.stringMatching(/SERIOUS +NATS +this machine cannot use it/)]);
  nats = await startNats([], nats.port);
  await everyNodeIsWell();
  // Its own connection has two seconds, which may not be enough while other suites run.
  await until("doctor reaches NATS", async () =>
    /ok +NATS +NATS on the node's own machine/.test((await runParley(["doctor"], set)).output),
  );
});
