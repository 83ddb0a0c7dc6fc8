/**
 * For tests: what is left of a deleted application, compared with the inventory. Rows are written into every table that can have rows of an application, which
 * its columns tell: a new table without a rule fails here.
 */
import { afterEach, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Directory } from "../../access/keys/directory.ts";
import { Keyring } from "../../access/keys/keyring.ts";
import { Vault } from "../../access/keys/vault.ts";
import { type AppId, asAppId, roomSpaceOf, spaceOf, streamSpaceOf } from "../../base/ids.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { creation, messagesFor, NAME } from "../../history/testing/created-kit.ts";
import { batchOf } from "../../history/testing/kit.ts";
import { type Kit, makeKit } from "../../recordings/testing/kit.ts";
import type { ClearingStore } from "../../store/contract/clearing.ts";
import type { Store } from "../../store/contract/store.ts";
import type { DbRow } from "../../store/engines/rows.ts";
import { databaseOf } from "../../store/testing/recordings.ts";
import { appRow } from "../../store/testing/rows.ts";
import { STORE_TABLES } from "../inventory/inventory.ts";
import { AppSweep } from "../sweep/app-sweep.ts";
import { countIn, type FoundTables, insertRow, tablesIn, type Values } from "./tables.ts";

export interface DurableStores {
  readonly store: Store;
  readonly history: HistoryStore;
}

const HOUR_MS = 3_600_000;
const ROWS = 2;
/** Tables whose rows belong to an application through another row. */
const OF_PARENTS = [
  "key_secrets",
  "meeting_bans",
  "webhook_secrets",
  "webhook_messages",
  "webhook_attempts",
  "webhook_cursors",
];
/** Tables with one row per application. */
const COUNTERS = ["room_counters", "recording_counters", "webhook_apps"];
const NAMES = STORE_TABLES.map(({ name }) => name);

/** 24 hex digits, as the storage requires, and others in every table. */
const idOf = (app: AppId, table: string, n: number): string =>
  `${app.slice(0, 18)}${NAMES.indexOf(table).toString(16).padStart(2, "0")}${n.toString(16).padStart(4, "0")}`;

/** What a row needs to be one that the service could have written. */
function valuesOf(table: string, app: AppId, n: number): Values {
  const own: Readonly<Record<string, Values>> = {
    keys: { type: "secret", channel_patterns: '["**"]', revoked: null },
    key_secrets: { key_id: idOf(app, "keys", n), seq: 1 },
    usage: { period: 1_700_000_000 + n },
    blocks: { peer_id: `peer-${n}`, until_ms: Date.now() + HOUR_MS },
    rooms: { name: `room-${n}`, fields: "{}", archived: n === 0 ? 5 : null },
    recordings: { seq: n + 1, format: "webm", file: null },
    recording_counters: { live: ROWS, last_seq: 200 },
    deleted_recordings: { seq: n + 100, removed: n === 0 ? 5 : null },
    meetings: { room: `room-${n}`, ended: Date.now() + HOUR_MS, is_empty: 1 },
    meeting_counters: { room: n === 0 ? "" : `room-${n}` },
    stays: { meeting: idOf(app, "meetings", n), room: `room-${n}`, ended: 5 },
    meeting_bans: { meeting: idOf(app, "meetings", n), kind: "user", who: "u" },
    held_places: { until_ms: Date.now() + HOUR_MS },
    lobby_tickets: { ticket: idOf(app, table, n), since: Date.now(), state: "waiting" },
    webhook_secrets: { seq: 1 },
    webhook_messages: { seq: n, state: "waiting" },
    webhook_attempts: { nr: n },
    webhook_cursors: { channel: `channel-${n}` },
    tracked_members: { node: "n", channel: `channel-${n}`, peer_id: "p" },
    said_members: { channel: `channel-${n}`, peer_id: "p" },
    said_channels: { channel: `channel-${n}` },
    said_quotas: { period: 1_700_000_000 + n, kind: "messages" },
    // The page of a meeting that goes on sends it: only the deletion ends it.
    uploads: { touched: Date.now(), stay: `stay-${n}`, ticket: "" },
  };
  return { app, id: idOf(app, table, n), webhook: idOf(app, "webhooks", n), ...own[table] };
}

const isOfApps = (tables: FoundTables, name: string): boolean =>
  OF_PARENTS.includes(name) || tables.get(name)?.some((column) => column.name === "app") === true;

/** The condition for rows of one application. */
function ofApp(table: string, app: AppId): string {
  if (table === "key_secrets") return `key_id LIKE '${app.slice(0, 18)}%'`;
  if (table === "meeting_bans") return `meeting LIKE '${app.slice(0, 18)}%'`;
  if (table === "webhook_secrets") return `webhook LIKE '${app.slice(0, 18)}%'`;
  return `app = '${app}'`;
}

class World {
  readonly app = asAppId(randomBytes(12).toString("hex"));
  readonly other = asAppId(randomBytes(12).toString("hex"));
  /** Added to the clock. */
  aheadMs = 0;
  readonly failures: string[] = [];

  private constructor(
    readonly stores: DurableStores,
    readonly tables: readonly string[],
    private readonly kit: Kit,
  ) {}

  /** Two applications with the same rows in every table, with messages, and one of them with files. */
  static async fill(stores: DurableStores): Promise<World> {
    const found = await tablesIn(databaseOf(stores.store));
    const listed = NAMES.filter((name) => isOfApps(found, name));
    // Those of the history in the same database are asked through its contract.
    const all = [...found.keys()].filter((name) => isOfApps(found, name) && !name.startsWith("history_"));
    expect(listed.toSorted()).toEqual(all.toSorted());
    const kit = await makeKit({ store: stores.store, app: asAppId("none") });
    const world = new World(stores, listed, kit);
    for (const app of [world.app, world.other]) await world.fillApp(app, found);
    for (let n = 0; n < ROWS; n++) {
      const id = idOf(world.app, "recordings", n);
      const folder = join(kit.folder, "files", world.app, id.slice(-2));
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, id), "bytes");
    }
    return world;
  }

  private async fillApp(app: AppId, found: FoundTables): Promise<void> {
    const { store, history } = this.stores;
    await store.change((change) => change.putApp(appRow(app, { name: `name-${app}` })));
    await databaseOf(store).transaction(async (tx) => {
      for (const table of this.tables)
        for (let n = 0; n < (COUNTERS.includes(table) ? 1 : ROWS); n++)
          await insertRow(tx, table, found.get(table) ?? [], valuesOf(table, app, n));
    });
    for (const spaceId of [spaceOf(app), roomSpaceOf(app)]) await history.append(batchOf({ spaceId, id: "m" }));
    const spaceId = streamSpaceOf(app);
    const messages = messagesFor(["text"], { spaceId });
    await history.created.create(creation({ spaceId, messages }));
    const fork = { source: NAME.channel, at: "end", more: 0 } as const;
    await history.created.create(creation({ spaceId, channel: "fork", contentType: undefined, fork }));
    await history.created.delete({ ...NAME, spaceId });
  }

  readonly nowMs = (): number => Date.now() + this.aheadMs;

  async delete(): Promise<void> {
    const vault = new Vault(randomBytes(32));
    await new Directory(this.stores.store, new Keyring(vault), vault, this.nowMs).deleteApp(this.app);
  }

  sweepOf(clearing: ClearingStore): AppSweep {
    return new AppSweep(
      {
        clearing,
        history: this.stores.history,
        retentionMs: this.nowMs,
        log: { info: () => undefined, debug: () => undefined },
        failed: (error) => this.failures.push(String(error)),
      },
      0,
    );
  }

  sweepRecordings = (): Promise<object> => this.kit.sweep();

  async sweep(): Promise<void> {
    await this.sweepRecordings();
    await this.sweepOf(this.stores.store.clearing).sweep();
  }

  async rowsOf(app: AppId): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const table of this.tables)
      counts[table] = await countIn(databaseOf(this.stores.store), table, ofApp(table, app));
    return counts;
  }

  async streamsOf(app: AppId): Promise<number> {
    const { history } = this.stores;
    const spaces = [spaceOf(app), roomSpaceOf(app), streamSpaceOf(app)];
    return (await Promise.all(spaces.map((space) => history.usage(space)))).reduce((sum, one) => sum + one.streams, 0);
  }

  get files(): string[] {
    return readdirSync(join(this.kit.folder, "files"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  }

  removeFiles(): void {
    rmSync(dirname(this.kit.folder), { recursive: true });
  }

  async row(): Promise<DbRow> {
    const rows: DbRow[] = await databaseOf(this.stores.store).run(
      (sql) => sql`SELECT * FROM apps WHERE id = ${this.app}`,
    );
    return rows[0] ?? {};
  }
}

/** Which tables keep rows, as the inventory says. */
const KEPT = new Set(STORE_TABLES.filter(({ deletion }) => typeof deletion === "object").map(({ name }) => name));
const AT_ONCE = STORE_TABLES.filter(({ deletion }) => deletion === "at once").map(({ name }) => name);

const leftBy = (before: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(before).map(([table, rows]) => [table, KEPT.has(table) ? rows : 0]));

export function deletionSuite(open: () => Promise<DurableStores>): void {
  const worlds: World[] = [];
  afterEach(() => {
    for (const world of worlds.splice(0)) world.removeFiles();
  });
  const filled = async (): Promise<World> => {
    const world = await World.fill(await open());
    worlds.push(world);
    return world;
  };

  test("of a deleted application is left what the inventory says, and another one keeps everything", async () => {
    const world = await filled();
    const [before, ofOther] = [await world.rowsOf(world.app), await world.rowsOf(world.other)];
    expect(Object.values(before).every((rows) => rows > 0)).toBe(true);
    await world.delete();
    const atOnce = await world.rowsOf(world.app);
    for (const table of AT_ONCE) expect([table, atOnce[table]]).toEqual([table, 0]);
    expect(await world.row()).toMatchObject({ secret_sealed: "", secret_digest: "", previous_secrets: "[]" });
    await world.sweep();
    world.aheadMs = 2 * HOUR_MS;
    await world.sweep();
    expect(world.failures).toEqual([]);
    expect(await world.rowsOf(world.app)).toEqual(leftBy(before));
    expect([await world.streamsOf(world.app), world.files]).toEqual([0, []]);
    expect(await world.stores.store.clearing.uncleared(10)).toEqual([]);
    expect((await world.row()).cleared).not.toBeNull();
    // Places to remove are removed for whichever application they are.
    expect(await world.rowsOf(world.other)).toEqual({ ...ofOther, files_to_remove: 0 });
    expect(await world.streamsOf(world.other)).toBe(4);
  });

  test("an application is not clear while it has a row in any of the tables that are cleared", async () => {
    const { store } = await open();
    const found = await tablesIn(databaseOf(store));
    const cleared = STORE_TABLES.filter(({ name, deletion }) => deletion === "swept" && isOfApps(found, name));
    for (const { name } of cleared.filter(({ name }) => !OF_PARENTS.includes(name) && name !== "stays")) {
      const app = asAppId(randomBytes(12).toString("hex"));
      await store.change((change) => change.putApp(appRow(app, { name: `name-${app}`, deleted: 5 })));
      expect([name, await store.clearing.isClear(app)]).toEqual([name, true]);
      await databaseOf(store).run((sql) => insertRow(sql, name, found.get(name) ?? [], valuesOf(name, app, 0)));
      expect([name, await store.clearing.isClear(app)]).toEqual([name, false]);
    }
  });

  test("a sweep that is interrupted at any step is completed by the next one", async () => {
    const world = await filled();
    const before = await world.rowsOf(world.app);
    await world.delete();
    await world.sweepRecordings();
    world.aheadMs = 2 * HOUR_MS;
    for (let steps = 1; (await world.stores.store.clearing.uncleared(1)).length > 0; steps++) {
      const sweep = world.sweepOf(endingAfter(world.stores.store.clearing, steps));
      await sweep.sweep().catch(() => undefined);
      expect(steps).toBeLessThan(200);
    }
    expect(await world.rowsOf(world.app)).toEqual(leftBy(before));
  });

  test("what a node writes that does not know of the deletion yet is removed too", async () => {
    const world = await filled();
    await world.delete();
    await world.sweep();
    await world.sweep();
    const found = await tablesIn(databaseOf(world.stores.store));
    const late = { ...valuesOf("rooms", world.app, 9), archived: null };
    await databaseOf(world.stores.store).run((sql) => insertRow(sql, "rooms", found.get("rooms") ?? [], late));
    await world.stores.history.append(batchOf({ spaceId: spaceOf(world.app), channel: "late" }));
    await world.stores.history.created.create(creation({ spaceId: streamSpaceOf(world.app), channel: "late" }));
    expect(await world.stores.store.clearing.uncleared(10)).toHaveLength(1);
    world.aheadMs = 2 * HOUR_MS;
    await world.sweep();
    expect([(await world.rowsOf(world.app)).rooms, await world.streamsOf(world.app)]).toEqual([0, 0]);
    expect(await world.stores.store.clearing.uncleared(10)).toEqual([]);
  });

  test("after the clock was set back, an application is looked at for longer, and none is touched that is not deleted", async () => {
    const world = await filled();
    const ofOther = await world.rowsOf(world.other);
    await world.delete();
    world.aheadMs = -24 * HOUR_MS;
    await world.sweepOf(world.stores.store.clearing).sweep();
    expect(await world.stores.store.clearing.uncleared(10)).toHaveLength(1);
    expect(await world.rowsOf(world.other)).toEqual(ofOther);
    expect(await world.stores.store.clearing.clear(world.other, 100)).toBe(0);
    expect(await world.rowsOf(world.other)).toEqual(ofOther);
  });
}

/** As a process that is killed between two calls. */
const endingAfter = (clearing: ClearingStore, steps: number): ClearingStore => {
  let left = steps;
  return new Proxy(clearing, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (left-- <= 0) throw new Error("killed");
        return method.apply(target, args);
      };
    },
  });
};
