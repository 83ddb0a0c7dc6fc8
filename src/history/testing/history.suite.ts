/** The suite of every implementation of HistoryStore: appending, reading, and everything else in the files beside it. */
import { afterEach, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { MESSAGE_ID_REMEMBERED_MS } from "../../protocol/limits.ts";
import type { HistoryStore } from "../contract/history.ts";
import { createdStreamTests } from "./created-streams.suite.ts";
import { ALL, appendTexts, batchOf, type HistoryPlace, KEEP, message, readTexts, type TestTime, texts } from "./kit.ts";
import { roomTests } from "./suite-rooms.ts";
import { streamTests } from "./suite-streams.ts";
import { trimTests } from "./suite-trimming.ts";

const APP = anAppId("app");

export interface SuiteContext {
  /** Opens a history in an empty place. */
  readonly newHistory: () => Promise<HistoryStore>;
  /** Opens the place of the last new history once more. */
  readonly reopen: () => Promise<HistoryStore>;
  /** Sets the clock of all histories forward. */
  readonly wait: (ms: number) => void;
  /** The clock that the history reads is set, by this much. */
  readonly setClock: (ms: number) => void;
}

export function historySuite(name: string, newPlace: () => Promise<HistoryPlace>): void {
  describe(name, () => {
    const time: TestTime = { passedMs: 0, setMs: 0 };
    let place: HistoryPlace | undefined;
    const opened: HistoryStore[] = [];
    const reopen = async (): Promise<HistoryStore> => {
      if (!place) throw new Error("there is no place yet");
      const store = await place.open(time);
      opened.push(store);
      return store;
    };
    afterEach(async () => {
      Object.assign(time, { passedMs: 0, setMs: 0 });
      for (const store of opened.splice(0)) await store.close();
    });
    const context: SuiteContext = {
      newHistory: async () => {
        place = await newPlace();
        return reopen();
      },
      reopen,
      wait: (ms) => {
        time.passedMs += ms;
      },
      setClock: (ms) => {
        time.setMs += ms;
      },
    };
    appendTests(context);
    idTests(context);
    settleTests(context);
    streamTests(context);
    trimTests(context);
    roomTests(context);
    createdStreamTests(context);
  });
}

function appendTests({ newHistory, reopen, wait }: SuiteContext): void {
  test("messages get offsets without a gap, in the order of their batches", async () => {
    const store = await newHistory();
    const first = await appendTexts(store, ["a", "b"]);
    const second = await appendTexts(store, ["c"]);
    expect([...first, ...second].map(({ offset }) => offset)).toEqual([1, 2, 3]);
    expect(new Set([...first, ...second].map(({ epoch }) => epoch)).size).toBe(1);
    expect(await readTexts(store)).toEqual(["a", "b", "c"]);
  });

  test("a message is read as it was appended, with the batch's check", async () => {
    const store = await newHistory();
    const full = {
      metadataJson: '{"n":"Zoë \\"\\\\"}',
      dataJson: '{"t":"ü\\u0000\\"{,}"}',
      connection: "c1",
      id: "i1",
    };
    const batch = batchOf(full, {});
    const [one, two] = await store.append(batch);
    const page = await store.read(APP, "channel", ALL);
    const common = { check: batch.check, from: "ann", time: one?.time ?? 0 };
    expect(page?.messages).toEqual([
      { ...common, ...full, offset: 1, bytes: message(full).bytes },
      {
        ...common,
        offset: 2,
        metadataJson: undefined,
        dataJson: '"hi"',
        connection: undefined,
        id: undefined,
        bytes: message().bytes,
      },
    ]);
    expect(two).toEqual({
      ...common,
      offset: 2,
      epoch: one?.epoch ?? "",
      isDuplicate: false,
      from: undefined,
    } as never);
  });

  test("one batch can contain messages of several channels and applications", async () => {
    const store = await newHistory();
    const results = await store.append(
      batchOf({ channel: "x" }, { channel: "y" }, { channel: "x" }, { spaceId: anAppId("other"), channel: "x" }),
    );
    expect(results.map(({ offset }) => offset)).toEqual([1, 1, 2, 1]);
    const [x, y, second, other] = results.map(({ epoch }) => epoch);
    expect(second).toBe(x as string);
    expect(new Set([x, y, other]).size).toBe(3);
    expect(await readTexts(store, {}, "x", anAppId("other"))).toEqual(["hi"]);
  });

  test("batches that are appended at the same time do not mix, and leave no gap", async () => {
    const store = await newHistory();
    const batches = Array.from({ length: 20 }, (_, nr) =>
      batchOf(...Array.from({ length: 5 }, (_, at) => ({ channel: `c${(nr + at) % 3}`, dataJson: `"${nr}"` }))),
    );
    await Promise.all(batches.map((batch) => store.append(batch)));
    for (const channel of ["c0", "c1", "c2"]) {
      const page = await store.read(APP, channel, ALL);
      expect(page?.messages.map(({ offset }) => offset)).toEqual(page?.messages.map((_, index) => index + 1) ?? []);
      expect(page?.state.top).toBe(page?.messages.length ?? 0);
    }
  });

  test("time does not decrease when the clock does", async () => {
    const store = await newHistory();
    wait(60_000);
    const [before] = await appendTexts(store, ["a"]);
    wait(-60_000);
    const [after] = await appendTexts(store, ["b"]);
    expect(after?.time).toBe(before?.time ?? 0);
  });

  test("streams go on where they were when the history is opened reopen", async () => {
    const store = await newHistory();
    const [first] = await appendTexts(store, ["a"]);
    await store.close();
    const reopened = await reopen();
    const [second] = await appendTexts(reopened, ["b"]);
    expect(second).toMatchObject({ epoch: first?.epoch ?? "", offset: 2 });
    expect(await readTexts(reopened)).toEqual(["a", "b"]);
  });

  test("a closed history rejects", async () => {
    const store = await newHistory();
    await store.close();
    expect(store.append(batchOf({}))).rejects.toThrow("closed");
  });
}

function idTests({ newHistory, reopen, wait, setClock }: SuiteContext): void {
  test("a second message with an id is not stored, and gets the position of the first", async () => {
    const store = await newHistory();
    const [first] = await store.append(batchOf({ id: "i" }));
    const results = await store.append(batchOf({ id: "i", dataJson: '"no"' }, { id: "j", dataJson: '"yes"' }));
    expect(results).toMatchObject([
      { ...first, time: expect.any(Number), isDuplicate: true },
      { offset: 2, isDuplicate: false },
    ]);
    expect(await readTexts(store)).toEqual(["hi", "yes"]);
  });

  test("an id that is used twice in one batch is a duplicate too", async () => {
    const store = await newHistory();
    const results = await store.append(
      batchOf({ id: "i" }, { dataJson: '"between"' }, { id: "i" }, { dataJson: '"end"' }),
    );
    expect(results.map(({ offset, isDuplicate }) => [offset, isDuplicate])).toEqual([
      [1, false],
      [2, false],
      [1, true],
      [3, false],
    ]);
    expect(await readTexts(store)).toEqual(["hi", "between", "end"]);
  });

  test("an id belongs to its scope and its channel", async () => {
    const store = await newHistory();
    await store.append(batchOf({ id: "i" }));
    const results = await store.append(batchOf({ id: "i", idScope: "bob" }, { id: "i", channel: "other" }));
    expect(results.map(({ isDuplicate }) => isDuplicate)).toEqual([false, false]);
  });

  test("ids of two senders do not collide, whatever characters they contain", async () => {
    const store = await newHistory();
    const [john, smith] = [
      { idScope: "John", id: "Smith 1" },
      { idScope: "John Smith", id: "1" },
    ];
    const batch = batchOf(john, { ...smith, dataJson: '"other"' });
    const results = await store.append(batch);
    expect(results.map(({ offset, isDuplicate }) => [offset, isDuplicate])).toEqual([
      [1, false],
      [2, false],
    ]);
    expect(await store.settle(batch)).toEqual(results);
    const repeated = await store.append(batchOf(smith, john));
    expect(repeated.map(({ offset, isDuplicate }) => [offset, isDuplicate])).toEqual([
      [2, true],
      [1, true],
    ]);
    expect(await readTexts(store)).toEqual(["hi", "other"]);
  });

  test("an id is remembered for two minutes, also over trimming and when the history is opened reopen", async () => {
    const store = await newHistory();
    const keep = { messages: 1, seconds: 3600 };
    const [first] = await store.append(batchOf({ id: "i", keep }));
    await store.append(batchOf({ keep }, { keep }));
    while (await store.trim(() => Number.POSITIVE_INFINITY));
    await store.close();
    const reopened = await reopen();
    wait(MESSAGE_ID_REMEMBERED_MS - 30_000);
    const [second] = await reopened.append(batchOf({ id: "i", keep }));
    // Its time is that at which the id was noted, by a clock that is never set back.
    expect(second).toEqual({ ...first, time: expect.any(Number), isDuplicate: true } as never);
    wait(31_000);
    const [third] = await reopened.append(batchOf({ id: "i", keep }));
    expect(third).toMatchObject({ offset: 4, isDuplicate: false });
    // From then on the new one counts.
    const [fourth] = await reopened.append(batchOf({ id: "i", keep }));
    expect(fourth).toMatchObject({ offset: 4, isDuplicate: true });
    while (await reopened.trim(() => Number.POSITIVE_INFINITY));
    expect((await reopened.append(batchOf({ id: "i", keep })))[0]).toMatchObject({ offset: 4, isDuplicate: true });
  });

  test("an id is remembered for two minutes also over the removal of its history", async () => {
    const store = await newHistory();
    const [first] = await store.append(batchOf({ id: "i" }));
    await store.append(batchOf({ dataJson: '"later"' }));
    expect(await store.remove(APP, "channel")).toBeTrue();
    const [second, other] = await store.append(batchOf({ id: "i" }, { id: "i", idScope: "bob", dataJson: '"new"' }));
    expect(second).toEqual({ ...first, time: expect.any(Number), isDuplicate: true, isRemoved: true } as never);
    expect(other).toMatchObject({ offset: 1, isDuplicate: false });
    // Twice, and over a restart; the ids of the new epoch count as well.
    await store.remove(APP, "channel");
    await store.close();
    const reopened = await reopen();
    wait(MESSAGE_ID_REMEMBERED_MS - 30_000);
    const batch = batchOf({ id: "i" }, { id: "i", idScope: "bob" }, { id: "j" }, { id: "i" });
    const results = await reopened.append(batch);
    expect(results.map(({ isDuplicate, isRemoved }) => [isDuplicate, isRemoved])).toEqual([
      [true, true],
      [true, true],
      [false, undefined],
      [true, true],
    ]);
    expect([results[0]?.epoch, results[1]?.epoch]).toEqual([first?.epoch, other?.epoch]);
    expect(await reopened.settle(batch)).toEqual(results);
    expect(await readTexts(reopened)).toEqual(["hi"]);
    while (await reopened.trim(() => Number.POSITIVE_INFINITY));
    expect((await reopened.append(batchOf({ id: "i" })))[0]).toMatchObject({ isDuplicate: true });
    wait(31_000);
    while (await reopened.trim(() => Number.POSITIVE_INFINITY));
    expect((await reopened.append(batchOf({ id: "i" })))[0]).toMatchObject({ offset: 2, isDuplicate: false });
  });

  test("an id is remembered for two minutes also if the clock was a day ahead and was set back", async () => {
    const store = await newHistory();
    setClock(86_400_000);
    const [ahead] = await store.append(batchOf({}));
    setClock(-86_400_000);
    const [first] = await store.append(batchOf({ id: "i" }));
    // The time of messages does not decrease; that of ids is the clock's.
    expect(first?.time).toBe(ahead?.time as number);
    wait(MESSAGE_ID_REMEMBERED_MS - 30_000);
    expect((await store.append(batchOf({ id: "i" })))[0]).toMatchObject({ offset: 2, isDuplicate: true });
    wait(31_000);
    while (await store.trim(() => Number.POSITIVE_INFINITY));
    expect((await store.append(batchOf({ id: "i" })))[0]).toMatchObject({ offset: 3, isDuplicate: false });
  });

  test("an id from before the clock was set back by ten minutes is remembered, also when the history is opened again", async () => {
    const store = await newHistory();
    await store.append(batchOf({ id: "before" }));
    setClock(-600_000);
    const [before, after] = await store.append(batchOf({ id: "before" }, { id: "after" }));
    expect(before).toMatchObject({ offset: 1, isDuplicate: true });
    expect(after).toMatchObject({ offset: 2, isDuplicate: false });
    while (await store.trim(() => Number.POSITIVE_INFINITY));
    await store.close();
    const reopened = await reopen();
    for (const [id, offset] of [["before", 1] as const, ["after", 2] as const])
      expect((await reopened.append(batchOf({ id })))[0]).toMatchObject({ offset, isDuplicate: true });
    // At the latest when the clock is where it was before.
    wait(600_000 + MESSAGE_ID_REMEMBERED_MS + 1000);
    while (await reopened.trim(() => Number.POSITIVE_INFINITY));
    expect((await reopened.append(batchOf({ id: "before" })))[0]).toMatchObject({ offset: 3, isDuplicate: false });
  });
}

function settleTests({ newHistory }: SuiteContext): void {
  test("settling finds a batch that was stored, with its duplicates", async () => {
    const store = await newHistory();
    await store.append(batchOf({ id: "old" }, { channel: "other" }));
    const batch = batchOf({}, { id: "new" }, { channel: "other" }, { id: "old" }, { id: "new" }, {});
    const results = await store.append(batch);
    expect(results.map(({ offset, isDuplicate }) => [offset, isDuplicate])).toEqual([
      [2, false],
      [3, false],
      [2, false],
      [1, true],
      [3, true],
      [4, false],
    ]);
    expect(await store.settle(batch)).toEqual(results);
    expect((await appendTexts(store, ["next"]))[0]?.offset).toBe(5);
  });

  test("settling a batch that never arrived says so, and appending goes on", async () => {
    const store = await newHistory();
    await appendTexts(store, ["a"]);
    expect(await store.settle(batchOf({}, { channel: "unknown" }, { id: "i" }))).toBeUndefined();
    expect((await appendTexts(store, ["b"]))[0]?.offset).toBe(2);
    const page = await store.read(APP, "channel", ALL);
    expect(texts(page?.messages ?? [])).toEqual(["a", "b"]);
    expect(await store.open(APP, "channel", KEEP)).toEqual(page?.state as never);
  });
}
