import { describe, expect, test } from "bun:test";
import { turn } from "../testing/kit.ts";
import { MemoryUsage } from "../testing/stubs.ts";
import { APP, FEBRUARY, JANUARY, seconds, UsageFixture } from "../testing/usage.ts";
import { periodOf } from "./usage.ts";

describe("a month", () => {
  test("is a calendar month, UTC", () => {
    const period = (...date: Parameters<typeof Date.UTC>) => periodOf(Date.UTC(...date));
    expect(period(2027, 0, 1)).toEqual({ startSeconds: JANUARY, endSeconds: FEBRUARY });
    expect(period(2027, 0, 31, 23, 59, 59, 999)).toEqual({ startSeconds: JANUARY, endSeconds: FEBRUARY });
    expect(period(2027, 11, 31, 23)).toEqual({ startSeconds: seconds(2027, 11, 1), endSeconds: seconds(2028, 0, 1) });
    expect(period(2028, 1, 29)).toEqual({ startSeconds: seconds(2028, 1, 1), endSeconds: seconds(2028, 2, 1) });
  });

  test("that ends keeps its usage, and the next begins with no messages and the open connections as its peak", async () => {
    const it = await new UsageFixture({ startMs: FEBRUARY * 1000 - 3000 }).started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture().started();
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
    const it = await new UsageFixture({ startMs: JANUARY * 1000 - 1000, disk }).started();
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
    const it = await new UsageFixture({ startMs: FEBRUARY * 1000 - 1000 }).started();
    it.messages(5);
    await it.advance(1000);
    expect([it.usage.current().startSeconds, it.usage.messagesUsed(APP)]).toEqual([FEBRUARY, 0]);
    await turn();
    expect(it.onDisk(JANUARY)).toEqual([5, 0]);
  });
});
