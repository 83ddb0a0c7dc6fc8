/** The part of the suite about streams: opening, reading, removing, rules and usage. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { HistoryStore } from "../contract/history.ts";
import { messageBytes } from "../contract/size.ts";
import type { SuiteContext } from "./history.suite.ts";
import { ALL, appendTexts, batchOf, KEEP, message, numbers, readTexts, texts } from "./kit.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");

export function streamTests({ newHistory, wait }: SuiteContext): void {
  test("opening begins a stream once, and shows where it is", async () => {
    const store = await newHistory();
    expect(await store.read(APP, "channel", ALL)).toBeUndefined();
    const begun = await store.open(APP, "channel", KEEP);
    expect(begun).toMatchObject({ top: 0, topCheck: "0", first: 1, firstCheck: "0" });
    expect(begun.epoch).toMatch(/^[a-z][a-z0-9]{0,15}$/);
    const batch = batchOf({}, {});
    expect((await store.append(batch))[0]?.epoch).toBe(begun.epoch);
    expect(await store.open(APP, "channel", KEEP)).toEqual({ ...begun, top: 2, topCheck: batch.check });
  });

  test("a read after an offset gives the oldest first, and says whether there is more", async () => {
    const store = await filled(await newHistory(), 10);
    const page = await store.read(APP, "channel", { ...ALL, after: 3, limit: 4 });
    expect(texts(page?.messages ?? [])).toEqual(["4", "5", "6", "7"]);
    expect(page?.more).toBeTrue();
    const rest = await store.read(APP, "channel", { ...ALL, after: 7, limit: 3 });
    expect(texts(rest?.messages ?? [])).toEqual(["8", "9", "10"]);
    expect(rest?.more).toBeFalse();
    expect((await store.read(APP, "channel", { ...ALL, after: 10 }))?.messages).toEqual([]);
  });

  test("a read before an offset, or of neither, gives the newest first", async () => {
    const store = await filled(await newHistory(), 10);
    const range = { limit: 3, maxBytes: 1_000_000 };
    const newest = await store.read(APP, "channel", range);
    expect(texts(newest?.messages ?? [])).toEqual(["10", "9", "8"]);
    expect(newest?.more).toBeTrue();
    expect(newest?.check).toBeUndefined();
    const older = await store.read(APP, "channel", { ...range, before: 4 });
    expect(texts(older?.messages ?? [])).toEqual(["3", "2", "1"]);
    expect(older?.more).toBeFalse();
  });

  test("a read up to an offset, or since a time, gives no others", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 3));
    wait(60_000);
    const [fourth] = await appendTexts(store, numbers(4, 6));
    expect(await readTexts(store, { upTo: 4 })).toEqual(["1", "2", "3", "4"]);
    // The clocks of the store and of this process may differ by a little.
    const sinceMs = (fourth?.time ?? 0) - 20_000;
    expect(await readTexts(store, { sinceMs })).toEqual(["4", "5", "6"]);
    const newest = await store.read(APP, "channel", { limit: 2, maxBytes: 1_000_000, sinceMs, upTo: 5 });
    expect(texts(newest?.messages ?? [])).toEqual(["5", "4"]);
    expect(newest?.more).toBeFalse();
    expect(await readTexts(store, { sinceMs: sinceMs + 600_000 })).toEqual([]);
  });

  test("a page ends before its bytes are exceeded, but has at least one message", async () => {
    const store = await filled(await newHistory(), 5);
    const each = messageBytes(message({ dataJson: '"1"' }));
    expect(await readTexts(store, { maxBytes: 3 * each })).toEqual(["1", "2", "3"]);
    expect(await readTexts(store, { maxBytes: 3 * each - 1 })).toEqual(["1", "2"]);
    const one = await store.read(APP, "channel", { ...ALL, maxBytes: 1 });
    expect(texts(one?.messages ?? [])).toEqual(["1"]);
    expect(one?.more).toBeTrue();
  });

  test("a page has the check at the offset that was named, if the stream still knows it", async () => {
    const store = await newHistory();
    const keep = { messages: 2, seconds: 3600 };
    const batches = numbers(1, 5).map((text) => batchOf({ keep, dataJson: `"${text}"` }));
    for (const batch of batches) await store.append(batch);
    const checkAt = async (after: number) => (await store.read(APP, "channel", { ...ALL, after }))?.check;
    const expected = [
      undefined,
      undefined,
      undefined,
      batches[2]?.check,
      batches[3]?.check,
      batches[4]?.check,
      undefined,
    ];
    for (const phase of ["before", "after"]) {
      for (const [offset, check] of expected.entries())
        expect([phase, offset, await checkAt(offset)]).toEqual([phase, offset, check]);
      const page = await store.read(APP, "channel", { before: 5, limit: 9, maxBytes: 1_000_000 });
      expect(page?.check).toBe(batches[4]?.check as string);
      expect(page?.state).toMatchObject({ first: 4, firstCheck: batches[2]?.check as string, top: 5 });
      expect(texts(page?.messages ?? [])).toEqual(["4"]);
      while (await store.trim(() => Number.POSITIVE_INFINITY));
    }
  });

  test("the position before the first message has the check 0", async () => {
    const store = await filled(await newHistory(), 2);
    expect((await store.read(APP, "channel", { ...ALL, after: 0 }))?.check).toBe("0");
  });

  test("removing begins a new epoch at once, with nothing in it", async () => {
    const store = await filled(await newHistory(), 300);
    const { epoch } = await store.open(APP, "channel", KEEP);
    expect(await store.remove(APP, "unknown")).toBeFalse();
    expect(await store.remove(APP, "channel")).toBeTrue();
    const page = await store.read(APP, "channel", ALL);
    expect(page?.messages).toEqual([]);
    expect(page?.state).toMatchObject({ top: 0, first: 1 });
    expect(page?.state.epoch).not.toBe(epoch);
    expect((await appendTexts(store, ["new"]))[0]).toMatchObject({ epoch: page?.state.epoch ?? "", offset: 1 });
    while (await store.trim(() => Number.POSITIVE_INFINITY));
    expect(await readTexts(store)).toEqual(["new"]);
  });

  test("heads show streams that were appended to or removed within some time", async () => {
    const store = await newHistory();
    await appendTexts(store, ["a"], { channel: "old" });
    wait(60_000);
    await appendTexts(store, ["a", "b"], { channel: "new" });
    await store.remove(APP, "old");
    const heads = (await store.heads(20_000)).heads.toSorted((a, b) => (a.channel < b.channel ? -1 : 1));
    const { epoch, topCheck } = await store.open(APP, "new", KEEP);
    expect(heads[0]).toEqual({ app: APP, channel: "new", epoch, offset: 2, check: topCheck });
    expect(heads[1]).toMatchObject({ app: APP, channel: "old", offset: 0 });
    wait(60_000);
    expect((await store.heads(20_000)).heads).toEqual([]);
  });

  test("new rules remove streams without history, and change what others keep", async () => {
    const store = await newHistory();
    for (const channel of numbers(1, 30)) await appendTexts(store, numbers(1, 5), { channel });
    await appendTexts(store, ["x"], { spaceId: OTHER, channel: "1" });
    await store.applyRules(APP, (channel) => (Number(channel) > 10 ? { messages: 2, seconds: 60 } : undefined));
    expect(await store.read(APP, "10", ALL)).toBeUndefined();
    expect(await readTexts(store, {}, "11")).toEqual(["4", "5"]);
    expect(await readTexts(store, {}, "1", OTHER)).toEqual(["x"]);
    expect((await store.usage(APP)).streams).toBe(20);
    wait(61_000);
    expect(await readTexts(store, {}, "11")).toEqual([]);
    const before = await store.open(APP, "1", KEEP);
    expect(before).toMatchObject({ top: 0, first: 1 });
  });

  test("the streams of a removed application are gone", async () => {
    const store = await newHistory();
    for (const channel of numbers(1, 5)) await appendTexts(store, ["a"], { channel });
    await appendTexts(store, ["x"], { spaceId: OTHER });
    await store.removeSpace(APP);
    expect(await store.usage(APP)).toEqual({ streams: 0, filled: 0, messages: 0, bytes: 0 });
    expect(await store.read(APP, "3", ALL)).toBeUndefined();
    expect((await store.usage(OTHER)).messages).toBe(1);
  });

  test("totals are those of all applications and their rooms", async () => {
    const store = await newHistory();
    expect(await store.totals()).toEqual({ streams: 0, messages: 0, bytes: 0, isAbout: false });
    await store.append(batchOf({}, { channel: "second" }, { spaceId: OTHER }));
    const bytes = 3 * messageBytes(message());
    expect(await store.totals()).toEqual({ streams: 3, messages: 3, bytes, isAbout: false });
    await store.removeSpace(APP);
    expect(await store.totals()).toMatchObject({ streams: 1, messages: 1 });
  });

  test("usage counts what an application has stored", async () => {
    const store = await newHistory();
    expect(await store.usage(APP)).toEqual({ streams: 0, filled: 0, messages: 0, bytes: 0 });
    await store.append(batchOf({ id: "i" }, { channel: "x" }, { id: "i" }));
    await store.open(APP, "empty", KEEP);
    const bytes = messageBytes(message({ id: "i" })) + messageBytes(message());
    expect(await store.usage(APP)).toEqual({ streams: 3, filled: 2, messages: 2, bytes });
    await store.remove(APP, "x");
    expect(await store.usage(APP)).toEqual({
      streams: 3,
      filled: 1,
      messages: 1,
      bytes: messageBytes(message({ id: "i" })),
    });
  });
}

async function filled(store: HistoryStore, count: number): Promise<HistoryStore> {
  await appendTexts(store, numbers(1, count));
  return store;
}
