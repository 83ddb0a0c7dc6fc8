import { expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { AuditRow, AuditStore } from "../../store/contract/operators.ts";
import { AUDIT_DAYS, AUDIT_PER_APP_MAX } from "../limits.ts";
import { AuditTrail } from "./audit-trail.ts";

const A = anAppId("a");
const LOUD = anAppId("loud");
const QUIET = anAppId("quiet");

class FakeStore implements AuditStore {
  readonly rows: AuditRow[] = [];
  readonly calls: string[] = [];
  isBroken = false;
  removable = 0;

  async add(rows: readonly AuditRow[]): Promise<void> {
    if (this.isBroken) throw new Error("the store is broken");
    this.rows.push(...rows);
  }

  async list(): Promise<AuditRow[]> {
    return this.rows;
  }

  async removeBefore(ms: number, max: number): Promise<number> {
    this.calls.push(`before ${ms}`);
    const count = Math.min(this.removable, max);
    this.removable -= count;
    return count;
  }

  async trim(app: AppId, kept: number): Promise<number> {
    this.calls.push(`trim ${app} to ${kept}`);
    return 0;
  }
}

function setup() {
  const store = new FakeStore();
  const seen = { failed: 0, dropped: 0 };
  const trail = new AuditTrail({
    store: { audit: store },
    nowMs: () => 1_800_000_000_000,
    retentionMs: () => 1_800_000_000_000,
    failed: () => void seen.failed++,
    dropped: (count) => {
      seen.dropped += count;
    },
  });
  return { store, trail, seen };
}

const entry = (app: AppId, on = "room") => ({ who: "application secret", what: "room created", on, app });

test("other events have their turn between two slices", async () => {
  const { store, trail } = setup();
  const order: string[] = [];
  const noted = <T extends unknown[], R>(call: (...args: T) => R) => {
    return (...args: T): R => {
      order.push("slice");
      setImmediate(() => order.push("turn"));
      return call(...args);
    };
  };
  store.removeBefore = noted(store.removeBefore.bind(store));
  store.add = noted(store.add.bind(store));
  store.removable = 1000;
  await trail.sweep();
  for (let i = 0; i < 700; i++) trail.recordByApp(entry(A, String(i)));
  await trail.flush();
  expect(order.length).toBeGreaterThan(20);
  expect(order.join(" ")).not.toContain("slice slice");
});

test("changes by applications are written in batches, in their order, after what the caller waits for", async () => {
  const { store, trail } = setup();
  for (let i = 0; i < 700; i++) trail.recordByApp(entry(A, String(i)));
  expect(store.rows).toEqual([]);
  await trail.record({ who: "admin", what: "app created", on: "b" });
  expect(store.rows).toHaveLength(1);
  await trail.flush();
  const own = store.rows.filter(({ byApp }) => byApp);
  expect(own.map(({ on }) => on)).toEqual(Array.from({ length: 700 }, (_, i) => String(i)));
  expect(own.map(({ id }) => id)).toEqual(own.map(({ id }) => id).toSorted());
});

test("one application cannot use up the queue; what is not recorded is counted", async () => {
  const { store, trail, seen } = setup();
  for (let i = 0; i < 1500; i++) trail.recordByApp(entry(LOUD));
  trail.recordByApp(entry(QUIET));
  await trail.flush();
  expect([store.rows.length, seen.dropped]).toEqual([1001, 500]);
  expect(store.rows.at(-1)?.app).toBe(QUIET);
  for (let i = 0; i < 10; i++) trail.recordByApp(entry(LOUD));
  await trail.flush();
  expect(store.rows).toHaveLength(1011);
});

test("what a store that does not answer has not taken stays pending, within its bound", async () => {
  const { store, trail, seen } = setup();
  store.isBroken = true;
  trail.recordByApp(entry(A));
  await expect(trail.flush()).rejects.toThrow("broken");
  await trail.record({ who: "admin", what: "app created", on: "b" });
  expect(seen.failed).toBe(1);
  store.isBroken = false;
  await trail.stop();
  expect(store.rows).toHaveLength(1);
});

test("a sweep removes old changes in slices, and trims the applications that changed something", async () => {
  const { store, trail } = setup();
  trail.recordByApp(entry(A));
  await trail.flush();
  store.removable = 250;
  await trail.sweep();
  const before = `before ${1_800_000_000_000 - AUDIT_DAYS * 86_400_000}`;
  expect(store.calls).toEqual([before, before, before, `trim a to ${AUDIT_PER_APP_MAX}`]);
  await trail.sweep();
  expect(store.calls.filter((call) => call.startsWith("trim"))).toHaveLength(1);
});

test("long texts and details are cut", async () => {
  const { store, trail } = setup();
  await trail.record({ who: "a".repeat(1000), what: "w", on: "😀".repeat(200), after: { long: "x".repeat(20_000) } });
  expect(store.rows[0]).toMatchObject({ who: "a".repeat(256), after: { isTooLong: true }, before: null });
  expect(store.rows[0]?.on.isWellFormed()).toBe(true);
});
