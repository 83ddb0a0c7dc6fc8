import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { openStore } from "../../store/open.ts";
import { turn } from "../testing/kit.ts";
import { MemoryUsage, silentLog } from "../testing/stubs.ts";
import { periodOf, Usage } from "./usage.ts";

const APP = anAppId("app");
const OTHER = anAppId("other");

const seconds = (...date: [number, number, number]): number => Date.UTC(...date) / 1000;
const JANUARY = seconds(2027, 0, 1);
const FEBRUARY = seconds(2027, 1, 1);

class Fixture {
  readonly clock: FakeClock;
  readonly disk: MemoryUsage;
  readonly usage: Usage;

  constructor({ startMs = Date.UTC(2027, 0, 15, 12), disk = new MemoryUsage() } = {}) {
    this.clock = new FakeClock(startMs);
    this.disk = disk;
    this.usage = new Usage(disk.store, this.clock, silentLog);
  }

  async started(): Promise<this> {
    await this.usage.load();
    return this;
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      this.clock.advance(Math.min(1000, left));
      await turn();
    }
  }

  messages(count: number): void {
    for (let i = 0; i < count; i++) this.usage.message(APP);
  }

  /** The messages and the peak of a period that are stored. */
  onDisk(period = JANUARY): [number, number] | undefined {
    const row = this.disk.rows.get(`app ${period}`);
    return row && [row.messages, row.peakConnections];
  }
}

describe("usage", () => {
  test("is counted at once, and stored within 5 s, once", async () => {
    const it = await new Fixture().started();
    it.usage.connected(APP);
    it.messages(3);
    expect(it.usage.messagesUsed(APP)).toBe(3);
    await it.advance(4999);
    expect(it.onDisk()).toBeUndefined();
    await it.advance(1);
    expect(it.onDisk()).toEqual([3, 1]);
    await it.advance(30_000);
    expect([it.onDisk(), it.disk.writes]).toEqual([[3, 1], 1]);
    it.messages(2);
    await it.advance(5000);
    expect([it.onDisk(), it.disk.writes]).toEqual([[5, 1], 2]);
  });

  test("continues from what is stored after a restart", async () => {
    const before = await new Fixture().started();
    before.usage.connected(APP);
    before.usage.connected(APP);
    before.messages(7);
    await before.usage.stop();
    const after = await new Fixture({ disk: before.disk }).started();
    expect(after.usage.messagesUsed(APP)).toBe(7);
    after.usage.connected(APP);
    after.messages(1);
    await after.advance(5000);
    expect([after.onDisk(), after.usage.of(APP).peak]).toEqual([[8, 2], 2]);
  });

  test("is written when the node stops, and nothing is written afterwards", async () => {
    const it = await new Fixture().started();
    it.messages(4);
    await it.usage.stop();
    expect(it.onDisk()).toEqual([4, 0]);
    it.messages(1);
    await it.advance(30_000);
    expect(it.onDisk()).toEqual([4, 0]);
  });

  test("is counted per application", async () => {
    const it = await new Fixture().started();
    it.messages(2);
    it.usage.message(OTHER);
    await it.advance(5000);
    expect([it.usage.messagesUsed(APP), it.usage.messagesUsed(OTHER), it.usage.messagesUsed(anAppId("none"))]).toEqual([
      2, 1, 0,
    ]);
    expect([...it.disk.rows.keys()].sort()).toEqual([`app ${JANUARY}`, `other ${JANUARY}`]);
  });

  test("has the largest number of connections at one time as its peak", async () => {
    const it = await new Fixture().started();
    for (const on of [true, true, false, true, false, false, true]) {
      if (on) it.usage.connected(APP);
      else it.usage.disconnected(APP);
    }
    expect([it.usage.of(APP).connections, it.usage.of(APP).peak]).toEqual([1, 2]);
    await it.advance(5000);
    expect(it.onDisk()).toEqual([0, 2]);
  });
});

describe("a write that fails", () => {
  test("is retried with the next one, and nothing is counted twice", async () => {
    const it = await new Fixture().started();
    it.disk.failing = true;
    it.messages(3);
    await it.advance(5000);
    it.messages(2);
    await it.advance(5000);
    expect([it.disk.writes, it.onDisk(), it.usage.messagesUsed(APP)]).toEqual([2, undefined, 5]);
    it.disk.failing = false;
    await it.advance(10_000);
    expect(it.onDisk()).toEqual([5, 0]);
  });

  test("leaves one row per application, however often it fails", async () => {
    const it = await new Fixture().started();
    const { store } = it.disk;
    const write = store.addUsage.bind(store);
    let rows = 0;
    store.addUsage = (given, as) => {
      rows = given.length;
      return write(given, as);
    };
    it.disk.failing = true;
    for (let i = 0; i < 50; i++) {
      it.messages(1);
      it.usage.message(OTHER);
      await it.advance(5000);
    }
    it.disk.failing = false;
    await it.advance(10_000);
    expect([rows, it.onDisk(), it.disk.rows.get(`other ${JANUARY}`)?.messages]).toEqual([2, [50, 0], 50]);
  });

  test("although it was stored, because its answer was lost, is not counted twice", async () => {
    const it = await new Fixture().started();
    it.disk.losingAnswers = true;
    for (let i = 0; i < 3; i++) {
      it.messages(10);
      it.usage.message(APP, true);
      await it.advance(5000);
    }
    expect(it.usage.messagesUsed(APP)).toBe(33);
    it.disk.losingAnswers = false;
    it.messages(1);
    await it.advance(10_000);
    expect([it.onDisk(), it.usage.messagesUsed(APP), it.usage.usedByGuests(APP)]).toEqual([[34, 0], 34, 3]);
  });

  test("although it was stored keeps its own number: what was counted since is another write", async () => {
    const it = await new Fixture({ disk: new MemoryUsage(true) }).started();
    it.disk.losingAnswers = true;
    it.messages(10);
    await it.usage.stop();
    it.messages(5);
    it.disk.losingAnswers = false;
    await it.usage.flush();
    expect([it.onDisk(), it.usage.messagesUsed(APP)]).toEqual([[15, 0], 15]);
  });

  test("keeps the peak as well, even if no more messages are sent", async () => {
    const it = await new Fixture().started();
    it.disk.failing = true;
    it.usage.connected(APP);
    await it.advance(5000);
    it.disk.failing = false;
    await it.advance(10_000);
    expect(it.onDisk()).toEqual([0, 1]);
  });

  test("at the end of a month is not lost when the next month begins", async () => {
    const it = await new Fixture({ startMs: FEBRUARY * 1000 - 3000 }).started();
    it.disk.failing = true;
    it.usage.connected(APP);
    it.messages(3);
    await it.advance(10_000);
    it.disk.failing = false;
    it.messages(1);
    await it.advance(10_000);
    expect([it.onDisk(JANUARY), it.onDisk(FEBRUARY)]).toEqual([
      [3, 1],
      [1, 1],
    ]);
  });
});

describe("several nodes on one store", () => {
  test("each add their own and know the total with the next write; nothing is counted twice", async () => {
    const disk = new MemoryUsage(true);
    const [one, other] = [await new Fixture({ disk }).started(), await new Fixture({ disk }).started()];
    one.messages(3);
    other.messages(4);
    expect([one.usage.messagesUsed(APP), other.usage.messagesUsed(APP)]).toEqual([3, 4]);
    await one.advance(5000);
    await other.advance(5000);
    expect([one.usage.messagesUsed(APP), other.usage.messagesUsed(APP)]).toEqual([3, 7]);
    one.messages(1);
    await one.advance(5000);
    expect([one.usage.messagesUsed(APP), one.onDisk()]).toEqual([8, [8, 0]]);
  });

  test("continue with what they know while the store fails; afterwards all is stored", async () => {
    const disk = new MemoryUsage(true);
    const [one, other] = [await new Fixture({ disk }).started(), await new Fixture({ disk }).started()];
    disk.failing = true;
    one.messages(3);
    other.messages(4);
    for (const it of [one, other]) await it.advance(10_000);
    one.messages(2);
    expect([one.usage.messagesUsed(APP), other.usage.messagesUsed(APP)]).toEqual([5, 4]);
    disk.failing = false;
    for (const it of [one, other, one]) await it.advance(5000);
    expect([one.usage.messagesUsed(APP), other.usage.messagesUsed(APP), one.onDisk()]).toEqual([9, 9, [9, 0]]);
  });

  test("have one peak for all together", async () => {
    const it = await new Fixture({ disk: new MemoryUsage(true) }).started();
    it.usage.connected(APP, 4);
    it.usage.connected(APP, 1);
    expect(it.usage.of(APP).peak).toBe(5);
    await it.advance(5000);
    expect(it.onDisk()).toEqual([0, 5]);
  });
});

test("a slow store gets no queue of flushes: calls during one share the next", async () => {
  const disk = new MemoryUsage(true);
  const it = await new Fixture({ disk }).started();
  const slow = Promise.withResolvers<void>();
  let reads = 0;
  const read = disk.store.usage;
  Object.assign(disk.store, {
    usage: async (period: number) => {
      reads++;
      await slow.promise;
      return read(period);
    },
  });
  it.messages(1);
  const first = it.usage.flush();
  await turn();
  const others = Array.from({ length: 50 }, () => {
    it.messages(1);
    return it.usage.flush();
  });
  await turn();
  expect(reads).toBe(1);
  slow.resolve();
  await Promise.all([first, ...others]);
  expect([reads, disk.writes, it.onDisk(), it.usage.messagesUsed(APP)]).toEqual([2, 2, [51, 0], 51]);
});

describe("a month", () => {
  test("is a calendar month, UTC", () => {
    const period = (...date: Parameters<typeof Date.UTC>) => periodOf(Date.UTC(...date));
    expect(period(2027, 0, 1)).toEqual({ startSeconds: JANUARY, endSeconds: FEBRUARY });
    expect(period(2027, 0, 31, 23, 59, 59, 999)).toEqual({ startSeconds: JANUARY, endSeconds: FEBRUARY });
    expect(period(2027, 11, 31, 23)).toEqual({ startSeconds: seconds(2027, 11, 1), endSeconds: seconds(2028, 0, 1) });
    expect(period(2028, 1, 29)).toEqual({ startSeconds: seconds(2028, 1, 1), endSeconds: seconds(2028, 2, 1) });
  });

  test("that ends keeps its usage, and the next begins with no messages and the open connections as its peak", async () => {
    const it = await new Fixture({ startMs: FEBRUARY * 1000 - 3000 }).started();
    for (let i = 0; i < 3; i++) it.usage.connected(APP);
    it.usage.disconnected(APP);
    it.messages(5);
    expect(it.usage.current().startSeconds).toBe(JANUARY);
    await it.advance(5000);
    expect(it.usage.current()).toEqual({ startSeconds: FEBRUARY, endSeconds: seconds(2027, 2, 1) });
    expect([it.usage.messagesUsed(APP), it.usage.of(APP).peak]).toEqual([0, 2]);
    await it.advance(10_000);
    expect(it.onDisk(FEBRUARY)).toEqual([0, 2]);
    it.messages(1);
    await it.advance(10_000);
    expect([it.onDisk(JANUARY), it.onDisk(FEBRUARY)]).toEqual([
      [5, 3],
      [1, 2],
    ]);
  });

  test("goes on with its usage after the clock was a year ahead for a while", async () => {
    const it = await new Fixture().started();
    it.messages(5);
    it.clock.jump(365 * 86_400_000);
    await it.advance(5000);
    it.messages(2);
    expect(it.usage.current().startSeconds).toBe(seconds(2028, 0, 1));
    it.clock.jump(-365 * 86_400_000);
    await it.advance(5000);
    expect(it.usage.current().startSeconds).toBe(JANUARY);
    await it.advance(5000);
    it.messages(1);
    expect(it.usage.messagesUsed(APP)).toBe(6);
    await it.advance(5000);
    expect([it.onDisk(JANUARY), it.onDisk(seconds(2028, 0, 1))]).toEqual([
      [6, 0],
      [2, 0],
    ]);
  });

  test("goes on with its usage after the clock was ahead while the store failed", async () => {
    const it = await new Fixture().started();
    it.disk.failing = true;
    it.messages(10);
    it.usage.message(APP, true);
    await it.advance(5000);
    // One batch is unanswered by now, and this waits behind it.
    it.messages(4);
    await it.advance(5000);
    it.clock.jump(365 * 86_400_000);
    await it.advance(5000);
    it.clock.jump(-365 * 86_400_000);
    await it.advance(5000);
    expect([it.usage.messagesUsed(APP), it.usage.usedByGuests(APP)]).toEqual([15, 1]);
    it.disk.failing = false;
    await it.advance(10_000);
    it.messages(5);
    expect([it.usage.messagesUsed(APP), it.usage.usedByGuests(APP)]).toEqual([20, 1]);
    await it.advance(5000);
    expect([it.usage.messagesUsed(APP), it.onDisk(JANUARY)]).toEqual([20, [20, 0]]);
  });

  test("begins with its usage if the clock was ahead in it for a while", async () => {
    const it = await new Fixture().started();
    it.clock.jump(31 * 86_400_000);
    await it.advance(5000);
    it.messages(5);
    it.usage.message(APP, true);
    await it.advance(5000);
    it.clock.jump(-31 * 86_400_000);
    await it.advance(5000);
    expect([it.usage.current().startSeconds, it.usage.messagesUsed(APP)]).toEqual([JANUARY, 0]);
    it.clock.jump(31 * 86_400_000);
    expect(it.usage.current().startSeconds).toBe(FEBRUARY);
    // Read at once, and not with the next write.
    await turn();
    expect([it.usage.messagesUsed(APP), it.usage.usedByGuests(APP)]).toEqual([6, 1]);
  });

  test("that begins while the last one is read is read as well", async () => {
    const disk = new MemoryUsage();
    const february = { app: APP, period: FEBRUARY, messages: 7, guestMessages: 0, peakConnections: 0 };
    disk.rows.set(`app ${FEBRUARY}`, february);
    const it = await new Fixture({ startMs: JANUARY * 1000 - 1000, disk }).started();
    const slow = Promise.withResolvers<void>();
    const read = disk.store.usage;
    Object.assign(disk.store, { usage: (period: number) => slow.promise.then(() => read(period)) });
    await it.advance(6000);
    expect(it.usage.current().startSeconds).toBe(JANUARY);
    it.clock.jump(31 * 86_400_000);
    expect(it.usage.current().startSeconds).toBe(FEBRUARY);
    slow.resolve();
    await turn();
    expect(it.usage.messagesUsed(APP)).toBe(7);
  });

  test("ends when usage is read, also before the next write is due", async () => {
    const it = await new Fixture({ startMs: FEBRUARY * 1000 - 1000 }).started();
    it.messages(5);
    await it.advance(1000);
    expect([it.usage.current().startSeconds, it.usage.messagesUsed(APP)]).toEqual([FEBRUARY, 0]);
    await turn();
    expect(it.onDisk(JANUARY)).toEqual([5, 0]);
  });
});

test("usage adds up over restarts on a real store", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-usage-"));
  try {
    for (const expected of [3, 6]) {
      const store = await openStore(folder);
      const usage = new Usage(store, new FakeClock(), silentLog);
      await usage.load();
      for (let i = 0; i < 3; i++) usage.message(APP);
      usage.connected(APP);
      await usage.stop();
      expect(await store.usage(JANUARY)).toEqual([
        { app: APP, period: JANUARY, messages: expected, guestMessages: 0, peakConnections: 1 },
      ]);
      await store.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
