/** Rooms on SQL. A transaction that adds or archives rooms also updates their number (room_counters). */
import type { SQL } from "bun";
import type { AppId } from "../../base/ids.ts";
import { ROOMS_DUE_COUNTED, type RoomPage, type RoomRow, type RoomStore, type RoomsOf } from "../contract/rooms.ts";
import type { Database } from "../engines/database.ts";
import { appId, type DbRow, isUniqueViolation, searchable, toRoom } from "../engines/rows.ts";
import { RoomCache } from "./room-cache.ts";
import { Outbox } from "./webhooks/outbox.ts";

export class SqlRooms implements RoomStore {
  private readonly cache: RoomCache;

  constructor(
    private readonly database: Database,
    private readonly outbox = new Outbox(database.isShared),
  ) {
    this.cache = new RoomCache(database.isShared);
  }

  async room(app: AppId, name: string, nowMs: number): Promise<RoomRow | undefined> {
    return (
      this.cache.named(app, name, nowMs) ??
      this.read(
        (sql) => sql`
          SELECT * FROM rooms WHERE app = ${app} AND name = ${searchable(name)} AND archived IS NULL
            AND (archive_at IS NULL OR archive_at > ${nowMs})`,
      )
    );
  }

  async roomById(app: AppId, id: string, nowMs: number): Promise<RoomRow | undefined> {
    return (
      this.cache.withId(app, id, nowMs) ??
      this.read(
        (sql) => sql`
          SELECT * FROM rooms WHERE id = ${searchable(id)} AND app = ${app} AND archived IS NULL
            AND (archive_at IS NULL OR archive_at > ${nowMs})`,
      )
    );
  }

  archivedRoom(app: AppId, id: string): Promise<RoomRow | undefined> {
    return this.database.quickRun(async (sql) => {
      const rows: DbRow[] = await sql`SELECT * FROM rooms WHERE id = ${searchable(id)} AND app = ${app}`;
      return rows.map(toRoom)[0];
    });
  }

  private read(select: (sql: SQL) => Promise<DbRow[]>): Promise<RoomRow | undefined> {
    // Quick, as what joins do before and after it: a change of the mode is a statement of its own.
    return this.database.quickRun(async (sql) => {
      const [row] = (await select(sql)).map(toRoom);
      if (row) this.cache.add(row);
      return row;
    });
  }

  /** Another part of the store has changed rooms, and still has the connection. */
  changed(): void {
    this.cache.forgetAll();
  }

  rooms(app: AppId, limit: number, endId: string | undefined, nowMs: number): Promise<RoomRow[]> {
    return this.database.run((sql) => pageOf(sql, app, limit, endId, nowMs));
  }

  roomPage(app: AppId, limit: number, endId: string | undefined, nowMs: number): Promise<RoomPage | undefined> {
    return this.database.run(async (sql) => {
      if (endId !== undefined && !(await hasEverExisted(sql, app, endId))) return undefined;
      const rows = await pageOf(sql, app, limit, endId, nowMs);
      const counters: DbRow[] = await sql`SELECT live FROM room_counters WHERE app = ${app}`;
      // Rooms that came due since the last sweep, which are few. When very many expire at once, only the first are counted, which is wrong
      // for the seconds that the sweep takes: to read 100,000 for each call would make it take longer still.
      const due: DbRow[] = await sql`
        SELECT COUNT(*) AS n FROM (
          SELECT app FROM rooms WHERE archived IS NULL AND archive_at IS NOT NULL AND archive_at <= ${nowMs}
          ORDER BY archive_at LIMIT ${ROOMS_DUE_COUNTED}) AS due
        WHERE app = ${app}`;
      return { rows, total: Number(counters[0]?.live ?? 0) - Number(due[0]?.n) };
    });
  }

  addRoom(row: RoomRow, max: number = Number.MAX_SAFE_INTEGER): Promise<"added" | "taken" | "full"> {
    return orTaken<"added" | "full">(() =>
      this.database.transaction(async (tx) => {
        const counted: DbRow[] = await tx`
          INSERT INTO room_counters (app, live) VALUES (${row.app}, 1)
          ON CONFLICT (app) DO UPDATE SET live = room_counters.live + 1 WHERE room_counters.live < ${max}
          RETURNING live, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = ${row.app}) AS is_hooked`;
        if (counted.length === 0) return "full";
        await tx`
          INSERT INTO rooms (id, app, name, fields, created, archive_at, archived, version)
          VALUES (${row.id}, ${row.app}, ${row.name}, ${JSON.stringify(row.fields)}, ${row.created}, ${row.archiveAt},
            ${null}, ${row.version})`;
        const isHooked = await this.outbox.hookRoom(tx, row.app, row.fields);
        if (isHooked || Number(counted[0]?.is_hooked) === 1) await this.tell(tx, "room.created", [row], row.created);
        return "added";
      }),
    );
  }

  replaceRoom(row: RoomRow, nowMs: number = this.outbox.nowMs()): Promise<"replaced" | "taken" | "changed"> {
    return orTaken<"replaced" | "changed">(() =>
      this.database.transaction(async (tx) => {
        this.cache.forget(row.id);
        const rows: DbRow[] = await tx`
          UPDATE rooms SET name = ${row.name}, fields = ${JSON.stringify(row.fields)}, archive_at = ${row.archiveAt},
            version = version + 1
          WHERE id = ${row.id} AND version = ${row.version} AND archived IS NULL
          RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = rooms.app) AS is_hooked`;
        if (rows.length === 0) return "changed";
        const isHooked = await this.outbox.hookRoom(tx, row.app, row.fields);
        if (isHooked || hookedOf(rows).length > 0) await this.tell(tx, "room.updated", rows.map(toRoom), nowMs);
        return "replaced";
      }),
    );
  }

  private tell(
    tx: SQL,
    type: "room.created" | "room.updated" | "room.archived",
    rooms: readonly RoomRow[],
    happened: number,
  ): Promise<void> {
    const events = rooms.map((room) => ({
      app: room.app,
      subject: room.id,
      happened,
      webhook: null,
      fact: { type, room },
    }));
    return this.outbox.add(tx, ...events);
  }

  archiveRoom(app: AppId, name: string, nowMs: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await subtractFromCounter(tx, app, 1);
      const rows: DbRow[] = await tx`
        UPDATE rooms SET archived = ${nowMs}, version = version + 1
        WHERE app = ${app} AND name = ${searchable(name)} AND archived IS NULL AND (archive_at IS NULL OR archive_at > ${nowMs})
        RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = rooms.app) AS is_hooked`;
      for (const { id } of rows) this.cache.forget(String(id));
      await subtractFromCounter(tx, app, rows.length - 1);
      await this.tell(tx, "room.archived", hookedOf(rows).map(toRoom), nowMs);
      return rows.length > 0;
    });
  }

  async archiveDue(nowMs: number, limit: number, of?: RoomsOf): Promise<number> {
    const due = await this.database.run((sql) => dueOf(sql, nowMs, limit, of));
    if (due.length === 0) return 0;
    return this.database.transaction(async (tx) => {
      const found = countsOf(due);
      // In a fixed order: two nodes that sweep the same applications in different orders would deadlock.
      for (const [app, count] of found.toSorted(([one], [other]) => (one < other ? -1 : 1)))
        await subtractFromCounter(tx, app, count);
      // The condition decides which node archives a room that two nodes have found.
      const rows: DbRow[] = await tx`
        UPDATE rooms SET archived = ${nowMs}, version = version + 1
        WHERE archived IS NULL AND archive_at <= ${nowMs} AND id IN ${tx(due.map(({ id }) => String(id)))}
        RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = rooms.app) AS is_hooked`;
      for (const { id } of rows) this.cache.forget(String(id));
      await this.tell(tx, "room.archived", hookedOf(rows).map(toRoom), nowMs);
      const archived = new Map(countsOf(rows));
      for (const [app, count] of found) await subtractFromCounter(tx, app, (archived.get(app) ?? 0) - count);
      return rows.length;
    });
  }

  async nextDue(): Promise<number | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`SELECT MIN(archive_at) AS due FROM rooms WHERE archived IS NULL AND archive_at IS NOT NULL`,
    );
    return rows[0]?.due == null ? undefined : Number(rows[0].due);
  }

  recount(): Promise<void> {
    return this.database.transaction(async (tx) => {
      // Locks all counters first, so that rooms added meanwhile are either counted below or wait.
      await tx`UPDATE room_counters SET live = 0`;
      await tx`
        INSERT INTO room_counters (app, live) SELECT app, COUNT(*) FROM rooms WHERE archived IS NULL GROUP BY app
        ON CONFLICT (app) DO UPDATE SET live = excluded.live`;
    });
  }
}

function dueOf(sql: SQL, nowMs: number, limit: number, of: RoomsOf | undefined): Promise<DbRow[]> {
  if (of?.name !== undefined)
    return sql`
      SELECT id, app FROM rooms
      WHERE app = ${of.app} AND name = ${searchable(of.name)} AND archived IS NULL AND archive_at <= ${nowMs}`;
  // The comparison of `app` is written so that no index fits it: SQLite would otherwise read all rooms of the application, 100,000 of them
  // in 15 ms.
  return of
    ? sql`
      SELECT id, app FROM rooms
      WHERE archived IS NULL AND archive_at IS NOT NULL AND archive_at <= ${nowMs} AND app || '' = ${of.app}
      ORDER BY archive_at LIMIT ${limit}`
    : sql`
      SELECT id, app FROM rooms WHERE archived IS NULL AND archive_at IS NOT NULL AND archive_at <= ${nowMs}
      ORDER BY archive_at LIMIT ${limit}`;
}

async function pageOf(
  sql: SQL,
  app: AppId,
  limit: number,
  endId: string | undefined,
  nowMs: number,
): Promise<RoomRow[]> {
  // Ids are lower-case hex, so "g" sorts after all of them.
  const rows: DbRow[] = await sql`
    SELECT * FROM rooms WHERE app = ${app} AND id < ${endId ?? "g"} AND archived IS NULL
      AND (archive_at IS NULL OR archive_at > ${nowMs})
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(toRoom);
}

/** Called before rooms are changed: every transaction locks the counter first, so that no two deadlock. */
async function subtractFromCounter(tx: SQL, app: AppId, count: number): Promise<void> {
  if (count !== 0) await tx`UPDATE room_counters SET live = live - ${count} WHERE app = ${app}`;
}

/** Rows of applications with someone to tell. */
const hookedOf = (rows: readonly DbRow[]): DbRow[] => rows.filter((row) => Number(row.is_hooked) === 1);

const countsOf = (rows: readonly DbRow[]): [app: AppId, count: number][] =>
  [...Map.groupBy(rows, ({ app }) => appId(app))].map(([app, group]) => [app, group.length]);

/** Also an archived room: a cursor stays valid when its room is archived. */
async function hasEverExisted(sql: SQL, app: AppId, id: string): Promise<boolean> {
  const rows: DbRow[] = await sql`SELECT id FROM rooms WHERE id = ${searchable(id)} AND app = ${app}`;
  return rows.length > 0;
}

async function orTaken<T>(work: () => Promise<T>): Promise<T | "taken"> {
  try {
    return await work();
  } catch (error) {
    if (isUniqueViolation(error)) return "taken";
    throw error;
  }
}
