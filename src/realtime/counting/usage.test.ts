import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { openStore } from "../../store/open.ts";
import { turn } from "../testing/kit.ts";
import { MemoryUsage, silentLog } from "../testing/stubs.ts";
import { APP, FEBRUARY, JANUARY, UsageFixture } from "../testing/usage.ts";
import { Usage } from "./usage.ts";

const OTHER = anAppId("other");

describe("usage", () => {
  test("is counted at once, and stored within 5 s, once", async () => {
    const it = await new UsageFixture().started();
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
    const before = await new UsageFixture().started();
    before.usage.connected(APP);
    before.usage.connected(APP);
    before.messages(7);
    await before.usage.stop();
    const after = await new UsageFixture({ disk: before.disk }).started();
    expect(after.usage.messagesUsed(APP)).toBe(7);
    after.usage.connected(APP);
    after.messages(1);
    await after.advance(5000);
    expect([after.onDisk(), after.usage.of(APP).peak]).toEqual([[8, 2], 2]);
  });

  test("is written when the node stops, and nothing is written afterwards", async () => {
    const it = await new UsageFixture().started();
    it.messages(4);
    await it.usage.stop();
    expect(it.onDisk()).toEqual([4, 0]);
    it.messages(1);
    await it.advance(30_000);
    expect(it.onDisk()).toEqual([4, 0]);
  });

  test("is counted per application", async () => {
    const it = await new UsageFixture().started();
    it.messages(2);
    it.usage.message(OTHER);
    await it.advance(5000);
    expect([it.usage.messagesUsed(APP), it.usage.messagesUsed(OTHER), it.usage.messagesUsed(anAppId("none"))]).toEqual([
      2, 1, 0,
    ]);
    expect([...it.disk.rows.keys()].sort()).toEqual([`app ${JANUARY}`, `other ${JANUARY}`]);
  });

  test("has the largest number of connections at one time as its peak", async () => {
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture({ disk: new MemoryUsage(true) }).started();
    it.disk.losingAnswers = true;
    it.messages(10);
    await it.usage.stop();
    it.messages(5);
    it.disk.losingAnswers = false;
    await it.usage.flush();
    expect([it.onDisk(), it.usage.messagesUsed(APP)]).toEqual([[15, 0], 15]);
  });

  test("keeps the peak as well, even if no more messages are sent", async () => {
    const it = await new UsageFixture().started();
    it.disk.failing = true;
    it.usage.connected(APP);
    await it.advance(5000);
    it.disk.failing = false;
    await it.advance(10_000);
    expect(it.onDisk()).toEqual([0, 1]);
  });

  test("at the end of a month is not lost when the next month begins", async () => {
    const it = await new UsageFixture({ startMs: FEBRUARY * 1000 - 3000 }).started();
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
    const [one, other] = [await new UsageFixture({ disk }).started(), await new UsageFixture({ disk }).started()];
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
    const [one, other] = [await new UsageFixture({ disk }).started(), await new UsageFixture({ disk }).started()];
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
    const it = await new UsageFixture({ disk: new MemoryUsage(true) }).started();
    it.usage.connected(APP, 4);
    it.usage.connected(APP, 1);
    expect(it.usage.of(APP).peak).toBe(5);
    await it.advance(5000);
    expect(it.onDisk()).toEqual([0, 5]);
  });
});

test("a slow store gets no queue of flushes: calls during one share the next", async () => {
  const disk = new MemoryUsage(true);
  const it = await new UsageFixture({ disk }).started();
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
