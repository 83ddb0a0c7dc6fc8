/** history.md 2: pages of history on the wire and over REST, with bad input. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Frame } from "../../support/wire/shapes.ts";
import { acked, dataOf, history, keepHistory, kept, POSITION, published } from "./support/history.ts";
import { fresh, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const world = await worldForTests({ env: { PARLEY_FRAMES_PER_SECOND: "0" } });

beforeAll(() => keepHistory(world));

describe("history frames", () => {
  test("newest first, in pages; oldest first behind a position", async () => {
    const channel = kept();
    const positions = await published(world, channel, 1, 2, 3, 4, 5);
    const { wire } = await world.quiet();
    const first = (await history(wire, { channel, limit: 2 })) as Frame<"history">;
    expect(first).toMatchObject({ type: "history", channel, more: true, pos: positions[4] });
    expect(first.messages.map(({ data }) => data)).toEqual([5, 4]);
    expect(Object.keys(first.messages[0] ?? {}).sort()).toEqual(["data", "from", "pos", "time"]);
    const second = (await history(wire, { channel, before: first.messages[1]?.pos })) as Frame<"history">;
    expect([second.messages.map(({ data }) => data), second.more]).toEqual([[3, 2, 1], false]);
    const later = (await history(wire, { channel, after: positions[1], limit: 2 })) as Frame<"history">;
    expect([later.messages.map(({ data }) => data), later.more]).toEqual([[3, 4], true]);
  });

  test("a page has at most 960,000 bytes", async () => {
    const channel = kept();
    await published(world, channel, ...Array.from({ length: 20 }, () => "x".repeat(63_000)));
    const { wire } = await world.quiet();
    wire.send({ type: "history", channel, limit: 100 });
    const text = await wire.text();
    expect(text.length).toBeLessThanOrEqual(960_000);
    expect(JSON.parse(text)).toMatchObject({ more: true });
    expect(JSON.parse(text).messages.length).toBeGreaterThan(13);
  });

  test("empty channels, and channels without history", async () => {
    const { wire } = await world.quiet();
    const empty = await history(wire, { channel: kept() });
    expect(empty).toMatchObject({
      messages: [],
      more: false,
      pos: expect.stringMatching(POSITION) as unknown as string,
    });
    const channel = fresh("plain");
    const none = await history(wire, { channel });
    expect(none).toEqual({
      type: "history",
      requestId: expect.any(String),
      channel,
      messages: [],
      more: false,
    } as never);
  });

  test.each<object>([
    { before: "a.1.b", after: "a.1.b" },
    { limit: 0 },
    { limit: 101 },
    { limit: "5" },
    { limit: 1.5 },
    { before: 5 },
    { before: "garbage" },
    { after: "x.99999999999999999999.y" },
    { after: "other.1.other" },
  ])("%j is malformed", async (fields) => {
    const channel = kept();
    await published(world, channel, 1);
    const { wire } = await world.quiet();
    expect(await history(wire, { channel, ...fields })).toMatchObject({ type: "error", code: "malformed_message" });
  });

  test("needs the channel and the action subscribe, in the order of the protocol", async () => {
    const { wire } = await world.quiet({ permissions: ["publish"] });
    expect(await history(wire, { channel: kept() })).toMatchObject({ code: "action_not_permitted" });
    const { wire: narrow } = await world.quiet({ channels: ["other/*"] });
    expect(await history(narrow, { channel: kept() })).toMatchObject({ code: "channel_not_authorized" });
    expect(await history(narrow, { channel: "_internal/x" })).toMatchObject({ code: "channel_reserved" });
    expect(await history(narrow, { channel: 5 })).toMatchObject({ code: "invalid_channel" });
    expect(await history(narrow, {})).toMatchObject({ code: "invalid_channel" });
  });

  test("more than 10 at once are refused, and the connection stays", async () => {
    const channel = kept();
    await published(world, channel, 1);
    const { wire } = await world.quiet();
    const ids = Array.from({ length: 30 }, (_, i) => `x${i}`);
    const began = performance.now();
    wire.send(...ids.map((requestId) => ({ type: "history", channel, requestId })));
    const answers = await Promise.all(ids.map((id) => wire.answerTo(id)));
    const refilled = Math.ceil((performance.now() - began) / 200);
    const refused = answers.filter((one) => one.type === "error" && one.code === "rate_limited");
    expect(refused.length).toBeWithin(Math.max(1, 20 - refilled), 21);
    expect(answers.filter(({ type }) => type === "history")).toHaveLength(30 - refused.length);
    expect(await wire.sync()).toEqual([]);
  });
});

describe("REST", () => {
  const path = (channel: string): string => `/v1/channels/${encodeURIComponent(channel)}/history`;

  test("publish answers the position, and a duplicate; its ids are those of the key", async () => {
    const channel = kept();
    const first = await world.restPublish(channel, { data: 1, id: "one" });
    expect(first.body).toEqual({ channel, published: true, pos: expect.stringMatching(POSITION) });
    const second = await world.restPublish(channel, { data: 2, id: "one" });
    expect(second.body).toEqual({ ...first.body, duplicate: true });
    expect((await world.restPublish(fresh("plain"), { data: 1, id: "one" })).body.pos).toBeUndefined();
    const refused = await world.restPublish(channel, { data: 1, id: "" });
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_request"]);
  });

  test("pages, and what is refused", async () => {
    const channel = kept();
    const positions = await published(world, channel, 1, 2, 3);
    const get = (query: string) => world.rest<{ messages: { data: unknown }[] }>("GET", path(channel) + query);
    const newest = await get("");
    expect(newest.body).toMatchObject({ channel, pos: positions[2], more: false });
    expect(newest.text).toEndWith("}\n");
    expect(newest.body.messages.map(({ data }) => data)).toEqual([3, 2, 1]);
    const behind = await get(`?after=${positions[0]}&limit=1`);
    expect(behind.body).toMatchObject({ messages: [{ data: 2 }], more: true });
    for (const query of [
      "?limit=0",
      "?limit=101",
      "?limit=x",
      "?before=x",
      "?before=a.1.b&after=a.1.b",
      "?before=a.1.b",
    ]) {
      const { status, body } = await get(query);
      expect([query, status, body.error]).toEqual([query, 400, "invalid_request"]);
    }
  });

  test("a channel without history is not found, in the order of checks", async () => {
    for (const method of ["GET", "DELETE"]) {
      expect((await world.rest(method, path(fresh("plain")))).body.error).toBe("not_found");
      expect((await world.rest(method, path("_internal/x"))).body.error).toBe("channel_reserved");
      expect((await world.rest(method, path(kept()), { credential: "sk_id_x:y" })).status).toBe(401);
    }
    const key = await world.admin.createKey(world.app._id, { channelPatterns: ["kept/a"], actions: ["presence"] });
    const { credential } = key;
    for (const method of ["GET", "DELETE"]) {
      expect((await world.rest(method, path("kept/b"), { credential })).body.error).toBe("channel_not_authorized");
      expect((await world.rest(method, path("kept/a"), { credential })).body.error).toBe("action_not_permitted");
    }
  });

  test("a deletion closes subscribers with 1001, and nothing is recovered across it", async () => {
    const channel = kept();
    const reader = await world.subscriber(channel);
    const [position = ""] = await published(world, channel, 1, 2);
    const deleted = await world.rest("DELETE", path(channel));
    expect([deleted.status, deleted.body]).toEqual([200, { channel, deleted: true } as never]);
    expect((await reader.wire.closed()).code).toBe(1001);
    const { wire } = await world.quiet();
    expect(await acked(wire, { type: "subscribe", channel, recover: position })).toMatchObject({ recovered: false });
    expect((await history(wire, { channel })) as Frame<"history">).toMatchObject({ messages: [] });
    await published(world, channel, 3);
    expect(dataOf(await wire.sync())).toEqual([3]);
  });
});
