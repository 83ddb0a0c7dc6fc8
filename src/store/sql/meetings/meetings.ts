/** Meetings on SQL. Reads are in reads.ts, stays in stays.ts, the lobby in lobby.ts. */
import type { SQL } from "bun";
import type { FairQueue } from "../../../base/fair-queue.ts";
import type { AppId } from "../../../base/ids.ts";
import { withBreaks } from "../../../base/other-work.ts";
import { AHEAD_MAX_MS, type MeetingRow, type MeetingStore } from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import { longReads } from "../../engines/long-reads.ts";
import { appId, type DbRow } from "../../engines/rows.ts";
import { Outbox } from "../webhooks/outbox.ts";
import { PlacesInMemory } from "./places-in-memory.ts";
import { PlacesInRows } from "./places-in-rows.ts";
import { toMeeting } from "./rows.ts";
import { ENDED_AT_ONCE, SqlStays } from "./stays.ts";

const DAY_MS = 86_400_000;
/** A node without open stays is forgotten after this time without a beat. */
const NODE_KEPT_MS = 3_600_000;
/** How many stays one statement removes: SQLite runs it on the event loop. */
const FORGET_STAYS = 200;
/** How many meetings of a deleted application one call removes, each with its stays. */
const CLEAR_MEETINGS = 50;

export class SqlMeetings extends SqlStays implements MeetingStore {
  /** `removed`: a person was removed from a meeting. */
  constructor(
    database: Database,
    queue: FairQueue = longReads(database),
    removed: () => void = () => undefined,
    outbox = new Outbox(database.isShared),
  ) {
    super(database, database.isShared ? new PlacesInRows(database) : new PlacesInMemory(database), outbox, queue);
    this.removed = removed;
  }

  async lock(meeting: string, isLocked: boolean): Promise<void> {
    await this.database.quickRun(async (sql) => {
      const rows: DbRow[] = await sql`
        UPDATE meetings SET is_locked = ${isLocked ? 1 : 0} WHERE id = ${meeting} AND ended IS NULL RETURNING app, room`;
      for (const { app, room } of rows) this.places.changed(appId(app), String(room));
    });
  }

  async setRecording(meeting: string, by: string | null, nowMs: number): Promise<boolean> {
    return this.database.quickRun(async (sql) => {
      const rows: DbRow[] =
        by === null
          ? await sql`
              UPDATE meetings SET recording_by = NULL, recording_since = ${nowMs}
              WHERE id = ${meeting} AND ended IS NULL AND recording_by IS NOT NULL RETURNING app, room`
          : await sql`
              UPDATE meetings SET recording_by = ${by}, recording_since = ${nowMs}
              WHERE id = ${meeting} AND ended IS NULL AND recording_by IS NULL RETURNING app, room`;
      for (const { app, room } of rows) this.places.changed(appId(app), String(room));
      return rows.length > 0;
    });
  }

  async ban(
    meeting: string,
    { accessToken, externalUserId }: { readonly accessToken: string | null; readonly externalUserId: string | null },
  ): Promise<void> {
    const bans = [
      ["token", accessToken],
      ["user", externalUserId],
    ] as const;
    const [room]: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT app, room FROM meetings WHERE id = ${meeting}`,
    );
    if (!room) return;
    await this.database.quickTransaction(async (tx) => {
      // A client that enters at the same time is inside before the ban, and seen by its caller, or finds it.
      await this.places.lock(tx, appId(room.app), String(room.room));
      for (const [kind, who] of bans)
        if (who !== null)
          await tx`
            INSERT INTO meeting_bans (meeting, kind, who) VALUES (${meeting}, ${kind}, ${who})
            ON CONFLICT (meeting, kind, who) DO NOTHING`;
    });
  }

  async endMeeting(meeting: string): Promise<MeetingRow | undefined> {
    const [found]: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT id, app, room FROM meetings WHERE id = ${meeting} AND ended IS NULL AND is_empty = 1`,
    );
    return found && this.endOne(found, Number.MAX_SAFE_INTEGER);
  }

  async endEmpty(beforeMs: number, limit: number): Promise<readonly MeetingRow[]> {
    const found: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT id, app, room FROM meetings WHERE ended IS NULL AND is_empty = 1 AND last_end < ${beforeMs}
        ORDER BY last_end LIMIT ${limit}`,
    );
    const ended: MeetingRow[] = [];
    for await (const one of withBreaks(found, ENDED_AT_ONCE)) {
      const meeting = await this.endOne(one, beforeMs);
      if (meeting) ended.push(meeting);
    }
    return ended;
  }

  private endOne({ id, app, room }: DbRow, beforeMs: number): Promise<MeetingRow | undefined> {
    return this.database.quickTransaction(async (tx) => {
      await this.places.lock(tx, appId(app), String(room));
      this.places.changed(appId(app), String(room));
      const rows: DbRow[] = await tx`
        UPDATE meetings SET ended = last_end, recording_by = NULL,
          recording_since = CASE WHEN recording_by IS NULL THEN recording_since ELSE last_end END
        WHERE id = ${String(id)} AND ended IS NULL AND is_empty = 1 AND last_end < ${beforeMs}
        RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = meetings.app) AS is_hooked`;
      const [meeting] = rows.map(toMeeting);
      if (!meeting) return undefined;
      await tx`DELETE FROM meeting_bans WHERE meeting = ${meeting.id}`;
      if (Number(rows[0]?.is_hooked) === 1) {
        const fact = { type: "meeting.ended", meeting } as const;
        const happened = meeting.ended ?? meeting.began;
        await this.outbox.add(tx, { app: meeting.app, subject: meeting.room, happened, webhook: null, fact });
      }
      return meeting;
    });
  }

  async forgetOld(nowMs: number, limit: number): Promise<number> {
    this.forgetBeats(nowMs);
    await this.forgetNodes(nowMs);
    const old = await this.oldMeetings(nowMs, limit);
    return this.forget(old);
  }

  /** Removes some of what a deleted application has, and returns how many rows. Meetings that have not ended stay. */
  async clearApp(app: AppId, limit: number): Promise<number> {
    const tickets = await this.clearLobby(app, limit);
    const places = await this.places.clear(app, limit);
    const ended: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT id FROM meetings WHERE app = ${app} AND ended IS NOT NULL
        ORDER BY ended LIMIT ${Math.min(limit, CLEAR_MEETINGS)}`,
    );
    return tickets + places + (await this.forget(ended));
  }

  private async forget(meetings: readonly DbRow[]): Promise<number> {
    const ids = meetings.map(({ id }) => String(id));
    if (ids.length === 0) return 0;
    // Other work gets its turn between two statements.
    while ((await this.forgetStays(ids)) >= FORGET_STAYS) await Bun.sleep(0);
    await this.forgetMeetings(ids);
    return ids.length;
  }

  /** Meetings of one application: the first whose oldest meeting is too old. */
  private oldMeetings(nowMs: number, limit: number): Promise<DbRow[]> {
    return this.database.quickRun(async (sql) => {
      const [due]: DbRow[] = await sql`
        SELECT * FROM (
          SELECT a.id, ${nowMs} - a.meeting_retention_days * ${DAY_MS} AS before_ms,
            (SELECT MIN(m.ended) FROM meetings m WHERE m.app = a.id AND m.ended IS NOT NULL) AS oldest
          FROM apps a WHERE a.cleared IS NULL) AS kept
        WHERE oldest < before_ms LIMIT 1`;
      if (!due) return [];
      return sql`
        SELECT id FROM meetings WHERE app = ${String(due.id)} AND ended IS NOT NULL AND ended < ${Number(due.before_ms)}
        ORDER BY ended LIMIT ${limit}`;
    });
  }

  private forgetStays(meetings: readonly string[]): Promise<number> {
    return this.database.quickTransaction(async (tx) => {
      await this.lockForgetting(tx);
      const rows: DbRow[] = await tx`
        DELETE FROM stays WHERE id IN (SELECT id FROM stays WHERE meeting IN ${tx(meetings)} LIMIT ${FORGET_STAYS})
        RETURNING id`;
      return rows.length;
    });
  }

  private forgetMeetings(ids: readonly string[]): Promise<void> {
    return this.database.quickTransaction(async (tx) => {
      await this.lockForgetting(tx);
      await tx`DELETE FROM meeting_bans WHERE meeting IN ${tx(ids)}`;
      const rows: DbRow[] = await tx`DELETE FROM meetings WHERE id IN ${tx(ids)} RETURNING app, room`;
      for (const { app, room } of rows) this.places.changed(appId(app), String(room));
      // Applications after rooms, as when a meeting begins, so that no two transactions wait for each other.
      for (const [app, room, count] of [...countsBy(rows, "room"), ...countsBy(rows, "app")]) {
        const [left]: DbRow[] = await tx`
          UPDATE meeting_counters SET meetings = meetings - ${count} WHERE app = ${app} AND room = ${room}
          RETURNING meetings`;
        if (Number(left?.meetings) === 0) await tx`DELETE FROM meeting_counters WHERE app = ${app} AND room = ${room}`;
      }
    });
  }

  async bringBack(nowMs: number): Promise<void> {
    const latest = nowMs + AHEAD_MAX_MS;
    await this.places.releaseAfter(latest);
    // Each by itself: a transaction that holds rows of several tables could wait for one that ends a stay, and that for it.
    const { database } = this;
    await database.quickRun((sql) => sql`UPDATE meeting_nodes SET beat = ${nowMs} WHERE beat > ${latest}`);
    // Not those with a node: the newest connection of a stay is found by it (comeBack).
    await database.quickRun(
      (sql) => sql`UPDATE stays SET seen = ${nowMs} WHERE ended IS NULL AND node IS NULL AND seen > ${latest}`,
    );
    await database.quickRun(
      (sql) => sql`
        UPDATE meetings SET last_end = ${nowMs} WHERE ended IS NULL AND is_empty = 1 AND last_end > ${latest}`,
    );
    this.beats.clear();
    await this.bringLobbyBack(nowMs, latest);
  }

  /** One node at a time: two that remove the same rows in different orders would deadlock. No room has this lock. */
  lockForgetting(tx: SQL): Promise<void> {
    return this.places.lock(tx, "", "");
  }

  private forgetNodes(nowMs: number): Promise<void> {
    return this.database.quickTransaction(async (tx) => {
      await this.lockForgetting(tx);
      await tx`
        DELETE FROM meeting_nodes WHERE beat < ${nowMs - NODE_KEPT_MS}
          AND NOT EXISTS (SELECT 1 FROM stays s WHERE s.node = meeting_nodes.node AND s.ended IS NULL)`;
    });
  }
}

/** How many of the rows are of each room, or of each application, whose counter has the room ''. */
function countsBy(rows: readonly DbRow[], by: "room" | "app"): (readonly [app: AppId, room: string, count: number])[] {
  const groups = Map.groupBy(rows, ({ app, room }) => (by === "room" ? `${app}/${room}` : String(app)));
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, group]) => [appId(group[0]?.app), by === "room" ? String(group[0]?.room) : "", group.length] as const);
}
