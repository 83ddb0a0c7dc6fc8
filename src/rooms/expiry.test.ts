import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nextTurn } from "../../test/support/wait.ts";
import { anAppId } from "../base/testing/ids.ts";
import type { RoomRow } from "../store/contract/rooms.ts";
import { openStore } from "../store/open.ts";
import type { SqlStore } from "../store/sql/store.ts";
import { appRow, roomRow } from "../store/testing/rows.ts";
import { Expiry } from "./expiry.ts";

const APP = anAppId("app");

/** Longer than a timer is late. */
const LATE_MS = 100;

let folder: string;
let store: SqlStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-expiry-"));
  store = await openStore(folder);
  await store.change((change) => change.putApp(appRow("app")));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const room = (name: string, archiveAt: number | null): RoomRow =>
  roomRow(Buffer.from(name).toString("hex"), { app: APP, name, archiveAt });

interface Looked {
  readonly expiry: Expiry;
  /** How many rooms each sweep has archived. */
  readonly counts: number[];
  readonly errors: unknown[];
  /** Resolves when it has archived that many rooms in all. */
  archived(count: number): Promise<void>;
}

function looking(nowMs = Date.now, rooms: ConstructorParameters<typeof Expiry>[0]["store"] = store.rooms): Looked {
  const counts: number[] = [];
  const errors: unknown[] = [];
  let changed = (): void => undefined;
  const expiry = new Expiry({
    store: rooms,
    nowMs,
    archived: (count) => {
      counts.push(count);
      changed();
    },
    failed: (error) => errors.push(error),
    guarded: (callback) => () => void callback(),
  });
  const total = (): number => counts.reduce((sum, one) => sum + one, 0);
  return {
    expiry,
    counts,
    errors,
    archived: async (count) => {
      while (total() < count) await new Promise<void>((resolve) => (changed = resolve));
    },
  };
}

describe("rooms that expire", () => {
  test("overdue rooms are archived at the start, also more than one batch", async () => {
    for (let i = 0; i < 620; i++) await store.rooms.addRoom(room(`r${i}`, i < 601 ? 5 : null));
    const { expiry, counts } = looking();
    await expiry.start();
    expect(counts).toEqual([601]);
    expect(await store.rooms.rooms(APP, 1000, undefined, 0)).toHaveLength(19);
    await expiry.stop();
  });

  test("other events have their turn between two batches", async () => {
    const order: string[] = [];
    let left = 20;
    const many = {
      // As the embedded store does, it answers without a turn of the event loop.
      archiveDue: async (_nowMs: number, limit: number) => {
        order.push("batch");
        setImmediate(() => order.push("turn"));
        return left-- > 0 ? limit : 0;
      },
      nextDue: async () => undefined,
    };
    const { expiry } = looking(Date.now, many);
    await expiry.start();
    await expiry.stop();
    expect(order.slice(0, 40)).toEqual(Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? "batch" : "turn")));
  });

  test("a sweep with more to do ends with the next batch when the node stops", async () => {
    const second = Promise.withResolvers<void>();
    let batches = 0;
    const endless = {
      archiveDue: async (_nowMs: number, limit: number) => {
        if (++batches === 2) second.resolve();
        return limit;
      },
      nextDue: async () => undefined,
    };
    const { expiry } = looking(Date.now, endless);
    void expiry.start();
    await second.promise;
    await expiry.stop();
    expect(batches).toBe(2);
  });

  test("a name or a place that is needed now is freed without all the others that are due", async () => {
    for (let i = 0; i < 120; i++) await store.rooms.addRoom(room(`r${i}`, 5));
    await store.rooms.addRoom(room("later", Date.now() + 60_000));
    await store.change((change) => change.putApp(appRow("other")));
    const { expiry, counts } = looking();
    expect(await expiry.archiveOf(anAppId("other"), "r7")).toBe(0);
    expect(await expiry.archiveOf(APP, "later")).toBe(0);
    expect(await expiry.archiveOf(APP, "r7")).toBe(1);
    expect(await expiry.archiveOf(APP, "r7")).toBe(0);
    expect(await expiry.archiveOf(anAppId("other"), undefined)).toBe(0);
    expect(await expiry.archiveOf(APP, undefined)).toBeWithin(1, 119);
    expect(counts).toHaveLength(2);
  });

  test("a room that is due later is archived then, without delay", async () => {
    const { expiry, archived, counts } = looking();
    await expiry.start();
    const due = Date.now() + 150;
    await store.rooms.addRoom(room("a", due));
    expiry.schedule(due);
    await archived(1);
    expect(Date.now() - due).toBeWithin(-1, 1000);
    expect(counts).toEqual([1]);
    await expiry.stop();
  });

  test("an earlier room makes the timer run earlier, and a later one does not delay it", async () => {
    const { expiry, archived } = looking();
    const now = Date.now();
    await store.rooms.addRoom(room("late", now + 60_000));
    await expiry.start();
    await store.rooms.addRoom(room("soon", now + 100));
    expiry.schedule(now + 100);
    expiry.schedule(now + 60_000);
    expiry.schedule(null);
    await archived(1);
    expect((await store.rooms.rooms(APP, 1000, undefined, 0)).map((row) => row.name)).toEqual(["late"]);
    await expiry.stop();
  });

  test("each room is archived once, however many nodes run", async () => {
    for (let i = 0; i < 300; i++) await store.rooms.addRoom(room(`r${i}`, 5));
    const nodes = Array.from({ length: 5 }, () => looking());
    await Promise.all(nodes.map(({ expiry }) => expiry.start()));
    // A node whose rooms were archived by others looks again at once.
    while ((await store.rooms.nextDue()) !== undefined) await nextTurn();
    await Promise.all(nodes.map(({ expiry }) => expiry.stop()));
    const all = nodes.flatMap(({ counts }) => counts);
    expect(all.reduce((sum, one) => sum + one, 0)).toBe(300);
  });

  test("a failure of the store is reported, and the check is repeated", async () => {
    await store.rooms.addRoom(room("a", 5));
    let fails = 1;
    const flaky = {
      archiveDue: (nowMs: number, limit: number) =>
        fails-- > 0 ? Promise.reject(new Error("no disk")) : store.rooms.archiveDue(nowMs, limit),
      nextDue: () => store.rooms.nextDue(),
    };
    const { expiry, errors, archived } = looking(Date.now, flaky);
    await expiry.start();
    expect(errors).toEqual([expect.objectContaining({ message: "no disk" })]);
    expiry.schedule(Date.now());
    await archived(1);
    await expiry.stop();
  });

  test("the store is not called after the stop", async () => {
    const { expiry, counts } = looking();
    await expiry.start();
    const dueMs = Date.now() + 50;
    await store.rooms.addRoom(room("a", dueMs));
    expiry.schedule(dueMs);
    await expiry.stop();
    // By then it would have been called.
    await Bun.sleep(dueMs + LATE_MS - Date.now());
    expect(counts).toEqual([]);
    expect(await store.rooms.nextDue()).toBeGreaterThan(0);
  });
});
