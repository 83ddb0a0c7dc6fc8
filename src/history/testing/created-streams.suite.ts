/** The suite of every implementation of CreatedStreamStore: creation, writing, producers, and how streams end. Forks have a file of their own. */
import { describe, expect, test } from "bun:test";
import { streamSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { PRODUCERS_PER_OWNER_MAX } from "../contract/limits.ts";
import { forkTests } from "./created-forks.ts";
import {
  batchOfWrites,
  created,
  creation,
  LIMITS,
  messagesFor,
  NAME,
  outcomes,
  producer,
  SPACE,
  textsIn,
  write,
  writeOf,
} from "./created-kit.ts";
import type { SuiteContext } from "./history.suite.ts";
import { ALL, KEEP, message, readTexts, trimAll } from "./kit.ts";

export function createdStreamTests(context: SuiteContext): void {
  describe("created streams", () => {
    creationTests(context);
    writeTests(context);
    producerTests(context);
    endTests(context);
    forkTests(context);
  });
}

function creationTests({ newHistory, reopen }: SuiteContext): void {
  test("a stream is there from its creation on, with what it was created with", async () => {
    const { created: store } = await newHistory();
    expect(await store.describe(NAME)).toBeUndefined();
    expect(await store.read(NAME, ALL)).toBeUndefined();
    const stream = await created(store, { contentType: "text/plain; charset=utf-8", ttlSeconds: 60 }, ["a", "b"]);
    expect(stream).toMatchObject({ top: 2, first: 1, isClosed: false, lineage: [] });
    expect(stream.config).toEqual({ contentType: "text/plain; charset=utf-8", ttlSeconds: 60, expiresAtMs: undefined });
    expect(stream.endsMs - stream.usedMs).toBe(60_000);
    expect(await textsIn(store)).toEqual(["a", "b"]);
    expect(await store.describe(NAME)).toEqual(stream);
  });

  test("a second creation is the first one if both agree, and a conflict otherwise", async () => {
    const { created: store } = await newHistory();
    const stream = await created(store, {}, ["a"]);
    const again = await store.create(creation({}, ["b"]));
    expect(again).toEqual({ outcome: "exists", stream, appended: [] });
    const others = [
      { contentType: "text/plain" },
      { ttlSeconds: 5 },
      { expiresAtMs: Date.now() + 9000 },
      { isClosed: true },
    ];
    for (const other of others) expect((await store.create(creation(other))).outcome).toBe("conflict");
    expect((await store.create(creation({ contentType: "application/json; charset=utf-8" }))).outcome).toBe("exists");
    expect(await textsIn(store)).toEqual(["a"]);
  });

  test("a stream survives the end of its process, and history does not see it", async () => {
    const history = await newHistory();
    const stream = await created(history.created, {}, ["a"]);
    await history.close();
    const later = await reopen();
    expect(await later.created.describe(NAME)).toEqual(stream);
    expect(await readTexts(later)).toBeUndefined();
    expect(await later.usage(anAppId("app"))).toMatchObject({ streams: 0, bytes: 0 });
    expect(await later.usage(SPACE)).toMatchObject({ streams: 1, messages: 1 });
  });

  test("an application has at most so many streams, and so many bytes in them", async () => {
    const { created: store } = await newHistory();
    for (let at = 0; at < LIMITS.streams; at++) await created(store, { channel: `c${at}` });
    expect(outcomes([await store.create(creation({ channel: "more" }))])).toEqual(["too many streams"]);
    expect((await store.create(creation({ channel: "c1" }))).outcome).toBe("exists");
    const small = { ...LIMITS, streams: 100, streamBytes: 1000 };
    expect(outcomes([await store.create(creation({ channel: "x", limits: small }, ["x".repeat(1000)]))])).toEqual([
      "stream full",
    ]);
    const tight = { ...small, appBytes: 500 };
    expect(outcomes([await store.create(creation({ channel: "x", limits: tight }, ["x".repeat(500)]))])).toEqual([
      "application full",
    ]);
    expect(await store.describe({ spaceId: SPACE, channel: "x" })).toBeUndefined();
  });

  test("trimming and limits of history leave created streams alone", async () => {
    const history = await newHistory();
    for (let at = 0; at < LIMITS.streams; at++) await created(history.created, { channel: `c${at}` }, ["a"]);
    await trimAll(history, () => 0);
    expect(await history.usage(SPACE)).toMatchObject({ streams: LIMITS.streams, messages: LIMITS.streams });
  });
}

function writeTests({ newHistory, reopen }: SuiteContext): void {
  test("a write is stored as a whole, and says where the stream ends", async () => {
    const { created: store } = await newHistory();
    const { epoch } = await created(store);
    const result = await write(store, ["a", "b"]);
    if (result.outcome !== "written") throw new Error(result.outcome);
    expect(result.appended.map(({ offset }) => offset)).toEqual([1, 2]);
    expect(result.end).toMatchObject({ epoch, offset: 2 });
    expect(await store.describe(NAME)).toMatchObject({ top: 2, topCheck: result.end.check });
  });

  test("nothing is written to a stream that does not exist, of another type, or with a body that is not of its type", async () => {
    const { created: store } = await newHistory();
    expect((await write(store, ["a"])).outcome).toBe("not found");
    await created(store);
    expect((await write(store, ["a"], { contentType: "text/plain" })).outcome).toBe("other type");
    expect((await write(store, [], { isMalformed: true })).outcome).toBe("malformed");
    expect((await write(store, [], { isMalformed: true, contentType: "text/plain" })).outcome).toBe("other type");
    expect((await write(store, ["a"], { contentType: "application/json;charset=utf-8" })).outcome).toBe("written");
    expect(await textsIn(store)).toEqual(["a"]);
  });

  test("a closed stream takes no more, and is read as before", async () => {
    const { created: store } = await newHistory();
    await created(store);
    expect(await write(store, ["last"], { closes: true })).toMatchObject({ outcome: "written", isClosed: true });
    expect(await write(store, ["more"])).toMatchObject({ outcome: "closed", isClosed: true, end: { offset: 1 } });
    expect(await write(store, ["more"], { closes: true })).toMatchObject({ outcome: "closed" });
    expect(await write(store, ["more"], { contentType: "text/plain" })).toMatchObject({ outcome: "closed" });
    // Closing again changes nothing, also with any content type.
    expect(await write(store, [], { closes: true, contentType: "text/plain" })).toMatchObject({
      outcome: "duplicate",
      isClosed: true,
    });
    expect(await textsIn(store)).toEqual(["last"]);
    expect(await store.describe(NAME)).toMatchObject({ isClosed: true });
  });

  test("Stream-Seq grows, compared by its characters", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const seqs = ["09", "10", "10", "2", "11", "B", "a"];
    const results = [];
    for (const seq of seqs) results.push(await write(store, [seq], { seq }));
    expect(outcomes(results)).toEqual([
      "written",
      "written",
      "seq not increasing",
      "written",
      "seq not increasing",
      "written",
      "written",
    ]);
    expect((await write(store, ["without"])).outcome).toBe("written");
    expect((await write(store, ["A"], { seq: "A" })).outcome).toBe("seq not increasing");
  });

  test("a stream and an application have limits, which refuse a write as a whole", async () => {
    const { created: store } = await newHistory();
    await created(store);
    await created(store, { channel: "other" });
    const limits = { streamBytes: 3000, appBytes: 4000 };
    const big = "x".repeat(1000);
    expect((await write(store, [big, big], { limits })).outcome).toBe("written");
    expect((await write(store, ["a", big], { limits })).outcome).toBe("stream full");
    const results = await store.write(
      batchOfWrites(writeOf([big], { limits, channel: "other" }), writeOf([big], { limits, channel: "other" })),
    );
    expect(outcomes(results)).toEqual(["written", "application full"]);
    expect(await textsIn(store, "other")).toEqual([big]);
  });

  test("writes of a batch are decided one after the other, each on its own", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const results = await store.write(
      batchOfWrites(
        writeOf(["a"]),
        writeOf(["x"], { channel: "nowhere" }),
        writeOf(["b", "c"], { closes: true }),
        writeOf(["d"]),
      ),
    );
    expect(outcomes(results)).toEqual(["written", "not found", "written", "closed"]);
    expect(await textsIn(store)).toEqual(["a", "b", "c"]);
    const [first, , third] = results;
    if (first?.outcome !== "written" || third?.outcome !== "written") throw new Error("not written");
    expect(first.end.offset).toBe(1);
    expect(third.appended.map(({ offset }) => offset)).toEqual([2, 3]);
  });

  test("a batch is settled with its results as long as it is the last one, also after a restart", async () => {
    const history = await newHistory();
    await created(history.created);
    const batch = batchOfWrites(
      writeOf(["a", "b"], { producer: producer(0, 0) }),
      writeOf(["x"], { channel: "nowhere" }),
    );
    const results = await history.created.write(batch);
    expect(await history.created.settle(batch)).toEqual(results);
    await history.close();
    const later = (await reopen()).created;
    expect(await later.settle(batch)).toEqual(results);
    expect(await later.settle(batchOfWrites(writeOf(["c"])))).toBeUndefined();
    expect(await textsIn(later)).toEqual(["a", "b"]);
  });

  test("a message with an id is stored once, as anywhere else", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const withId = writeOf([], { messages: messagesFor(["a"], { id: "i", idScope: "ann" }) });
    const [first, second] = await store.write(batchOfWrites(withId, withId));
    if (first?.outcome !== "written" || second?.outcome !== "written") throw new Error("refused");
    expect(second.appended).toEqual([{ ...(first.appended[0] ?? expect.anything()), isDuplicate: true } as never]);
    expect(await textsIn(store)).toEqual(["a"]);
  });

  test("a channel with history is written to without being created, and keeps what its rule says", async () => {
    const history = await newHistory();
    const app = anAppId("app");
    const toHistory = (data: readonly string[], change = {}) =>
      write(history.created, data, {
        spaceId: app,
        keep: KEEP,
        ...change,
        messages: data.map((text) => message({ dataJson: JSON.stringify(text) })),
      });
    expect(await toHistory(["a", "b"])).toMatchObject({ outcome: "written", isClosed: false, end: { offset: 2 } });
    expect((await toHistory(["c"], { contentType: "text/plain" })).outcome).toBe("other type");
    expect((await toHistory(["c"], { producer: producer(0, 0) })).outcome).toBe("written");
    expect((await toHistory(["c"], { producer: producer(0, 0) })).outcome).toBe("duplicate");
    expect(await readTexts(history)).toEqual(["a", "b", "c"]);
    expect(await history.created.describe({ spaceId: app, channel: "channel" })).toBeUndefined();
    // The history is deleted; a repeated write must not bring it back.
    await history.remove(app, "channel");
    expect((await toHistory(["c"], { producer: producer(0, 0) })).outcome).toBe("duplicate");
    expect((await toHistory(["d"], { producer: producer(0, 1) })).outcome).toBe("written");
    expect(await readTexts(history)).toEqual(["d"]);
  });
}

function producerTests({ newHistory, wait }: SuiteContext): void {
  test("a producer's writes are stored once, in the order of their numbers", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const send = (epoch: number, seq: number, text: string) => write(store, [text], { producer: producer(epoch, seq) });
    expect(await send(0, 1, "x")).toEqual({ outcome: "gap", expected: 0 });
    expect(await send(0, 0, "a")).toMatchObject({ outcome: "written", producerSeq: 0 });
    expect(await send(0, 1, "b")).toMatchObject({ outcome: "written", producerSeq: 1 });
    expect(await send(0, 0, "a")).toMatchObject({ outcome: "duplicate", producerSeq: 1, end: { offset: 2 } });
    expect(await send(0, 3, "x")).toEqual({ outcome: "gap", expected: 2 });
    expect(await send(1, 1, "x")).toEqual({ outcome: "bad epoch" });
    expect(await send(1, 0, "c")).toMatchObject({ outcome: "written", producerSeq: 0 });
    expect(await send(0, 2, "x")).toMatchObject({ outcome: "stale epoch", epoch: 1 });
    expect(await textsIn(store)).toEqual(["a", "b", "c"]);
    expect(await store.producers(NAME, 10)).toEqual([
      { owner: "key", id: "p", epoch: 1, seq: 0, usedMs: expect.any(Number) },
    ]);
  });

  test("the same name of another owner is another producer: nobody fences another", async () => {
    const { created: store } = await newHistory();
    await created(store);
    expect((await write(store, ["a"], { producer: producer(5, 0) })).outcome).toBe("written");
    expect((await write(store, ["b"], { producer: producer(0, 0, { owner: "ann" }) })).outcome).toBe("written");
    expect((await write(store, ["c"], { producer: producer(5, 1) })).outcome).toBe("written");
  });

  test("a refused write does not count: the same number is accepted later", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const one = producer(0, 0);
    expect((await write(store, [], { isMalformed: true, producer: one })).outcome).toBe("malformed");
    expect(
      (await write(store, ["x".repeat(2000)], { producer: one, limits: { ...LIMITS, streamBytes: 1000 } })).outcome,
    ).toBe("stream full");
    expect((await write(store, ["a"], { producer: one })).outcome).toBe("written");
  });

  test("the write that has closed a stream is repeated without an effect; another one is refused", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const close = (seq: number, data: readonly string[], epoch = 1) =>
      write(store, data, { closes: true, producer: producer(epoch, seq) });
    expect((await write(store, ["a"], { producer: producer(1, 0) })).outcome).toBe("written");
    expect(await close(1, ["end"])).toMatchObject({ outcome: "written", isClosed: true });
    expect(await close(1, ["another body"])).toMatchObject({ outcome: "duplicate", isClosed: true, producerSeq: 1 });
    expect((await close(2, [])).outcome).toBe("closed");
    expect((await write(store, ["x"], { producer: producer(0, 5) })).outcome).toBe("stale epoch");
    expect(await textsIn(store)).toEqual(["a", "end"]);
  });

  test("one owner has at most so many producers in a stream", async () => {
    const { created: store } = await newHistory();
    await created(store);
    const writes = Array.from({ length: PRODUCERS_PER_OWNER_MAX }, (_, at) =>
      writeOf(["a"], { producer: producer(0, 0, { id: `p${at}` }) }),
    );
    for (const { outcome } of await store.write(batchOfWrites(...writes))) expect(outcome).toBe("written");
    expect((await write(store, ["a"], { producer: producer(0, 0, { id: "more" }) })).outcome).toBe(
      "too many producers",
    );
    expect((await write(store, ["a"], { producer: producer(0, 1, { id: "p7" }) })).outcome).toBe("written");
    expect((await write(store, ["a"], { producer: producer(0, 0, { owner: "ann" }) })).outcome).toBe("written");
  });

  test("producers of a stream stay as long as it does, those of a history for a week", async () => {
    const history = await newHistory();
    const app = anAppId("app");
    const toHistory = () =>
      write(history.created, ["a"], { spaceId: app, keep: KEEP, producer: producer(3, 0), messages: [message()] });
    await created(history.created, { idleSeconds: 30 * 86_400 });
    await write(history.created, ["a"], { producer: producer(0, 0) });
    expect((await toHistory()).outcome).toBe("written");
    wait(8 * 86_400_000);
    while (await history.created.expire());
    expect(await history.created.producers({ spaceId: app, channel: "channel" }, 10)).toEqual([]);
    expect((await history.created.producers(NAME, 10)).length).toBe(1);
  });
}

function endTests({ newHistory, wait }: SuiteContext): void {
  test("a deleted stream is not there, and one of its name begins anew", async () => {
    const { created: store } = await newHistory();
    const { epoch } = await created(store, {}, ["a"]);
    await write(store, ["b"], { producer: producer(0, 0), seq: "5" });
    expect(await store.delete(NAME)).toBe("deleted");
    expect(await store.delete(NAME)).toBe("not found");
    expect(await textsIn(store)).toBe("not found");
    expect((await write(store, ["c"])).outcome).toBe("not found");
    const again = await created(store, { contentType: "text/plain" });
    expect(again).toMatchObject({ top: 0, isClosed: false, bytes: 0 });
    expect(again.epoch).not.toBe(epoch);
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
