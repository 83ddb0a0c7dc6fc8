/** Quotas and usage counters: protocol.md 1 (check 14), 2, 6 (4010) and 7 (usage). */
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../../support/http.ts";
import { SLACK_MS } from "../../support/slack.ts";
import { removeFolder, tempFolder } from "../../support/temp.ts";
import { retried, until } from "../../support/wait.ts";
import { attempt, refusal } from "../../support/wire/connect.ts";
import { Wire } from "../../support/wire/wire.ts";
import { fresh, newApp, startWorld, tokenQuery, World, worldForTests } from "./support/world.ts";

/** Five seconds plus an allowance: older counts must be on disk. */
const WRITTEN_WITHIN_MS = 5600;
const STORE = "parley.sqlite";

setDefaultTimeout(60_000);

interface Usage {
  readonly concurrentNow: number;
  readonly peakConcurrent: number;
  readonly messagesUsed: number;
  readonly plan: Json;
}

const host = await worldForTests();
/** Each test has its own application. */
let world: World;

afterEach(() => world?.hangUp());

async function withPlan(plan: Json = {}): Promise<World> {
  world = await newApp(host.server);
  await setPlan(plan);
  return world;
}
const setPlan = (plan: Json): Promise<unknown> => host.admin.must("PATCH", `/apps/${world.app._id}`, { plan });
const usage = async (of = world): Promise<Usage> => (await of.rest<Usage>("GET", "/v1/usage")).body;
const publish = (wire: Wire, data: unknown = 1): Promise<Json> =>
  wire.request({ type: "publish", channel: "c", data }) as Promise<unknown> as Promise<Json>;

/** What a kill at this moment would leave of the counts of all applications: the process locks its store, so this reads a copy. */
function messagesOnDisk(data: string): number {
  const copy = tempFolder();
  try {
    for (const file of [STORE, `${STORE}-wal`]) copyFileSync(join(data, file), join(copy, file));
    using database = new Database(join(copy, STORE));
    return (database.query("SELECT sum(messages) AS sum FROM usage").get() as { sum: number | null }).sum ?? 0;
  } finally {
    removeFolder(copy);
  }
}

/** "in" or the close code; an accepted connection stays open. */
async function tryConnect(from = world, claims: Json = {}): Promise<string> {
  const outcome = await attempt(from.url, { query: tokenQuery(from.token(claims)) });
  if (!(outcome instanceof Wire)) return String(outcome.status);
  const first = await outcome.event();
  kept.push(outcome);
  return first.kind === "close" ? `close ${first.code}` : "in";
}
const kept: Wire[] = [];
afterEach(() => {
  for (const wire of kept.splice(0)) if (!wire.isOver) wire.drop();
});

describe("GET /v1/usage", () => {
  test("has exactly its fields; a plan without caps says null; the period is a calendar month, UTC", async () => {
    await withPlan();
    const { status, body } = await world.rest<Json>("GET", "/v1/usage");
    const now = new Date();
    const month = (offset: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1) / 1000;
    expect(status).toBe(200);
    expect(body as Json).toEqual({
      appId: world.app._id,
      periodStartUnix: month(0),
      periodEndUnix: month(1),
      concurrentNow: 0,
      peakConcurrent: 0,
      messagesUsed: 0,
      overageMessages: 0,
      overageConnections: 0,
      plan: {
        name: expect.any(String),
        maxConcurrentConnections: null,
        maxMessagesPerPeriod: null,
        overagesAllowed: false,
        overagesEnabled: false,
      },
    });
  });

  test("shows the current plan", async () => {
    await withPlan({ name: "small", maxConcurrentConnections: 3, maxMessagesPerPeriod: 100 });
    expect((await usage()).plan).toEqual({
      name: "small",
      maxConcurrentConnections: 3,
      maxMessagesPerPeriod: 100,
      overagesAllowed: false,
      overagesEnabled: false,
    });
  });

  test("counts each accepted publish and send once, whatever its fan-out, REST included", async () => {
    await withPlan();
    const [one, two, three] = [await world.guest(), await world.guest(), await world.guest()];
    for (const { wire } of [one, two, three]) await wire.request({ type: "subscribe", channel: "c" });
    await publish(one.wire);
    expect((await usage()).messagesUsed).toBe(1);
    await one.wire.request({ type: "publish", channel: fresh("empty"), data: 1 });
    expect((await usage()).messagesUsed).toBe(2);
    await world.guest({ sub: two.peerId });
    await one.wire.request({ type: "send", to: two.peerId, data: 1 });
    expect((await usage()).messagesUsed).toBe(3);
    await world.rest("POST", "/v1/channels/c/publish", { body: { data: 1 } });
    expect((await usage()).messagesUsed).toBe(4);
    await world.rest("POST", `/v1/peers/${two.peerId}/send`, { body: { data: 1 } });
    expect((await usage()).messagesUsed).toBe(5);
  });

  test("does not count refused messages, nor frames that carry no message", async () => {
    await withPlan();
    const { wire } = await world.guest({ channels: ["c"] });
    for (const frame of [
      { type: "publish", channel: "c" },
      { type: "publish", channel: "other", data: 1 },
      { type: "publish", channel: "_parley/x", data: 1 },
      { type: "send", to: fresh("nobody"), data: 1 },
      { type: "subscribe", channel: "c" },
      { type: "unsubscribe", channel: "c" },
      { type: "nonsense" },
    ])
      await wire.request(frame);
    wire.send({ type: "ping" }, "{");
    await wire.sync();
    await world.rest("POST", `/v1/peers/${fresh("nobody")}/send`, { body: { data: 1 } });
    await world.rest("POST", "/v1/channels/c/publish", { body: {} });
    expect((await usage()).messagesUsed).toBe(0);
  });

  test("counts connections, not peers, and keeps the peak", async () => {
    await withPlan();
    const sub = fresh("peer");
    const guests = [await world.guest({ sub }), await world.guest({ sub }), await world.guest()];
    expect(await usage()).toMatchObject({ concurrentNow: 3, peakConcurrent: 3 });
    guests[0]!.wire.close();
    await guests[0]!.wire.closed();
    expect(await usage()).toMatchObject({ concurrentNow: 2, peakConcurrent: 3 });
    await world.guest();
    expect(await usage()).toMatchObject({ concurrentNow: 3, peakConcurrent: 3 });
  });

  test("is counted per application", async () => {
    await withPlan();
    const other = await newApp(host.server);
    const { wire } = await world.guest();
    await publish(wire);
    expect(await usage(other)).toMatchObject({ concurrentNow: 0, peakConcurrent: 0, messagesUsed: 0 });
  });
});

describe("the concurrent cap", () => {
  test("accepts that many connections and closes the next with 4010 before its welcome", async () => {
    await withPlan({ maxConcurrentConnections: 2 });
    expect([await tryConnect(), await tryConnect(), await tryConnect()]).toEqual(["in", "in", "close 4010"]);
    expect(kept[2]!.frames).toEqual([]);
    expect(await usage()).toMatchObject({ concurrentNow: 2, peakConcurrent: 2 });
  });

  test("counts connections of one peer too", async () => {
    await withPlan({ maxConcurrentConnections: 1 });
    const sub = fresh("peer");
    expect([await tryConnect(world, { sub }), await tryConnect(world, { sub })]).toEqual(["in", "close 4010"]);
  });

  test("of 0 accepts no connection", async () => {
    await withPlan({ maxConcurrentConnections: 0 });
    expect(await tryConnect()).toBe("close 4010");
  });

  test("frees a slot on every kind of end", async () => {
    await withPlan({ maxConcurrentConnections: 1 });
    for (const end of [
      async (wire: Wire) => {
        wire.close();
        await wire.closed();
      },
      async (wire: Wire) => {
        wire.drop();
        await until("no one is counted", async () => (await usage()).concurrentNow === 0);
      },
      async (_wire: Wire, peerId: string) => {
        await world.rest("DELETE", `/v1/peers/${peerId}`);
      },
      async (wire: Wire) => {
        wire.send("x".repeat(70_000));
        await wire.closed();
        await until("no one is counted", async () => (await usage()).concurrentNow === 0);
      },
    ]) {
      const { wire, peerId } = await world.guest();
      expect(await tryConnect()).toBe("close 4010");
      await end(wire, peerId);
      expect((await usage()).concurrentNow).toBe(0);
    }
    expect(await tryConnect()).toBe("in");
  });

  test("does not count connects that are refused, over the cap, or malformed", async () => {
    await withPlan({ maxConcurrentConnections: 1 });
    const query = tokenQuery(world.token());
    for (let i = 0; i < 3; i++) {
      await refusal(world.url, { query: "token=x" });
      await refusal(world.url, { query, headers: { "Sec-WebSocket-Key": "short" } });
      await refusal(world.url, { query, headers: { Upgrade: null, Connection: null } });
    }
    expect((await usage()).concurrentNow).toBe(0);
    expect(await tryConnect()).toBe("in");
    for (let i = 0; i < 3; i++) expect(await tryConnect()).toBe("close 4010");
    kept[0]!.close();
    await kept[0]!.closed();
    expect(await tryConnect()).toBe("in");
    expect((await usage()).concurrentNow).toBe(1);
  });

  test("holds when many connect at the same moment", async () => {
    await withPlan({ maxConcurrentConnections: 5 });
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => tryConnect()));
    expect(outcomes.filter((one) => one === "in")).toHaveLength(5);
    expect(outcomes.filter((one) => one === "close 4010")).toHaveLength(35);
    expect(await usage()).toMatchObject({ concurrentNow: 5, peakConcurrent: 5 });
  });

  test("closes no connection when lowered, accepts at once when raised, and is per application", async () => {
    await withPlan({ maxConcurrentConnections: 2 });
    const [one, two] = [await world.guest(), await world.guest()];
    await setPlan({ maxConcurrentConnections: 1 });
    for (const { wire } of [one, two]) expect(await wire.sync()).toEqual([]);
    one.wire.close();
    await one.wire.closed();
    expect(await tryConnect()).toBe("close 4010");
    const other = await newApp(host.server);
    expect(await tryConnect(other)).toBe("in");
    await setPlan({ maxConcurrentConnections: null });
    expect(await tryConnect()).toBe("in");
  });
});

describe("the message cap", () => {
  test("affects only messages: the connection stays, subscribes, sees presence", async () => {
    await withPlan({ maxMessagesPerPeriod: 0 });
    const watcher = await world.member("c");
    const { wire, peerId } = await world.guest();
    expect(await publish(wire)).toMatchObject({ code: "over_message_quota" });
    expect(await wire.request({ type: "subscribe", channel: "c" })).toMatchObject({ type: "ack" });
    expect(await watcher.wire.frame()).toMatchObject({ type: "presence", joined: [{ peerId }] });
  });

  test("accepts messages at once when raised", async () => {
    await withPlan({ maxMessagesPerPeriod: 1 });
    const { wire } = await world.guest();
    expect(await publish(wire)).toMatchObject({ type: "ack" });
    expect(await publish(wire)).toMatchObject({ code: "over_message_quota" });
    await setPlan({ maxMessagesPerPeriod: 2 });
    expect(await publish(wire)).toMatchObject({ type: "ack" });
    expect(await publish(wire)).toMatchObject({ code: "over_message_quota" });
    await setPlan({ maxMessagesPerPeriod: null });
    expect(await publish(wire)).toMatchObject({ type: "ack" });
  });

  test("is per application", async () => {
    await withPlan({ maxMessagesPerPeriod: 0 });
    const other = await newApp(host.server);
    const { wire } = await other.guest();
    expect(await publish(wire)).toMatchObject({ type: "ack" });
    other.hangUp();
  });
});

describe("the counters", () => {
  test("survive a restart: messages, the peak, and therefore the cap", async () => {
    const data = tempFolder();
    const before = await startWorld({ data });
    await before.admin.must("PATCH", `/apps/${before.app._id}`, { plan: { maxMessagesPerPeriod: 5 } });
    const guests = [await before.guest(), await before.guest(), await before.guest()];
    for (let i = 0; i < 4; i++) await publish(guests[0]!.wire);
    await before.server.kill("SIGTERM");
    const after = await startWorld({ data });
    const restarted = new World(after.server, before.app, before.key);
    expect(await usage(restarted)).toMatchObject({ concurrentNow: 0, peakConcurrent: 3, messagesUsed: 4 });
    const { wire } = await restarted.guest();
    expect(await publish(wire)).toMatchObject({ type: "ack" });
    expect(await publish(wire)).toMatchObject({ code: "over_message_quota" });
    restarted.hangUp();
    await after.stop();
    removeFolder(data);
  });

  test("lose at most five seconds when the process is killed", async () => {
    const data = tempFolder();
    const before = await startWorld({ data });
    const { wire } = await before.guest();
    for (let i = 0; i < 10; i++) await publish(wire);
    // Nodes that share a database have no file of their own to look at.
    if (!existsSync(join(data, STORE))) await Bun.sleep(WRITTEN_WITHIN_MS);
    else {
      // A copy that is made while the process writes may be torn.
      const look = async (): Promise<void> => expect(messagesOnDisk(data)).toBe(10);
      await retried("they are on disk", look, () => true, WRITTEN_WITHIN_MS + 4 * SLACK_MS);
    }
    for (let i = 0; i < 3; i++) await publish(wire);
    await before.server.kill("SIGKILL");
    const after = await startWorld({ data });
    const restarted = new World(after.server, before.app, before.key);
    const { messagesUsed, peakConcurrent } = await usage(restarted);
    expect(messagesUsed).toBeGreaterThanOrEqual(10);
    expect(messagesUsed).toBeLessThanOrEqual(13);
    expect(peakConcurrent).toBe(1);
    await after.stop();
    removeFolder(data);
  });
});
