/** Places, meetings and open stays of rooms in memory, where no other process uses the store (reserved-places.ts). */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import { type MeetingRow, type PlaceHolder, RESERVED_PER_HOLDER_MAX, type StayRow } from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import type { DbRow } from "../../engines/rows.ts";
import type { Current, ReservedPlaces, Taken } from "./reserved-places.ts";
import { toMeeting } from "./rows.ts";

interface Place {
  readonly key: string;
  readonly holder: PlaceHolder | undefined;
  readonly untilMs: number;
}

/** What the store has of a room. */
interface Known {
  readonly latest: MeetingRow | undefined;
  readonly current: MeetingRow | undefined;
  /** Stays that have not ended. Bound: the limit of the room. */
  readonly open: ReadonlySet<string>;
}

/** Bound: beyond this number the oldest is read again. */
const KNOWN_MAX = 2000;

export class PlacesInMemory implements ReservedPlaces {
  /** By participantSession, in the order in which they were reserved. Bound: joins of 15 s, and each room has at most its limit. */
  private readonly places = new Map<string, Place>();
  /** Bound: as `places`. */
  private readonly byRoom = new Map<string, Set<string>>();
  /** By room. What changes them forgets them before others use the connection. Bound: KNOWN_MAX, the oldest is read again. */
  private readonly known = new Map<string, Known>();

  constructor(private readonly database: Database) {}

  async lock(): Promise<void> {
    // There is one connection: its transactions run one after the other.
  }

  async lockByStay(): Promise<void> {
    // As above.
  }

  reserve(
    app: AppId,
    room: string,
    id: string,
    max: number,
    untilMs: number,
    nowMs: number,
    holder?: PlaceHolder,
  ): Promise<"reserved" | "full"> {
    const key = keyOf(app, room);
    // No one else uses the connection meanwhile: no stay begins between the count and the decision.
    return this.database.quickRun(async (sql) => {
      if (holder !== undefined) this.giveUpOldest(key, id, holder.name);
      const { byOthers, isInside } = await this.taken(sql, app, room, id, nowMs);
      if (isInside) return "reserved";
      const missing = byOthers - max + 1;
      if (missing > 0 && !(holder?.isVerified && this.takeFromGuests(key, id, nowMs, missing))) return "full";
      this.remove(id);
      this.places.set(id, { key, holder, untilMs });
      const ids = this.byRoom.get(key);
      if (ids) ids.add(id);
      else this.byRoom.set(key, new Set([id]));
      return "reserved";
    });
  }

  private giveUpOldest(key: string, id: string, holder: string): void {
    const reserved = [...(this.byRoom.get(key) ?? [])].filter(
      (one) => one !== id && this.places.get(one)?.holder?.name === holder,
    );
    for (const one of reserved.slice(0, Math.max(0, reserved.length + 1 - RESERVED_PER_HOLDER_MAX))) this.remove(one);
  }

  /** Whether that many were reserved by guests. */
  private takeFromGuests(key: string, id: string, nowMs: number, count: number): boolean {
    const reserved = [...(this.byRoom.get(key) ?? [])].filter((one) => {
      const { untilMs = 0, holder } = this.places.get(one) ?? {};
      return one !== id && untilMs > nowMs && holder?.isVerified === false;
    });
    if (reserved.length < count) return false;
    for (const one of reserved.slice(0, count)) this.remove(one);
    return true;
  }

  async taken(sql: SQL, app: AppId, room: string, id: string, nowMs: number): Promise<Taken> {
    const { open } = await this.of(sql, app, room);
    const isInside = open.has(id);
    const byOthers = open.size - Number(isInside) + this.reservedByOthers(keyOf(app, room), id, nowMs);
    return { byOthers, isInside };
  }

  async latest(app: AppId, room: string): Promise<MeetingRow | undefined> {
    const known = this.known.get(keyOf(app, room)) ?? (await this.database.quickRun((sql) => this.of(sql, app, room)));
    return known.latest;
  }

  async current(tx: SQL, app: AppId, room: string): Promise<Current | undefined> {
    const { current, open } = await this.of(tx, app, room);
    return current && { meeting: current, isEmpty: open.size === 0 };
  }

  changed(app: AppId, room: string): void {
    this.known.delete(keyOf(app, room));
  }

  entered({ app, room, id }: StayRow, meeting: MeetingRow): void {
    const known = this.known.get(keyOf(app, room));
    if (!known) return;
    const latest = known.latest && isLater(known.latest, meeting) ? known.latest : meeting;
    this.put(keyOf(app, room), { latest, current: meeting, open: new Set(known.open).add(id) });
  }

  /** No one else uses the connection meanwhile: nothing changes between the statements. */
  private async of(sql: SQL, app: AppId, room: string): Promise<Known> {
    const key = keyOf(app, room);
    const found = this.known.get(key);
    if (found) return found;
    const latest: DbRow[] = await sql`
      SELECT * FROM meetings WHERE app = ${app} AND room = ${room} ORDER BY began DESC, id DESC LIMIT 1`;
    const current: DbRow[] = await sql`
      SELECT * FROM meetings WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    const open: DbRow[] = await sql`SELECT id FROM stays WHERE app = ${app} AND room = ${room} AND ended IS NULL`;
    const known: Known = {
      latest: latest.map(toMeeting)[0],
      current: current.map(toMeeting)[0],
      open: new Set(open.map(({ id }) => String(id))),
    };
    this.put(key, known);
    return known;
  }

  private put(key: string, known: Known): void {
    this.known.delete(key);
    const [oldest] = this.known.keys();
    if (oldest !== undefined && this.known.size >= KNOWN_MAX) this.known.delete(oldest);
    this.known.set(key, known);
  }

  private reservedByOthers(key: string, id: string, nowMs: number): number {
    // The oldest first: what this leaves is at most what was reserved within the longest time that is asked for.
    for (const [reserved, { untilMs }] of this.places) {
      if (untilMs > nowMs) break;
      this.remove(reserved);
    }
    let count = 0;
    for (const reserved of this.byRoom.get(key) ?? [])
      if (reserved !== id && (this.places.get(reserved)?.untilMs ?? 0) > nowMs) count++;
    return count;
  }

  async release(_tx: SQL, id: string): Promise<void> {
    this.remove(id);
  }

  async releaseAfter(untilMs: number): Promise<void> {
    for (const [id, place] of this.places) if (place.untilMs > untilMs) this.remove(id);
  }

  /** Rows are here only if the store was moved from PostgreSQL. What is in memory ends within seconds. */
  async clear(app: AppId, limit: number): Promise<number> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        DELETE FROM held_places WHERE id IN (SELECT id FROM held_places WHERE app = ${app} LIMIT ${limit}) RETURNING id`,
    );
    return rows.length;
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

const keyOf = (app: AppId, room: string): string => `${app}/${room}`;

/** In the order of `latest`. */
const isLater = (one: MeetingRow, other: MeetingRow): boolean =>
  one.began > other.began || (one.began === other.began && one.id > other.id);
