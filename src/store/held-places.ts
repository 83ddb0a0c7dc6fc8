/**
 * Places that are held for people who have joined a room and are not connected yet.
 *
 * Nodes that share a store hold them in rows, under a lock of the room. Elsewhere they are in memory, so that a join writes nothing: a place is
 * held for seconds, and after a restart the clients join again.
 */
import type { SQL } from "bun";
import type { Database } from "./database.ts";
import { HELD_PER_HOLDER_MAX, type MeetingStore } from "./meetings.ts";
import type { DbRow } from "./rows.ts";

/** How often a node removes places that are over, and how many at most. */
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 10_000;

/** Inside a transaction, after `lock`. */
export interface HeldPlaces {
  /** Until the transaction ends, no other one has the lock of this room. */
  lock(tx: SQL, app: string, room: string): Promise<void>;
  /** The same, for the room of a stay. */
  lockByStay(tx: SQL, stay: string): Promise<void>;
  readonly hold: MeetingStore["hold"];
  /** Which places others have: open stays and held places. */
  taken(sql: SQL, app: string, room: string, id: string, nowMs: number): Promise<Taken>;
  release(tx: SQL, id: string): Promise<void>;
}

export interface Taken {
  readonly byOthers: number;
  /** It has a stay there that is open. */
  readonly isInside: boolean;
}

export const heldPlaces = (database: Database): HeldPlaces =>
  database.isShared ? new PlacesInRows(database) : new PlacesInMemory(database);

interface Place {
  readonly key: string;
  readonly holder: string | undefined;
  readonly untilMs: number;
}

class PlacesInMemory implements HeldPlaces {
  /** By participantSession, in the order in which they were held. Bound: joins of 15 s, and each room has at most its limit. */
  private readonly places = new Map<string, Place>();
  private readonly byRoom = new Map<string, Set<string>>();

  constructor(private readonly database: Database) {}

  async lock(): Promise<void> {
    // There is one connection: its transactions run one after the other.
  }

  async lockByStay(): Promise<void> {
    // As above.
  }

  hold(
    app: string,
    room: string,
    id: string,
    max: number,
    untilMs: number,
    nowMs: number,
    holder?: string,
  ): Promise<"held" | "full"> {
    const key = keyOf(app, room);
    // Within the turn of the connection: no stay begins between the count and the decision.
    return this.database.quickRun(async (sql) => {
      if (holder !== undefined) this.giveUpOldest(key, id, holder);
      const { byOthers, isInside } = await this.taken(sql, app, room, id, nowMs);
      if (isInside) return "held";
      if (byOthers >= max) return "full";
      this.remove(id);
      this.places.set(id, { key, holder, untilMs });
      const ids = this.byRoom.get(key);
      if (ids) ids.add(id);
      else this.byRoom.set(key, new Set([id]));
      return "held";
    });
  }

  private giveUpOldest(key: string, id: string, holder: string): void {
    const held = [...(this.byRoom.get(key) ?? [])].filter(
      (one) => one !== id && this.places.get(one)?.holder === holder,
    );
    for (const one of held.slice(0, Math.max(0, held.length + 1 - HELD_PER_HOLDER_MAX))) this.remove(one);
  }

  async taken(sql: SQL, app: string, room: string, id: string, nowMs: number): Promise<Taken> {
    const [row]: DbRow[] = await sql`
      SELECT COUNT(*) AS inside, SUM(CASE WHEN id = ${id} THEN 1 ELSE 0 END) AS own
      FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    return takenOf(row, this.heldByOthers(keyOf(app, room), id, nowMs));
  }

  private heldByOthers(key: string, id: string, nowMs: number): number {
    // The oldest first: what this leaves is at most what was held within the longest time that is asked for.
    for (const [held, { untilMs }] of this.places) {
      if (untilMs > nowMs) break;
      this.remove(held);
    }
    let count = 0;
    for (const held of this.byRoom.get(key) ?? [])
      if (held !== id && (this.places.get(held)?.untilMs ?? 0) > nowMs) count++;
    return count;
  }

  async release(_tx: SQL, id: string): Promise<void> {
    this.remove(id);
  }

  private remove(id: string): void {
    const place = this.places.get(id);
    if (!place) return;
    this.places.delete(id);
    const ids = this.byRoom.get(place.key);
    ids?.delete(id);
    if (ids?.size === 0) this.byRoom.delete(place.key);
  }
}

class PlacesInRows implements HeldPlaces {
  private sweptMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly database: Database) {}

  // An advisory lock of 64 bits, which has nothing to do with those of two numbers in postgres.ts. A transaction takes one room's lock at
  // most, and before anything else, so no two wait for each other. Another room with the same hash only waits.
  async lock(tx: SQL, app: string, room: string): Promise<void> {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${app}/${room}`}::text, 0))`;
  }

  async lockByStay(tx: SQL, stay: string): Promise<void> {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(app || '/' || room, 0)) FROM stays WHERE id = ${stay}`;
  }

  async hold(
    app: string,
    room: string,
    id: string,
    max: number,
    untilMs: number,
    nowMs: number,
    holder?: string,
  ): Promise<"held" | "full"> {
    // Here, because only this call adds rows: without joins there is nothing to remove.
    if (nowMs - this.sweptMs >= SWEEP_EVERY_MS) await this.sweep(nowMs);
    return this.database.quickTransaction(async (tx) => {
      await this.lock(tx, app, room);
      if (holder !== undefined)
        await tx`
          DELETE FROM held_places WHERE id IN (
            SELECT id FROM held_places WHERE app = ${app} AND room = ${room} AND holder = ${holder} AND id <> ${id}
            ORDER BY until_ms DESC OFFSET ${HELD_PER_HOLDER_MAX - 1})`;
      const { byOthers, isInside } = await this.taken(tx, app, room, id, nowMs);
      if (isInside) return "held";
      if (byOthers >= max) return "full";
      await tx`
        INSERT INTO held_places (id, app, room, until_ms, holder)
        VALUES (${id}, ${app}, ${room}, ${untilMs}, ${holder ?? null})
        ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms`;
      return "held";
    });
  }

  async taken(tx: SQL, app: string, room: string, id: string, nowMs: number): Promise<Taken> {
    const [row]: DbRow[] = await tx`
      SELECT COUNT(*) AS inside, SUM(CASE WHEN id = ${id} THEN 1 ELSE 0 END) AS own,
        (SELECT COUNT(*) FROM held_places
          WHERE app = ${app} AND room = ${room} AND until_ms > ${nowMs} AND id <> ${id}) AS held
      FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    return takenOf(row, Number(row?.held));
  }

  async release(tx: SQL, id: string): Promise<void> {
    await tx`DELETE FROM held_places WHERE id = ${id}`;
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

function takenOf(row: DbRow | undefined, heldByOthers: number): Taken {
  const own = Number(row?.own ?? 0);
  return { byOthers: Number(row?.inside) - own + heldByOthers, isInside: own > 0 };
}

const keyOf = (app: string, room: string): string => `${app}/${room}`;
