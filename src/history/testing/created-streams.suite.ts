/** The suite of every implementation of CreatedStreamStore: creation, writing, producers, and how streams end. Forks have a file of their own. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { endTests } from "./created-ends.ts";
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
import { producerTests } from "./created-producers.ts";
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
    const second = await store.create(creation({}, ["b"]));
    expect(second).toEqual({ outcome: "exists", stream, appended: [] });
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

  test("an application has a limit of streams, and of bytes in them", async () => {
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
