/** Places in rows, under a lock of the room, where several nodes use the store (reserved-places.ts). */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import { type MeetingRow, type PlaceHolder, RESERVED_PER_HOLDER_MAX } from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import type { DbRow } from "../../engines/rows.ts";
import type { Current, ReservedPlaces, Taken } from "./reserved-places.ts";
import { toMeeting } from "./rows.ts";

/** How often a node removes places that are over, and how many at most. */
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 10_000;

export class PlacesInRows implements ReservedPlaces {
  private sweptMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly database: Database) {}

  // An advisory lock of 64 bits, which has nothing to do with those of two numbers in engines/postgres.ts. A transaction takes one room's lock at
  // most, and before anything else, so no two wait for each other. Another room with the same hash only waits.
  async lock(tx: SQL, app: AppId | "", room: string): Promise<void> {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${app}/${room}`}::text, 0))`;
  }

  async lockByStay(tx: SQL, stay: string): Promise<void> {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(app || '/' || room, 0)) FROM stays WHERE id = ${stay}`;
  }

  async reserve(
    app: AppId,
    room: string,
    id: string,
    max: number,
    untilMs: number,
    nowMs: number,
    holder?: PlaceHolder,
  ): Promise<"reserved" | "full"> {
    // Here, because only this call adds rows: without joins there is nothing to remove.
    // Either way: the clock may have been set back since.
    if (Math.abs(nowMs - this.sweptMs) >= SWEEP_EVERY_MS) await this.sweep(nowMs);
    return this.database.quickTransaction(async (tx) => {
      await this.lock(tx, app, room);
      if (holder !== undefined)
        await tx`
          DELETE FROM held_places WHERE id IN (
            SELECT id FROM held_places WHERE app = ${app} AND room = ${room} AND holder = ${holder.name} AND id <> ${id}
            ORDER BY until_ms DESC OFFSET ${RESERVED_PER_HOLDER_MAX - 1})`;
      const { byOthers, isInside } = await this.taken(tx, app, room, id, nowMs);
      if (isInside) return "reserved";
      const missing = byOthers - max + 1;
      if (missing > 0 && !(holder?.isVerified && (await this.takeFromGuests(tx, app, room, id, nowMs, missing))))
        return "full";
      await tx`
        INSERT INTO held_places (id, app, room, until_ms, holder, is_verified)
        VALUES (${id}, ${app}, ${room}, ${untilMs}, ${holder?.name ?? null}, ${holder?.isVerified === false ? 0 : 1})
        ON CONFLICT (id) DO UPDATE
        SET until_ms = excluded.until_ms, holder = excluded.holder, is_verified = excluded.is_verified`;
      return "reserved";
    });
  }

  /** Whether that many were reserved by guests. Where fewer are, the limit was lowered: those who hold them could not enter either. */
  private async takeFromGuests(
    tx: SQL,
    app: AppId,
    room: string,
    id: string,
    nowMs: number,
    count: number,
  ): Promise<boolean> {
    const taken: DbRow[] = await tx`
      DELETE FROM held_places WHERE id IN (
        SELECT id FROM held_places
        WHERE app = ${app} AND room = ${room} AND until_ms > ${nowMs} AND id <> ${id} AND is_verified = 0
        ORDER BY until_ms LIMIT ${count})
      RETURNING id`;
    return taken.length >= count;
  }

  async taken(tx: SQL, app: AppId, room: string, id: string, nowMs: number): Promise<Taken> {
    const [row]: DbRow[] = await tx`
      SELECT COUNT(*) AS inside, SUM(CASE WHEN id = ${id} THEN 1 ELSE 0 END) AS own,
        (SELECT COUNT(*) FROM held_places
          WHERE app = ${app} AND room = ${room} AND until_ms > ${nowMs} AND id <> ${id}) AS held
      FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    const own = Number(row?.own ?? 0);
    return { byOthers: Number(row?.inside) - own + Number(row?.held), isInside: own > 0 };
  }

  async release(tx: SQL, id: string): Promise<void> {
    await tx`DELETE FROM held_places WHERE id = ${id}`;
  }

  async releaseAfter(untilMs: number): Promise<void> {
    await this.database.quickRun(
      (sql) => sql`
        DELETE FROM held_places WHERE id IN (
          SELECT id FROM held_places WHERE until_ms > ${untilMs} LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED)`,
    );
  }

  async clear(app: AppId, limit: number): Promise<number> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        DELETE FROM held_places WHERE id IN (
          SELECT id FROM held_places WHERE app = ${app} LIMIT ${limit} FOR UPDATE SKIP LOCKED) RETURNING id`,
    );
    return rows.length;
  }

  async latest(app: AppId, room: string): Promise<MeetingRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT * FROM meetings WHERE app = ${app} AND room = ${room} ORDER BY began DESC, id DESC LIMIT 1`,
    );
    return rows.map(toMeeting)[0];
  }

  async current(tx: SQL, app: AppId, room: string): Promise<Current | undefined> {
    const [row]: DbRow[] = await tx`
      SELECT * FROM meetings WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    return row && { meeting: toMeeting(row), isEmpty: Number(row.is_empty) === 1 };
  }

  changed(): void {
    // The rows are what is known.
  }

  entered(): void {
    // As above.
  }

  private async sweep(nowMs: number): Promise<void> {
    this.sweptMs = nowMs;
    // Rows that another node removes are skipped: two nodes that wait for each other's rows would deadlock.
    await this.database.quickRun(
      (sql) => sql`
        DELETE FROM held_places WHERE id IN (
          SELECT id FROM held_places WHERE until_ms <= ${nowMs} LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED)`,
    );
  }
}
