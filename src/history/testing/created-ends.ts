/** The part of the suite of created streams about their end, and about lists. */
import { expect, test } from "bun:test";
import { streamSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { created, LIMITS, NAME, producer, SPACE, textsIn, write } from "./created-kit.ts";
import type { SuiteContext } from "./history.suite.ts";
import { trimAll } from "./kit.ts";

export function endTests({ newHistory, wait }: SuiteContext): void {
  test("a deleted stream is not there, and one of its name begins anew", async () => {
    const { created: store } = await newHistory();
    const { epoch } = await created(store, {}, ["a"]);
    await write(store, ["b"], { producer: producer(0, 0), seq: "5" });
    expect(await store.delete(NAME)).toBe("deleted");
    expect(await store.delete(NAME)).toBe("not found");
    expect(await textsIn(store)).toBe("not found");
    expect((await write(store, ["c"])).outcome).toBe("not found");
    const second = await created(store, { contentType: "text/plain" });
    expect(second).toMatchObject({ top: 0, isClosed: false, bytes: 0 });
    expect(second.epoch).not.toBe(epoch);
    expect(await store.producers(NAME, 10)).toEqual([]);
    expect((await write(store, ["c"], { contentType: "text/plain", seq: "1" })).outcome).toBe("written");
  });

  test("a stream ends when it was not used for its time to live; reads, writes and uses begin it again", async () => {
    const { created: store } = await newHistory();
    await created(store, { ttlSeconds: 100 });
    wait(60_000);
    expect((await write(store, ["a"])).outcome).toBe("written");
    wait(60_000);
    await store.use(NAME);
    wait(60_000);
    expect(await textsIn(store)).toEqual(["a"]);
    wait(41_000);
    expect(await textsIn(store)).toBe("not found");
    expect((await write(store, ["b"])).outcome).toBe("not found");
    expect(await store.delete(NAME)).toBe("not found");
    expect((await created(store)).top).toBe(0);
  });

  test("a stream ends at its time, and at the latest when it was idle for as long as its rule says", async () => {
    const { created: store } = await newHistory();
    await created(store, { expiresAtMs: Date.now() + 50_000 });
    await created(store, { channel: "idle", ttlSeconds: 1000, idleSeconds: 100 });
    wait(40_000);
    await store.use(NAME);
    await store.use({ spaceId: SPACE, channel: "idle" });
    wait(15_000);
    expect(await textsIn(store)).toBe("not found");
    wait(70_000);
    expect(await textsIn(store, "idle")).toEqual([]);
    wait(20_000);
    expect(await textsIn(store, "idle")).toBe("not found");
  });

  test("expired streams are removed, with their messages", async () => {
    const history = await newHistory();
    await created(history.created, { ttlSeconds: 10 }, ["a", "b"]);
    await created(history.created, { channel: "stays" }, ["c"]);
    wait(11_000);
    while (await history.created.expire());
    await trimAll(history);
    expect(await history.usage(SPACE)).toMatchObject({ streams: 1, messages: 1 });
    expect(await textsIn(history.created, "stays")).toEqual(["c"]);
  });

  test("what has changed lately is listed: writes, closing, deletion", async () => {
    const { created: store } = await newHistory();
    await created(store, { channel: "one" });
    await created(store, { channel: "two" });
    await created(store, { channel: "quiet" });
    wait(60_000);
    const write1 = await write(store, ["a"], { channel: "one", closes: true });
    await store.delete({ spaceId: SPACE, channel: "two" });
    const changes = new Map((await store.changes(20_000)).map(({ channel, now }) => [channel, now]));
    if (write1.outcome !== "written") throw new Error(write1.outcome);
    expect(changes.get("one")).toMatchObject({ top: 1, topCheck: write1.end.check, isClosed: true });
    expect(changes.has("two")).toBeTrue();
    expect(changes.get("two")).toBeUndefined();
    expect(changes.has("quiet")).toBeFalse();
  });

  test("streams are listed by name, page by page, and found by a part of it", async () => {
    const { created: store } = await newHistory();
    for (const channel of ["a/1", "b/1", "a/2", "b%2"]) await created(store, { channel }, ["x"]);
    await write(store, ["y"], { channel: "a/2", producer: producer(0, 0) });
    await created(store, { spaceId: streamSpaceOf(anAppId("other")), channel: "foreign" });
    const names = async (page: { after?: string; contains?: string; limit: number }) =>
      (await store.list(SPACE, page)).map(({ channel }) => channel);
    expect(await names({ limit: 3 })).toEqual(["a/1", "a/2", "b%2"]);
    expect(await names({ limit: 3, after: "b%2" })).toEqual(["b/1"]);
    expect(await names({ limit: 9, contains: "/1" })).toEqual(["a/1", "b/1"]);
    expect(await names({ limit: 9, contains: "%" })).toEqual(["b%2"]);
    const [, second] = await store.list(SPACE, { limit: 2 });
    expect(second).toMatchObject({ channel: "a/2", top: 2, producers: 1, isClosed: false });
  });

  test("a long list is whole", async () => {
    const { created: store } = await newHistory();
    const channels = Array.from({ length: 120 }, (_, at) => `long/${String(at).padStart(3, "0")}`);
    const limits = { ...LIMITS, streams: 200 };
    for (const channel of channels) await created(store, { channel, limits });
    const names = (await store.list(SPACE, { limit: 110 })).map(({ channel }) => channel);
    expect(names).toEqual(channels.slice(0, 110));
    expect(await store.list(SPACE, { limit: 110, contains: "long/119" })).toHaveLength(1);
  });

  test("streams whose rule has ended are deleted, and those of a deleted application", async () => {
    const history = await newHistory();
    const store = history.created;
    for (const channel of ["keep/1", "drop/1", "drop/2"]) await created(store, { channel }, ["x"]);
    await created(store, { channel: "fork", fork: { source: "drop/1", at: "end", more: 0 } });
    await store.applyRules(SPACE, (channel) => !channel.startsWith("drop/"));
    expect(await textsIn(store, "drop/1")).toBe("not found");
    expect(await textsIn(store, "keep/1")).toEqual(["x"]);
    expect(await textsIn(store, "fork")).toEqual(["x"]);
    expect(
      (await store.changes(60_000))
        .filter(({ now }) => !now)
        .map(({ channel }) => channel)
        .sort(),
    ).toEqual(["drop/1", "drop/2"]);
    await store.delete({ spaceId: SPACE, channel: "keep/1" });
    await created(store, { channel: "drop/3" }, ["x"]);
    const fork = { source: "drop/3", at: "end", more: 0 } as const;
    await created(store, { channel: "drop/fork", fork, contentType: undefined });
    await created(store, { channel: "keep/3" }, ["x"]);
    await created(store, { channel: "drop/fork2", fork: { ...fork, source: "keep/3" }, contentType: undefined });
    expect(await store.delete({ spaceId: SPACE, channel: "keep/3" })).toBe("deleted");
    expect(await store.describe({ spaceId: SPACE, channel: "keep/3" })).toBe("gone");
    await store.applyRules(SPACE, (channel) => !channel.startsWith("drop/"));
    // Its last fork went with the rule: the name is free.
    expect(await store.describe({ spaceId: SPACE, channel: "keep/3" })).toBeUndefined();
    await store.applyRules(SPACE, () => false);
    await trimAll(history);
    expect(await history.usage(SPACE)).toMatchObject({ streams: 0, messages: 0, bytes: 0 });
  });
}
