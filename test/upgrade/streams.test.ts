/**
 * Streams over HTTP while one node of a cluster is of the release before: a rule with `stream` is refused and names that node, requests for streams
 * that reach it do no harm, and channels with history are the same over HTTP here and over WebSocket there.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Cluster, connect } from "../nodes/support/cluster.ts";
import type { Admin, App, SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { LogLine, Server } from "../support/parley.ts";
import { BEFORE, unpackBefore, WITH_BEFORE } from "../support/release-before.ts";
import { numberOf, offsetOf, StreamsHttp } from "../support/streams/http.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { retried, until } from "../support/wait.ts";
import type { Frame } from "../support/wire/shapes.ts";
import type { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(180_000);

const KEPT = { pattern: "kept/**", history: { messages: 1000, seconds: 600 } };
const STREAMS = { pattern: "runs/**", stream: { seconds: 600, bytes: 1024 * 1024 } };
const ROUNDS = 20;
const JSON_TYPE = { "Content-Type": "application/json" };

let cluster: Cluster;
let folder: string | undefined;
let app: App;
let key: SecretKey;
let http: StreamsHttp;
/** The release before, and this version. */
let [older, newer]: Server[] = [];
beforeAll(async () => {
  if (!WITH_BEFORE) return;
  folder = tempFolder();
  const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_DRAIN_SECONDS: "1" };
  cluster = await Cluster.start({ env, before: await unpackBefore(folder) });
  [older, newer] = cluster.pair;
  app = await adminOf(newer).createApp();
  key = await adminOf(newer).createKey(app._id);
  http = new StreamsHttp(() => [urlOf(newer)], key.credential);
  expect((await rules(newer, [KEPT])).status).toBe(200);
});
afterAll(async () => {
  await cluster?.stop();
  if (folder) removeFolder(folder);
});

const urlOf = (node: Server | undefined): string => node?.url ?? "";
const adminOf = (node: Server | undefined): Admin => {
  if (!node) throw new Error("there is no such node");
  return node.admin;
};
const rules = (node: Server | undefined, channelRules: readonly object[]) =>
  adminOf(node).call<{ message?: string; channelRules: unknown[] }>("PATCH", `/apps/${app._id}`, { channelRules });

/** Each node has a folder of its own. When the tables change, connections of the older one to PostgreSQL are closed, which it may say once. */
const isUnexpected = ({ level, msg, err }: LogLine): boolean =>
  level === "error" &&
  !msg.includes("recordings") &&
  !/terminating connection/.test(String((err as Error | undefined)?.message));

async function subscriber(channel: string): Promise<Wire> {
  if (!older) throw new Error("there is no such node");
  const wire = await connect(older, `token=${encodeURIComponent(selfSigned(key.keyId, key.secret, {}))}`);
  await wire.frame("welcome");
  const ack = await wire.request({ type: "subscribe", channel });
  expect(ack).toMatchObject({ type: "ack" });
  return wire;
}

const write = (channel: string, value: unknown, headers = {}) =>
  http.ask(channel, {
    method: "POST",
    headers: { ...JSON_TYPE, ...headers },
    body: Buffer.from(JSON.stringify(value)),
  });

test.skipIf(!WITH_BEFORE)(
  "a rule with a stream is refused, names the node that is older, and changes nothing",
  async () => {
    const { data } = await adminOf(newer).must<{ data: { nodeId: string; version: string }[] }>("GET", "/nodes");
    const name = data.find(({ version }) => version === BEFORE)?.nodeId ?? "?";
    const refused = await rules(newer, [KEPT, STREAMS]);
    expect([refused.status, refused.body.error]).toEqual([409, "conflict"]);
    expect(refused.body.message).toContain(`Not there yet: ${name} (${BEFORE}).`);
    expect((await rules(older, [KEPT, STREAMS])).status).toBe(400);
    const { channelRules } = await adminOf(newer).must<{ channelRules: unknown[] }>("GET", `/apps/${app._id}`);
    expect(channelRules).toEqual([expect.objectContaining({ pattern: "kept/**" })]);
    expect((await http.ask("runs/1", { method: "PUT", headers: JSON_TYPE })).status).toBe(404);
  },
);

test.skipIf(!WITH_BEFORE)(
  "requests for streams, and connections over HTTP, that reach the older node get 404 and store nothing",
  async () => {
    const url = urlOf(older);
    await write("kept/untouched", "here before");
    for (const channel of ["kept/untouched", "kept%2Funtouched", "runs/1"])
      for (const method of ["PUT", "POST", "GET", "HEAD", "DELETE"] as const) {
        const body = method === "PUT" || method === "POST" ? { body: Buffer.from('"late"') } : {};
        const answer = await http.ask(channel, { method, url, headers: JSON_TYPE, ...body });
        expect([channel, method, answer.status]).toEqual([channel, method, 404]);
      }
    for (const live of ["sse", "long-poll"])
      expect((await http.ask("kept/untouched", { url, query: { offset: "-1", live } })).status).toBe(404);
    const token = encodeURIComponent(selfSigned(key.keyId, key.secret, {}));
    expect((await call(`${url}/v1/events?token=${token}`)).status).toBe(404);
    const mine = await call(`${urlOf(newer)}/v1/stream/kept/untouched`, { bearer: key.credential });
    expect(mine.body as unknown).toEqual(["here before"]);
  },
);

test.skipIf(!WITH_BEFORE)(
  "a POST of a connection over HTTP that reaches the older node gets 404, and none of it is lost to others",
  async () => {
    const token = encodeURIComponent(selfSigned(key.keyId, key.secret, {}));
    const opened = await fetch(`${urlOf(newer)}/v1/events?token=${token}`);
    const reader = opened.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    const session = /"session":"([^"]+)"/.exec(Buffer.from(value ?? []).toString())?.[1] ?? "";
    const frame = '{"type":"publish","channel":"kept/events","data":"once","requestId":"p"}';
    const post = async (node: Server | undefined) =>
      (await call(`${urlOf(node)}/v1/events?session=${session}&n=1`, { method: "POST", body: frame })).status;
    expect(await post(older)).toBe(404);
    expect(await post(newer)).toBe(204);
    expect(await post(older)).toBe(404);
    await until("it is stored", async () => (await http.ask("kept/events")).bytes.length > 2);
    expect(Buffer.from((await http.ask("kept/events")).bytes).toString()).toBe('["once"]');
    await reader?.cancel();
  },
);

test.skipIf(!WITH_BEFORE)(
  "a channel with history: written over HTTP here and over WebSocket there, each hears all of it in one order",
  async () => {
    const channel = "kept/both";
    const wire = await subscriber(channel);
    const sent: string[] = [];
    for (let nr = 0; nr < ROUNDS; nr++) {
      const headers = { "Producer-Id": "p", "Producer-Epoch": "0", "Producer-Seq": String(nr) };
      expect((await write(channel, [`http ${nr}`, `http ${nr} too`], headers)).status).toBe(200);
      expect((await write(channel, [`http ${nr}`, `http ${nr} too`], headers)).status).toBe(204);
      const ack = await wire.request({ type: "publish", channel, data: `there ${nr}`, echo: true });
      expect(ack).toMatchObject({ type: "ack" });
      sent.push(`http ${nr}`, `http ${nr} too`, `there ${nr}`);
    }
    const answer = await http.ask(channel, { query: { offset: "-1" } });
    expect(JSON.parse(Buffer.from(answer.bytes).toString())).toEqual(sent);
    // Its own it hears as acks.
    const heard: Frame<"message">[] = [];
    await until("the older node has delivered all", () => {
      heard.splice(0, heard.length, ...wire.frames.flatMap((frame) => (frame.type === "message" ? [frame] : [])));
      return heard.filter(({ data }) => String(data).startsWith("http")).length >= 2 * ROUNDS;
    });
    const fromHttp = heard.filter(({ data }) => String(data).startsWith("http"));
    expect(fromHttp.map(({ data }) => data)).toEqual(sent.filter((value) => value.startsWith("http")));
    const offsets = heard.map(({ pos = "" }) => numberOf(offsetOf(pos)));
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    // Deleted here: there it begins anew too.
    expect((await http.ask(channel, { method: "DELETE" })).status).toBe(204);
    expect((await http.ask(channel, { query: { offset: answer.next } })).status).toBe(410);
    expect((await write(channel, "anew")).status).toBe(204);
    // Those who still know the old one are closed there, as by any deletion on another node.
    expect(await wire.closed()).toMatchObject({ code: 1001 });
    await retried("it has begun anew", async () => {
      const late = await subscriber(channel);
      const history = await late.request({ type: "history", channel });
      expect(history).toMatchObject({ type: "history", messages: [{ data: "anew" }] });
      late.drop();
    });
  },
);

test.skipIf(!WITH_BEFORE)("when the older node has left, the rule is taken, and streams begin", async () => {
  await older?.kill("SIGTERM");
  await until("the rule is taken", async () => (await rules(newer, [KEPT, STREAMS])).status === 200);
  expect((await http.ask("runs/1", { method: "PUT", headers: JSON_TYPE })).status).toBe(201);
  expect((await write("runs/1", [1, 2])).status).toBe(204);
  expect(Buffer.from((await http.ask("runs/1")).bytes).toString()).toBe("[1,2]");
  const unexpected = [older, newer].flatMap((node) => node?.log ?? []).filter(isUnexpected);
  expect(unexpected).toEqual([]);
});
