/** The part of the suite about trimming: by count, by age, by bytes, and of streams that nothing uses. */
import { expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { EMPTY_STREAM_KEPT_MS, EXPIRED_STREAM_KEPT_MS } from "../contract/limits.ts";
import { messageBytes } from "../contract/size.ts";
import type { SuiteContext } from "./history.suite.ts";
import { ALL, appendTexts, batchOf, KEEP, message, numbers, readTexts, STREAMS_MAX, trimAll } from "./kit.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");

export function trimTests({ newHistory, reopen, wait }: SuiteContext): void {
  test("more messages than a channel keeps are not shown, and trimming deletes them", async () => {
    const store = await newHistory();
    const keep = { messages: 10, seconds: 3600 };
    await appendTexts(store, numbers(1, 1500), { keep });
    expect(await readTexts(store)).toEqual(numbers(1491, 1500));
    await trimAll(store);
    expect(await readTexts(store)).toEqual(numbers(1491, 1500));
    expect((await store.usage(APP)).messages).toBe(10);
    expect((await appendTexts(store, ["next"], { keep }))[0]?.offset).toBe(1501);
  });

  test("messages that a process left too many of are trimmed by the next", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 50), { keep: { messages: 10, seconds: 3600 } });
    await store.close();
    const reopened = await reopen();
    expect(await reopened.usage(APP)).toMatchObject({ streams: 1, filled: 1, messages: 50 });
    await trimAll(reopened);
    expect((await reopened.usage(APP)).messages).toBe(10);
  });

  test("messages that are too old are not shown, and trimming deletes them", async () => {
    const store = await newHistory();
    const keep = { messages: 1000, seconds: 60 };
    await appendTexts(store, numbers(1, 3), { keep });
    wait(30_000);
    await appendTexts(store, numbers(4, 5), { keep });
    wait(40_000);
    const before = await store.open(APP, "channel", keep);
    expect(before.first).toBe(4);
    expect(await readTexts(store)).toEqual(["4", "5"]);
    await trimAll(store);
    expect(await store.open(APP, "channel", keep)).toEqual(before);
    expect((await store.usage(APP)).messages).toBe(2);
    wait(60_000);
    await trimAll(store);
    const empty = await store.open(APP, "channel", keep);
    expect(empty).toEqual({ ...before, first: 6, firstCheck: before.topCheck });
    expect(await store.usage(APP)).toEqual({ streams: 1, filled: 0, messages: 0, bytes: 0 });
    expect((await appendTexts(store, ["6"], { keep }))[0]?.offset).toBe(6);
    expect(await readTexts(store)).toEqual(["6"]);
    expect(await store.usage(APP)).toMatchObject({ streams: 1, filled: 1, messages: 1 });
  });

  test("an application over its bytes loses the oldest messages of its largest channel", async () => {
    const store = await newHistory();
    const each = messageBytes(message({ dataJson: '"1"' }));
    await appendTexts(store, numbers(1, 5), { channel: "small" });
    await appendTexts(store, numbers(1, 9), { channel: "large" });
    await appendTexts(store, numbers(1, 9), { spaceId: OTHER });
    await trimAll(store, (app) => (app === "app" ? 12 * each : Number.POSITIVE_INFINITY));
    expect(await readTexts(store, {}, "small")).toEqual(numbers(1, 5));
    expect(await readTexts(store, {}, "large")).toEqual(numbers(3, 9));
    expect((await store.usage(OTHER)).messages).toBe(9);
    await trimAll(store, (app) => (app === "app" ? 6 * each : Number.POSITIVE_INFINITY));
    // Both are trimmed once they are equally large.
    const usage = await store.usage(APP);
    expect(usage.bytes).toBeLessThanOrEqual(6 * each);
    expect(usage.messages).toBeGreaterThanOrEqual(5);
    expect((await readTexts(store, {}, "small"))?.length).toBeGreaterThanOrEqual(2);
  });

  test("an application that may store nothing keeps nothing", async () => {
    const store = await newHistory();
    await appendTexts(store, numbers(1, 400));
    await trimAll(store, () => 0);
    expect(await store.usage(APP)).toEqual({ streams: 1, filled: 0, messages: 0, bytes: 0 });
    const { top, first } = await store.open(APP, "channel", KEEP);
    expect([top, first]).toEqual([400, 401]);
  });

  test("a stream that never had a message is forgotten when nothing has used it for an hour", async () => {
    const store = await newHistory();
    const { epoch } = await store.open(APP, "channel", KEEP);
    wait(EMPTY_STREAM_KEPT_MS - 60_000);
    // Opening it again counts as use.
    expect((await store.open(APP, "channel", KEEP)).epoch).toBe(epoch);
    wait(120_000);
    await trimAll(store);
    expect((await store.open(APP, "channel", KEEP)).epoch).toBe(epoch);
    wait(EMPTY_STREAM_KEPT_MS + 60_000);
    await trimAll(store);
    expect(await store.read(APP, "channel", ALL)).toBeUndefined();
    expect((await store.open(APP, "channel", KEEP)).epoch).not.toBe(epoch);
  });

  test("a stream whose messages have all expired is forgotten after a day without use", async () => {
    const store = await newHistory();
    const [first] = await appendTexts(store, ["a"], { keep: { messages: 10, seconds: 60 } });
    wait(EMPTY_STREAM_KEPT_MS * 2);
    await trimAll(store);
    expect((await store.read(APP, "channel", ALL))?.state).toMatchObject({
      epoch: first?.epoch ?? "",
      top: 1,
      first: 2,
    });
    wait(EXPIRED_STREAM_KEPT_MS);
    await trimAll(store);
    expect(await store.usage(APP)).toEqual({ streams: 0, filled: 0, messages: 0, bytes: 0 });
    const [second] = await appendTexts(store, ["b"]);
    expect(second?.offset).toBe(1);
    expect(second?.epoch).not.toBe(first?.epoch as string);
  });

  test("an application with too many streams loses those that were used least recently", async () => {
    const store = await newHistory();
    for (const channel of numbers(1, 20)) await appendTexts(store, ["old"], { channel });
    wait(60_000);
    for (const channel of numbers(11, STREAMS_MAX + 15)) await appendTexts(store, ["new"], { channel });
    await trimAll(store);
    expect(await store.usage(APP)).toMatchObject({ streams: STREAMS_MAX });
    expect((await Promise.all(numbers(1, 10).map((channel) => readTexts(store, {}, channel)))).filter(Boolean)).toEqual(
      [],
    );
  });

  test("streams that were only opened do not push out messages", async () => {
    const store = await newHistory();
    for (const channel of numbers(1, 5)) await appendTexts(store, ["kept"], { channel });
    wait(60_000);
    for (const nr of numbers(1, STREAMS_MAX + 20)) await store.open(APP, `opened ${nr}`, KEEP);
    await trimAll(store);
    expect(await store.usage(APP)).toMatchObject({ streams: STREAMS_MAX, messages: 5 });
    for (const channel of numbers(1, 5)) expect(await readTexts(store, {}, channel)).toEqual(["kept"]);
  });

  test("trimming and appending at the same time lose nothing", async () => {
    const store = await newHistory();
    const keep = { messages: 20, seconds: 3600 };
    let isOver = false;
    const trimming = (async () => {
      while (!isOver) {
        await store.trim(() => Number.POSITIVE_INFINITY);
        await nextTurn();
      }
    })();
    for (let nr = 0; nr < 100; nr++) {
      const results = await store.append(batchOf({ keep }, { keep, channel: `c${nr % 5}` }, { keep }));
      expect(results[2]?.offset).toBe(2 * nr + 2);
      if (nr % 20 === 19) await store.remove(APP, `c${nr % 5}`);
    }
    isOver = true;
    await trimming;
    await trimAll(store);
    expect((await store.read(APP, "channel", ALL))?.messages.map(({ offset }) => String(offset))).toEqual([
      ...numbers(181, 200),
    ]);
  });
}
