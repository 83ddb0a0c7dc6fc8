/** The schedule, with a clock that the test sets; test/nodes/backups.test.ts has it on PostgreSQL. */
import { beforeEach, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { BackupRunning } from "../backup/backups.ts";
import { backupName } from "../targets/names.ts";
import { type NodeOptions, ScheduledNode, TestStore, TestTarget, TestTime } from "../testing/scheduled-node.ts";
import { RETRY_MS } from "./due.ts";

const EVERY_MS = 24 * 3_600_000;
/** Longer than a lease is valid without a renewal. */
const LEASE_OVER_MS = 91_000;

let store: TestStore;
let time: TestTime;
let target: TestTarget;
beforeEach(() => {
  store = new TestStore();
  time = new TestTime();
  target = new TestTarget();
});

/** As after a start: it knows only what the store has. */
const node = (more: Partial<NodeOptions> = {}): ScheduledNode =>
  new ScheduledNode({ store: store.seen(false), time, target, everyMs: EVERY_MS, ...more });

/** One of several on a store. */
const nodeOfMany = (): ScheduledNode => node({ store: store.seen(true) });

test("the first one is made at once, and the next one interval later, however often the service is restarted", async () => {
  const first = node();
  expect(await first.look()).toBe(true);
  await first.succeed();
  expect(await first.look()).toBe(false);
  time.pass(EVERY_MS - 1);
  expect(await node().look()).toBe(false);
  time.pass(1);
  const restarted = node();
  expect(await restarted.look()).toBe(true);
  await restarted.succeed();
  expect(target.kept).toHaveLength(2);
});

test("it counts from the moment that the last one shows, not from its end", async () => {
  const one = node();
  await one.look();
  time.pass(EVERY_MS / 2);
  await one.succeed();
  time.pass(EVERY_MS / 2);
  expect(await one.look()).toBe(true);
});

test("a failure is noted, and tried again after ten minutes, also by the next start", async () => {
  const one = node();
  await one.look();
  await one.fail("the disk is full");
  expect(one.notes.latest).toMatchObject({ failure: { why: "the disk is full" }, failures: 1, success: null });
  expect([one.schedule.health, one.logged.at(-1)]).toEqual(["failed", "a backup failed; nothing of it was kept"]);
  time.pass(RETRY_MS - 1);
  expect(await node().look()).toBe(false);
  time.pass(1);
  const next = node();
  expect(await next.look()).toBe(true);
  await next.succeed();
  expect([next.notes.latest.failures, next.schedule.health]).toEqual([0, "ok"]);
});

test("a clock that was set back by a year stops nothing", async () => {
  const one = node();
  await one.look();
  await one.succeed();
  time.wallMs -= 365 * EVERY_MS;
  expect(await one.look()).toBe(true);
  await one.succeed();
  expect(await one.look()).toBe(false);
  time.pass(EVERY_MS);
  expect(await one.look()).toBe(true);
});

test("without an interval nothing is made by itself", async () => {
  const one = node({ everyMs: 0 });
  time.pass(EVERY_MS);
  expect([await one.look(), one.schedule.health]).toEqual([false, undefined]);
});

test("the oldest beyond the number are removed after a success", async () => {
  const one = node({ keep: 2 });
  for (let i = 0; i < 4; i++) {
    await one.look();
    await one.succeed();
    time.pass(EVERY_MS);
  }
  const at = (daysAgo: number): string => backupName(time.wallMs - daysAgo * EVERY_MS);
  expect(target.kept).toEqual([at(2), at(1)]);
});

test("what cannot be removed is noted, and removed next time", async () => {
  const one = node({ keep: 1 });
  for (const refuses of [true, true, false]) {
    target.refusesToRemove = refuses;
    await one.look();
    await one.succeed();
    time.pass(EVERY_MS);
    if (target.kept.length > 1) expect(one.notes.latest.notRemoved).toBe("it cannot be removed");
  }
  expect([target.kept.length, one.notes.latest.notRemoved, one.notes.latest.failures]).toEqual([1, null, 0]);
});

test("a node that stops ends its backup, which is no failure, and the next start makes it", async () => {
  const one = node();
  await one.look();
  await one.jobs.stop();
  await expect(one.jobs.stream(true)).rejects.toBeInstanceOf(BackupRunning);
  const next = nodeOfMany();
  expect([await next.look(), next.notes.latest.failures]).toEqual([true, 0]);
});

test("the next process on an embedded store takes over at once from one that was killed", async () => {
  await node().look();
  expect(await node().look()).toBe(true);
});

test("of two nodes one makes it; the other takes over when it is silent for long", async () => {
  const [one, other] = [nodeOfMany(), nodeOfMany()];
  expect([await one.look(), await other.look()]).toEqual([true, false]);
  expect(await other.lease.heldElsewhereSince()).toBe(time.wallMs);
  time.pass(LEASE_OVER_MS);
  // It is renewed before the other one has looked for long enough.
  expect(await one.lease.renew()).toBe(true);
  expect(await other.look()).toBe(false);
  time.pass(LEASE_OVER_MS);
  expect(await other.look()).toBe(true);
  expect(await one.lease.renew()).toBe(false);
});

test("after one node has made it, the others do not", async () => {
  const [one, other] = [nodeOfMany(), nodeOfMany()];
  await Promise.all([one.look(), other.look()]);
  expect([one.isMaking, other.isMaking].filter(Boolean)).toHaveLength(1);
  await (one.isMaking ? one : other).succeed();
  expect([await one.look(), await other.look()]).toEqual([false, false]);
  expect(target.kept).toHaveLength(1);
});

test("a process makes one at a time, for the schedule and for operators together", async () => {
  const one = node();
  await one.look();
  await expect(one.jobs.stream(true)).rejects.toBeInstanceOf(BackupRunning);
  await one.succeed();
  const sent = await one.jobs.stream(false);
  expect(one.open[0]?.wanted).toMatchObject({ withRecordings: false, target: null });
  time.pass(EVERY_MS);
  expect(one.open).toHaveLength(1);
  await one.look();
  expect(one.open).toHaveLength(1);
  one.open[0]?.end.resolve();
  one.open.pop();
  await sent.done;
  await until("it is over", () => one.jobs.progress === undefined);
  expect((await one.notes.read()).sentMs).toBe(time.wallMs - EVERY_MS);
});

test("a success that the store did not take is noted later, and not repeated", async () => {
  const one = node();
  await one.look();
  store.isUp = false;
  await one.succeed();
  await expect(one.look()).rejects.toThrow("unreachable");
  store.isUp = true;
  expect(await one.look()).toBe(false);
  expect(target.kept).toHaveLength(1);
});

test("metrics show the last success, also on a node that has not made it", async () => {
  const [one, other] = [node(), node()];
  await one.look();
  time.pass(2000);
  await one.succeed();
  await other.look();
  const atSeconds = (time.wallMs - 2000) / 1000;
  expect(other.metrics.text()).toContain(`parley_backup_last_success_timestamp_seconds ${atSeconds}\n`);
  expect(other.metrics.text()).toContain("parley_backup_last_duration_seconds 2\n");
  expect(other.metrics.text()).toContain("parley_backup_last_bytes 7\n");
  expect(one.metrics.text()).toContain('parley_backups_total{outcome="made"} 1\n');
});
