/** Stays on SQL: how they begin, go on and end. Whatever changes who is inside holds the lock of the room (reserved-places.ts). */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import { withBreaks } from "../../../base/other-work.ts";
import type { Entered, Entering, MeetingRow, OverdueStay, StayEnd, StayRow } from "../../contract/meetings.ts";
import type { NewWebhookEvent } from "../../contract/webhooks.ts";
import { type DbRow, searchable } from "../../engines/rows.ts";
import { SqlMeetingReads } from "./reads.ts";
import type { ReservedPlaces } from "./reserved-places.ts";
import { toMeeting, toStay } from "./rows.ts";

/** After this time, `enter` writes a beat itself. */
const BEAT_KNOWN_MS = 600_000;
/** A stay that was seen this long after the time before which it counts as overdue was seen by a clock that was ahead. */
const SEEN_AHEAD_MS = 300_000;

/** Stays, and meetings, that are ended before other work gets its turn: about 3 ms of SQLite. */
export const ENDED_AT_ONCE = 10;

export class SqlStays extends SqlMeetingReads {
  /** The last beats of the nodes that use the store through this process: one, or one per worker. Bound: nodes of the last BEAT_KNOWN_MS. */
  protected readonly beats = new Map<string, number>();

  /** Says that someone was removed, once that is stored. */
  protected removed: () => void = () => undefined;

  reserve(...place: Parameters<ReservedPlaces["reserve"]>): Promise<"reserved" | "full"> {
    return this.places.reserve(...place);
  }

  async takenByOthers(app: AppId, room: string, id: string, nowMs: number): Promise<number> {
    return (await this.database.quickRun((sql) => this.places.taken(sql, app, room, id, nowMs))).byOthers;
  }

  async enter(one: Entering, max: number, nowMs: number): Promise<Entered> {
    // The stays of a node without a beat would never be overdue, and `forgetOld` forgets nodes that are silent for an hour.
    if (nowMs - (this.beats.get(one.node) ?? Number.NEGATIVE_INFINITY) > BEAT_KNOWN_MS)
      await this.beat(one.node, nowMs);
    return this.database.quickTransaction(
      async (tx): Promise<Entered> => {
        await this.places.lock(tx, one.app, one.room);
        const [known]: DbRow[] = await tx`SELECT * FROM stays WHERE id = ${one.id}`;
        if (!known) return this.begin(tx, one, max, nowMs);
        if (known.ended !== null || known.app !== one.app || known.room !== one.room) return { outcome: "ended" };
        return this.comeBack(tx, toStay(known), one, nowMs);
      },
      (entered) => {
        if (entered.outcome === "began") this.places.entered(entered.stay, entered.meeting);
      },
    );
  }

  private async comeBack(tx: SQL, known: StayRow, one: Entering, nowMs: number): Promise<Entered> {
    const [meeting]: DbRow[] = await tx`SELECT * FROM meetings WHERE id = ${known.meeting}`;
    if (!meeting) return { outcome: "ended" };
    // Anew: the room's times may have been changed since it began.
    const first = one.ejectAfterSec === null ? undefined : await this.firstEntryOf(tx, known.meeting, one.accessToken);
    const ejectAt = ejectAtOf(one, first ?? known.began);
    if (ejectAt !== null && ejectAt <= nowMs) return { outcome: "time" };
    // Later than when it was seen before, by whichever node's clock: which of its connections is the newest is decided by it.
    const seen = Math.max(nowMs, known.seen + 1);
    const stay = { ...known, node: one.node, seen, ejectAt };
    await tx`
      UPDATE stays SET node = ${stay.node}, seen = ${stay.seen}, eject_at = ${stay.ejectAt} WHERE id = ${stay.id}`;
    return { outcome: "back", stay, meeting: toMeeting(meeting), isFirst: false };
  }

  private async begin(tx: SQL, one: Entering, max: number, nowMs: number): Promise<Entered> {
    const { app, room } = one;
    const { meeting: current, isEmpty } = (await this.places.current(tx, app, room)) ?? {};
    const first = current && (await this.historyOf(tx, current.id, one));
    if (first === "banned") return { outcome: "removed" };
    const ejectAt = ejectAtOf(one, first ?? nowMs);
    if (ejectAt !== null && ejectAt <= nowMs) return { outcome: "time" };
    const { byOthers } = await this.places.taken(tx, app, room, one.id, nowMs);
    if (byOthers >= max) {
      // Its place, if it has one, would keep others out who hold one too: the limit was lowered since.
      await this.places.release(tx, one.id);
      return { outcome: "full" };
    }
    if (current?.isLocked && !one.isAdmin && one.isLetIn !== true) return { outcome: "locked" };
    const meeting = current ?? (await this.beginMeeting(tx, one, nowMs));
    if (isEmpty) await tx`UPDATE meetings SET is_empty = 0 WHERE id = ${meeting.id}`;
    const stay = stayOf(one, meeting.id, ejectAt, nowMs);
    const isHooked = await insertStay(tx, stay);
    if (isHooked) await this.tellBegun(tx, stay, meeting, !current);
    await this.places.release(tx, one.id);
    return { outcome: "began", stay, meeting, isFirst: !current };
  }

  private tellBegun(tx: SQL, stay: StayRow, meeting: MeetingRow, isFirst: boolean): Promise<void> {
    const common = { app: stay.app, subject: stay.room, webhook: null };
    const joined = { type: "participant.joined", stay, roomName: meeting.roomName } as const;
    const events: NewWebhookEvent[] = [{ ...common, happened: stay.began, fact: joined }];
    if (isFirst) events.unshift({ ...common, happened: meeting.began, fact: { type: "meeting.started", meeting } });
    return this.outbox.add(tx, ...events);
  }

  /** When its access token first entered the meeting. Guests without a user have no history, and cost no statement. */
  private async historyOf(tx: SQL, meeting: string, one: Entering): Promise<number | "banned" | undefined> {
    const { accessToken, externalUserId } = one;
    if (accessToken === null && externalUserId === null) return undefined;
    if (await this.hasBan(tx, meeting, accessToken, externalUserId)) return "banned";
    return this.firstEntryOf(tx, meeting, accessToken);
  }

  private async beginMeeting(tx: SQL, one: Entering, nowMs: number): Promise<MeetingRow> {
    const { app, room, roomName, newMeeting: id, recordsFrom: by } = one;
    const recording = by === undefined ? null : { by, since: nowMs };
    await tx`
      INSERT INTO meetings (id, app, room, room_name, began, ended, is_locked, is_empty, last_end, recording_by,
        recording_since)
      VALUES (${id}, ${app}, ${room}, ${roomName}, ${nowMs}, ${null}, 0, 0, ${nowMs}, ${by ?? null},
        ${recording?.since ?? null})`;
    // The application's counter last: transactions of other rooms wait for it.
    for (const counter of [room, ""])
      await tx`
        INSERT INTO meeting_counters (app, room, meetings) VALUES (${app}, ${counter}, 1)
        ON CONFLICT (app, room) DO UPDATE SET meetings = meeting_counters.meetings + 1`;
    return { id, app, room, roomName, began: nowMs, ended: null, isLocked: false, recording, recordingStopped: null };
  }

  async lost(id: string, node: string, nowMs: number): Promise<void> {
    // A stay that has ended has no node.
    await this.database.quickRun(
      (sql) => sql`UPDATE stays SET node = ${null}, seen = ${nowMs} WHERE id = ${id} AND node = ${node}`,
    );
  }

  async rename(id: string, name: string, maxTimes?: number): Promise<StayRow | "too often" | "ended"> {
    const isCounted = maxTimes !== undefined;
    return this.database.quickRun(async (sql) => {
      const rows: DbRow[] = await sql`
        UPDATE stays SET name = ${name}, renames = renames + ${isCounted ? 1 : 0}
        WHERE id = ${id} AND COALESCE(ended, 0) = 0 AND renames < ${maxTimes ?? Number.MAX_SAFE_INTEGER} RETURNING *`;
      const stay = rows.map(toStay)[0];
      if (stay) return stay;
      const [open]: DbRow[] = await sql`SELECT 1 AS found FROM stays WHERE id = ${id} AND COALESCE(ended, 0) = 0`;
      return open ? "too often" : "ended";
    });
  }

  async end(id: string, why: StayEnd, nowMs: number, node?: string): Promise<StayRow | undefined> {
    const isOnAny = node === undefined ? 1 : 0;
    const only = node ?? "";
    const stay = await this.database.quickTransaction(async (tx) => {
      await this.places.lockByStay(tx, id);
      // Not `ended IS NULL`: PostgreSQL would prefer the index of all open stays when it expects few.
      const rows: DbRow[] = await tx`
        UPDATE stays SET ended = ${nowMs}, why = ${why}, node = ${null}
        WHERE id = ${id} AND COALESCE(ended, 0) = 0
          AND (${isOnAny} = 1 OR COALESCE(node, ${only}) = ${only})
        RETURNING *`;
      // Its person left at this moment, or was lost and still hears the meeting: nothing more of theirs is recorded either.
      if (rows.length === 0 && why === "removed")
        await tx`UPDATE stays SET why = ${why} WHERE id = ${id} AND why IN ('left', 'lost')`;
      return this.leave(tx, rows, nowMs);
    });
    if (why === "removed") this.removed();
    return stay;
  }

  async isBarred(id: string): Promise<boolean> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`SELECT id FROM barred_stays WHERE id = ${searchable(id)}`,
    );
    return rows.length > 0;
  }

  async beat(node: string, nowMs: number): Promise<void> {
    await this.database.quickRun(
      (sql) => sql`
        INSERT INTO meeting_nodes (node, beat) VALUES (${node}, ${nowMs})
        ON CONFLICT (node) DO UPDATE SET beat = excluded.beat`,
    );
    this.beats.set(node, nowMs);
  }

  /** Beats that are too old to spare `enter` a statement. */
  protected forgetBeats(nowMs: number): void {
    for (const [node, beatMs] of this.beats) if (nowMs - beatMs > BEAT_KNOWN_MS) this.beats.delete(node);
  }

  async overdue(beforeMs: number, limit: number): Promise<readonly OverdueStay[]> {
    const lost: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT *, seen AS last_seen FROM stays WHERE ended IS NULL AND node IS NULL AND seen < ${beforeMs}
        ORDER BY seen LIMIT ${limit}`,
    );
    const killed = lost.length < limit ? await this.ofSilentNodes(beforeMs, limit - lost.length) : [];
    return [...lost, ...killed].map((row) => ({ stay: toStay(row), lastSeen: Number(row.last_seen) }));
  }

  /** Mostly no node is silent, and then no stay is read. */
  private ofSilentNodes(beforeMs: number, limit: number): Promise<DbRow[]> {
    // No stay was seen that late: the clock was set back since.
    const aheadMs = beforeMs + SEEN_AHEAD_MS;
    return this.database.quickRun(async (sql) => {
      const silent: DbRow[] = await sql`SELECT node FROM meeting_nodes WHERE beat < ${beforeMs}`;
      if (silent.length === 0) return [];
      return sql`
        SELECT s.*, CASE WHEN n.beat > s.seen OR s.seen > ${aheadMs} THEN n.beat ELSE s.seen END AS last_seen
        FROM stays s JOIN meeting_nodes n ON n.node = s.node
        WHERE s.node IN ${sql(silent.map(({ node }) => String(node)))} AND s.ended IS NULL
          AND (s.seen < ${beforeMs} OR s.seen > ${aheadMs})
        LIMIT ${limit}`;
    });
  }

  async endOverdue(beforeMs: number, overdue: readonly OverdueStay[]): Promise<readonly StayRow[]> {
    const ended: StayRow[] = [];
    for await (const { stay, lastSeen } of withBreaks(overdue, ENDED_AT_ONCE)) {
      const one = await this.database.quickTransaction(async (tx) => {
        await this.places.lock(tx, stay.app, stay.room);
        // Only if nothing has happened to it since it was read, and its node is still silent.
        const rows: DbRow[] = await tx`
          UPDATE stays SET ended = ${lastSeen}, why = 'lost', node = ${null}
          WHERE id = ${stay.id} AND COALESCE(ended, 0) = 0 AND seen = ${stay.seen} AND COALESCE(node, '') = ${stay.node ?? ""}
            AND NOT EXISTS (SELECT 1 FROM meeting_nodes n WHERE n.node = stays.node AND n.beat >= ${beforeMs})
          RETURNING *`;
        return this.leave(tx, rows, lastSeen);
      });
      if (one) ended.push(one);
    }
    return ended;
  }

  /** The meeting of a stay that was ended by this transaction. */
  private async leave(tx: SQL, rows: readonly DbRow[], atMs: number): Promise<StayRow | undefined> {
    const stay = rows.map(toStay)[0];
    if (!stay) return undefined;
    this.places.changed(stay.app, stay.room);
    const [meeting]: DbRow[] = await tx`
      UPDATE meetings SET last_end = CASE WHEN last_end > ${atMs} THEN last_end ELSE ${atMs} END,
        is_empty = CASE WHEN EXISTS (SELECT 1 FROM stays s
          WHERE s.app = ${stay.app} AND s.room = ${stay.room} AND s.ended IS NULL) THEN 0 ELSE 1 END
      WHERE id = ${stay.meeting}
      RETURNING room_name, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = meetings.app) AS is_hooked`;
    if (Number(meeting?.is_hooked) === 1) {
      const fact = { type: "participant.left", stay, roomName: String(meeting?.room_name) } as const;
      await this.outbox.add(tx, { app: stay.app, subject: stay.room, happened: atMs, webhook: null, fact });
    }
    return stay;
  }
}

function ejectAtOf({ ejectAfterSec, ejectAtLatest }: Entering, firstEntry: number): number | null {
  const times = [ejectAfterSec === null ? null : firstEntry + ejectAfterSec * 1000, ejectAtLatest].filter(
    (time) => time !== null,
  );
  return times.length === 0 ? null : Math.min(...times);
}

const stayOf = (one: Entering, meeting: string, ejectAt: number | null, nowMs: number): StayRow => ({
  id: one.id,
  meeting,
  app: one.app,
  room: one.room,
  name: one.name,
  externalUserId: one.externalUserId,
  isAdmin: one.isAdmin,
  isGuest: one.isGuest,
  accessToken: one.accessToken,
  ejectAt,
  node: one.node,
  seen: nowMs,
  began: nowMs,
  ended: null,
  why: null,
});

/** Returns whether its application has someone to tell. */
async function insertStay(tx: SQL, stay: StayRow): Promise<boolean> {
  const [inserted]: DbRow[] = await tx`
    INSERT INTO stays (id, meeting, app, room, name, external_user_id, is_admin, is_guest, access_token, eject_at, node,
      seen, began, ended, why)
    VALUES (${stay.id}, ${stay.meeting}, ${stay.app}, ${stay.room}, ${stay.name}, ${stay.externalUserId},
      ${stay.isAdmin ? 1 : 0}, ${stay.isGuest ? 1 : 0}, ${stay.accessToken}, ${stay.ejectAt}, ${stay.node},
      ${stay.seen}, ${stay.began}, ${stay.ended}, ${stay.why})
    RETURNING (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = ${stay.app}) AS is_hooked`;
  return Number(inserted?.is_hooked) === 1;
}
