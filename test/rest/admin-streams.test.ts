/** Streams on the control plane, with those that a backend has created. Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { StreamCalls } from "../support/stream-calls.ts";
import { found } from "../support/wait.ts";
import { welcomed } from "../support/wire/connect.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { admin, url } = server;

const { _id: app } = await admin.createApp();
const key = await admin.createKey(app);
const path = `/apps/${app}/streams`;
const RULE = { pattern: "answers/**", stream: { seconds: 3600, bytes: 65_536 } };
await admin.must("PATCH", `/apps/${app}`, { channelRules: [RULE], consolePayloads: true });
const streams = new StreamCalls(server, `${key.keyId}:${key.secret}`);
const one = (channel: string): Promise<Json> => admin.must("GET", `${path}/${encodeURIComponent(channel)}`);

test("a stream is listed from its creation to its deletion, however its slashes are sent", async () => {
  await streams.create("answers/1/2", { body: '["a","b"]', headers: { "Stream-TTL": "600" } });
  await streams.create("answers/9", { type: "text/plain", headers: { "Stream-Closed": "true" } });
  const { data, next } = await admin.must<{ data: Json[]; next: null }>("GET", `${path}?contains=answers/`);
  expect([data.map(({ channel }) => channel), next]).toEqual([["answers/1/2", "answers/9"], null]);
  expect(data[0]).toMatchObject({ messages: 2, closed: false, ttlSec: 600, producers: 0 });
  expect(data[1]).toMatchObject({ messages: 0, closed: true, contentType: "text/plain" });
  expect(await one("answers/1/2")).toMatchObject({ maxBytes: 65_536, idleSec: 3600, readers: 0, subscribers: 0 });
  const raw = `${url}/api/internal/v1${path}/answers/1/2`;
  expect((await call(raw, { bearer: admin.token })).body).toMatchObject({ channel: "answers/1/2", messages: 2 });

  await admin.must("DELETE", `${path}/answers%2F1%2F2`);
  expect(await refused(admin, NOT_FOUND, "GET", `${path}/answers%2F1%2F2`)).toStartWith("There is no stream");
  expect(await refused(admin, NOT_FOUND, "DELETE", `${path}/answers%2F1%2F2`)).toStartWith("There is no stream");
  const audit = await admin.must<{ data: Json[] }>("GET", `/audit?app=${app}&what=stream%20deleted`);
  expect(audit.data[0]).toMatchObject({ what: "stream deleted", on: "answers/1/2", app });
});

test("producers are those of keys and of peers", async () => {
  await streams.create("answers/producers");
  const body = '{"n":1}';
  const numbered = (id: string) => ({ "Producer-Id": id, "Producer-Epoch": "0", "Producer-Seq": "0" });
  await streams.append("answers/producers", { body, headers: numbered("worker") });
  const token = await call<{ token: string }>(`${url}/v1/tokens`, {
    bearer: `${key.keyId}:${key.secret}`,
    body: { peerId: "ann", channels: ["answers/**"], permissions: ["publish", "subscribe"] },
  });
  await new StreamCalls(server, token.body.token).append("answers/producers", { body, headers: numbered("tab") });
  const { producers } = await one("answers/producers");
  expect(producers).toHaveLength(2);
  expect(producers).toContainEqual({ keyId: key.keyId, id: "worker", epoch: 0, seq: 0, used: expect.any(Number) });
  expect(producers).toContainEqual({ peerId: "ann", id: "tab", epoch: 0, seq: 0, used: expect.any(Number) });
});

test("readers over HTTP and subscribers are counted while they are there", async () => {
  await streams.create("answers/live", { body: '"begun"' });
  const { body } = await call<{ token: string }>(`${url}/v1/tokens`, {
    bearer: `${key.keyId}:${key.secret}`,
    body: { peerId: "ben" },
  });
  using ben = await welcomed(url, `token=${body.token}`);
  await ben.join("answers/live");
  const controller = new AbortController();
  await Promise.all([1, 2].map(() => streams.follow("answers/live", controller.signal)));
  expect(await one("answers/live")).toMatchObject({ readers: 2, subscribers: 1, isComplete: true });
  controller.abort();
  await found("no reader", async () => ((await one("answers/live")).readers === 0 ? true : undefined));
});

test("messages are read as those of a history, with data for admins only", async () => {
  await streams.create("answers/text", { type: "text/plain; charset=utf-8", body: "héllo" });
  await streams.append("answers/text", { type: "text/plain", body: Uint8Array.of(0xff) });
  const history = `/apps/${app}/channels/answers%2Ftext/history`;
  const { messages } = await admin.must<{ messages: Json[] }>("GET", history);
  expect(messages).toMatchObject([
    { from: "server", encoding: "base64", bytes: 1, data: "/w==" },
    { from: "server", bytes: 6, data: "héllo" },
  ]);
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  const asReader = async (method: string, at: string) => admin.call<Json>(method, at, undefined, { bearer: token });
  const shown = await asReader("GET", history);
  expect(JSON.stringify(shown.body)).not.toContain("data");
  expect((await asReader("GET", path)).status).toBe(200);
  expect((await asReader("DELETE", `${path}/answers%2Ftext`)).status).toBe(403);
  const gone = "/channels/answers%2Fgone/history";
  expect(await refused(admin, NOT_FOUND, "GET", `/apps/${app}${gone}`)).toStartWith("There is no stream");
});

test.each([
  ["/apps/unknown/streams", 404, "not_found"],
  [`${path}/_system%2Fchat`, 400, "channel_reserved"],
  [`${path}/a*`, 400, "invalid_request"],
  [`${path}?limit=201`, 400, "invalid_request"],
] as const)("GET %s: %i", async (whole, status, error) => {
  const answer = await admin.call("GET", whole);
  expect([answer.status, answer.body.error]).toEqual([status, error]);
});
