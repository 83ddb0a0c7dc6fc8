/** What channel rules switch on and off, and what operators see of it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { worldForTests } from "../conformance/raw/support/world.ts";
import type { Json } from "../support/http.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const world = await worldForTests();
const { admin, app } = world;
const path = `/apps/${app._id}`;
const HISTORY = { messages: 100, seconds: 3600 };

const rules = (...patterns: string[]): Promise<unknown> =>
  admin.must("PATCH", path, { channelRules: patterns.map((pattern) => ({ pattern, history: HISTORY })) });

/** The ack of a publish by a client that does not subscribe. */
async function publish(channel: string, data: unknown): Promise<Json> {
  const { wire } = await world.guest();
  wire.send({ type: "publish", channel, data, requestId: "1" });
  const ack = await wire.frame("ack");
  wire.close();
  return ack as unknown as Json;
}

interface Page {
  readonly pos: string | null;
  readonly messages: Json[];
  readonly more: boolean;
}

const page = (channel: string, query = ""): Promise<Page> =>
  admin.must("GET", `${path}/channels/${channel}/history${query}`);

await rules("chat/*", "off/*");

test("operators page through what is stored, and see data only where the application allows it", async () => {
  for (const data of ["a", "bb", { c: 1 }]) expect((await publish("chat/1", data)).pos).toBeString();
  const { messages, more, pos } = await page("chat/1", "?limit=2");
  expect([messages.map(({ bytes }) => bytes), more, pos]).toEqual([[7, 4], true, messages[0]?.pos as string]);
  for (const one of messages) expect(Object.keys(one).sort()).toEqual(["bytes", "from", "pos", "time"]);
  const older = await page("chat/1", `?before=${messages[1]?.pos}`);
  expect([older.messages.map(({ bytes }) => bytes), older.more]).toEqual([[3], false]);
  const newer = await page("chat/1", `?after=${older.messages[0]?.pos}`);
  expect(newer.messages.map(({ pos: one }) => one)).toEqual(messages.map(({ pos: one }) => one).toReversed());

  await admin.must("PATCH", path, { consolePayloads: true });
  expect((await page("chat/1")).messages.map(({ data }) => data)).toEqual([{ c: 1 }, "bb", "a"]);
  const reader = await admin.must<{ token: string }>("POST", "/operators", { name: "pages", role: "read" });
  const url = `${path}/channels/chat/1/history`;
  expect((await admin.call("GET", url, undefined, { bearer: reader.token })).text).not.toContain('"data"');
  const { history } = await admin.must<{ history: Json }>("GET", `${path}/usage`);
  expect(history).toMatchObject({ streams: 1, messages: 3 });
});

test("DELETE begins a new history, and subscribers connect again", async () => {
  await publish("chat/2", 1);
  const before = await page("chat/2");
  const { wire } = await world.member("chat/2");
  await admin.must("DELETE", `${path}/channels/chat/2/history`);
  expect(await wire.next(({ kind }) => kind === "close")).toMatchObject({ code: 1001 });
  expect((await page("chat/2")).messages).toEqual([]);
  await publish("chat/2", 2);
  const { status, body } = await admin.call("GET", `${path}/channels/chat/2/history?after=${before.pos}`);
  expect([status, body.error]).toEqual([400, "invalid_request"]);
  expect((await page("chat/2")).messages.map(({ data }) => data)).toEqual([2]);
});

test("history that is switched off is gone, and begins anew when it is switched on again", async () => {
  const position = (await publish("off/1", 1)).pos;
  const { wire } = await world.member("off/1");
  await rules("chat/*");
  expect(await wire.next(({ kind }) => kind === "close")).toMatchObject({ code: 1001 });
  expect((await admin.call("GET", `${path}/channels/off/1/history`)).status).toBe(404);
  expect((await publish("off/1", 2)).pos).toBeUndefined();
  await rules("chat/*", "off/*");
  await publish("off/1", 3);
  expect((await page("off/1")).messages.map(({ data }) => data)).toEqual([3]);
  expect((await admin.call("GET", `${path}/channels/off/1/history?after=${position}`)).status).toBe(400);
  // The channels of other rules have kept theirs.
  expect((await page("chat/1")).messages).toHaveLength(3);
});

test("what an application may store is enforced", async () => {
  await admin.must("PATCH", path, { maxHistoryBytes: 1_048_576 });
  for (let i = 0; i < 25; i++) await publish("chat/large", "x".repeat(60_000));
  await until("the oldest are removed", async () => {
    const { history } = await admin.must<{ history: { bytes: number } }>("GET", `${path}/usage`);
    return history.bytes <= 1_048_576;
  });
  expect((await page("chat/large")).messages.length).toBeWithin(1, 20);
});
