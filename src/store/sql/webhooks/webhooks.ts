/** The queue and the log of webhooks on SQL: numbers, the log, what is removed, and cursors. Endpoints are in changes.ts. */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import {
  type AttemptSearch,
  type Lost,
  type NewWebhookEvent,
  WEBHOOK_FAILED_MAX,
  WEBHOOK_LOG_ATTEMPTS,
  WEBHOOK_LOG_FAILURE_MS,
  WEBHOOK_LOG_FAILURES,
  WEBHOOK_ROWS_AT_ONCE,
  type WebhookAttemptRow,
  type WebhookCursorRow,
  type WebhookLease,
  type WebhookState,
  type WebhookStore,
} from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, number, searchable, text } from "../../engines/rows.ts";
import { jsonTable, withRows } from "./json-table.ts";
import type { Outbox } from "./outbox.ts";
import { idRow } from "./queue.ts";
import { toAttempt, toCursor, toState } from "./rows.ts";
import { SqlWebhookSettling } from "./settling.ts";

/** Messages that an endpoint was sent since a backup was made have other numbers than those after its restore, if they were fewer. */
const RESTORED_SEQ_STEP = 1_000_000_000;

const CURSOR = {
  webhook: "text",
  app: "text",
  channel: "text",
  epoch: "text",
  position: "bigint",
  used: "bigint",
} as const;

export class SqlWebhooks extends SqlWebhookSettling implements WebhookStore {
  private readonly findStates: string;
  private readonly removeUnnamed: string;
  private readonly moveCursors: string;
  private readonly addCursors: string;

  constructor(database: Database, outbox: Outbox) {
    super(database, outbox);
    const { isShared } = database;
    this.findStates = `
      SELECT s.* FROM ${jsonTable(isShared, { id: "text" })} JOIN webhook_states s ON s.webhook = v.id
      JOIN webhooks w ON w.id = s.webhook`;
    // A message stays while the log names it: its newest attempt, or one that has failed.
    this.removeUnnamed = `
      DELETE FROM webhook_messages WHERE seq IN (SELECT v.seq FROM ${jsonTable(isShared, { seq: "bigint" })})
        AND webhook = $2 AND state = 'done'
        AND NOT EXISTS (SELECT 1 FROM webhook_attempts a WHERE a.webhook = $2 AND a.nr = webhook_messages.last_attempt)
        AND NOT EXISTS (
          SELECT 1 FROM webhook_attempts a WHERE a.webhook = $2 AND a.seq = webhook_messages.seq AND a.is_success = 0)
      RETURNING seq`;
    this.moveCursors = `
      UPDATE webhook_cursors SET epoch = v.epoch, position = v.position, used = v.used FROM ${jsonTable(isShared, CURSOR)}
      WHERE webhook_cursors.webhook = v.webhook AND webhook_cursors.channel = v.channel
      RETURNING webhook_cursors.webhook, webhook_cursors.channel`;
    this.addCursors = `
      INSERT INTO webhook_cursors (webhook, app, channel, epoch, position, used)
      SELECT v.webhook, v.app, v.channel, v.epoch, v.position, v.used FROM ${jsonTable(isShared, CURSOR)}`;
  }

  async states(webhooks: readonly string[]): Promise<readonly WebhookState[]> {
    if (webhooks.length === 0) return [];
    const ids = webhooks.map((id) => idRow(searchable(id)));
    const rows = await this.database.quickRun((sql) => withRows(sql, this.findStates, ids));
    return rows.map(toState);
  }

  async attempts(
    webhook: string,
    { isSuccess, type, limit, after }: AttemptSearch,
  ): Promise<readonly WebhookAttemptRow[]> {
    const wanted = isSuccess === undefined ? -1 : Number(isSuccess);
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT a.*, m.data FROM webhook_attempts a JOIN webhooks w ON w.id = a.webhook
          LEFT JOIN webhook_messages m ON m.webhook = a.webhook AND m.seq = a.seq
        WHERE a.webhook = ${searchable(webhook)} AND a.nr < ${after ?? Number.MAX_SAFE_INTEGER}
          AND (${wanted} = -1 OR a.is_success = ${wanted}) AND (${type ?? ""} = '' OR a.type = ${searchable(type ?? "")})
        ORDER BY a.nr DESC LIMIT ${limit}`,
    );
    return rows.map(toAttempt);
  }

  async attempt(webhook: string, nr: number): Promise<WebhookAttemptRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT a.*, m.data FROM webhook_attempts a JOIN webhooks w ON w.id = a.webhook
          LEFT JOIN webhook_messages m ON m.webhook = a.webhook AND m.seq = a.seq
        WHERE a.webhook = ${searchable(webhook)} AND a.nr = ${nr}`,
    );
    return rows.map(toAttempt)[0];
  }

  trim(webhook: string, nowMs: number): Promise<number> {
    return this.whileLocked(async (tx) => {
      const [state]: DbRow[] = await tx`SELECT last_attempt, trimmed FROM webhook_states WHERE webhook = ${webhook}`;
      if (!state) return 0;
      const before = number(state.last_attempt) - WEBHOOK_LOG_ATTEMPTS;
      const trimmed = number(state.trimmed);
      const upTo = Math.min(before, trimmed + WEBHOOK_ROWS_AT_ONCE);
      const removed: DbRow[] = await trimSuccesses(tx, webhook, trimmed, upTo);
      const failures = await trimFailures(tx, webhook, before, nowMs - WEBHOOK_LOG_FAILURE_MS);
      const seqs = [...new Set([...removed, ...failures].map(({ seq }) => number(seq)))].map((seq) => ({ seq }));
      if (seqs.length > 0) await withRows(tx, this.removeUnnamed, seqs, webhook);
      const failed = await trimFailed(tx, webhook, nowMs - WEBHOOK_LOG_FAILURE_MS);
      return Math.max(0, upTo - trimmed) + failures.length + failed;
    });
  }

  forget(limit: number): Promise<number> {
    return this.whileLocked(async (tx) => {
      const [left]: DbRow[] = await tx`
        SELECT s.webhook FROM webhook_states s LEFT JOIN webhooks w ON w.id = s.webhook WHERE w.id IS NULL LIMIT 1`;
      return left ? forgetSome(tx, text(left.webhook), limit) : 0;
    });
  }

  /**
   * The store is that of a backup. Who was connected then makes no events, and no message gets a number, and so an id, that another one had after
   * the backup was made: receivers would take it for one that they have.
   */
  restored(): Promise<void> {
    return this.whileLocked(async (tx) => {
      for (const table of ["tracked_nodes", "tracked_connections", "tracked_members", "said_members", "said_channels"])
        await tx.unsafe(`DELETE FROM ${table}`);
      await tx`UPDATE webhook_states SET last_seq = last_seq + ${RESTORED_SEQ_STEP}`;
      // Those that had nothing to send yet when the backup was made, and URLs of rooms that it does not know.
      await tx`
        INSERT INTO webhook_states (webhook, app, last_seq, last_attempt, backlog, dropped, delivered, failed, is_room)
        SELECT w.id, w.app, ${RESTORED_SEQ_STEP}, 0, 0, 0, 0, 0, CASE WHEN w.kind = 'room' THEN 1 ELSE 0 END
        FROM webhooks w WHERE NOT EXISTS (SELECT 1 FROM webhook_states s WHERE s.webhook = w.id)`;
      await tx`UPDATE webhook_lease SET room_seq = room_seq + ${RESTORED_SEQ_STEP}`;
    });
  }

  /** Removes some of what a deleted application has left, and returns how many rows. */
  clearApp(app: AppId, limit: number): Promise<number> {
    return this.whileLocked(async (tx) => {
      // Selected first, as in clearing.ts.
      const events: DbRow[] = await tx`SELECT id FROM webhook_events WHERE app = ${app} ORDER BY app LIMIT ${limit}`;
      const ids = events.map(({ id }) => idRow(text(id)));
      if (ids.length > 0) return (await withRows(tx, this.statements.removeEvents, ids)).length;
      const [left]: DbRow[] = await tx`SELECT webhook FROM webhook_states WHERE app = ${app} LIMIT 1`;
      return left ? forgetSome(tx, text(left.webhook), limit) : 0;
    });
  }

  async cursors(webhook: string): Promise<readonly WebhookCursorRow[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT c.* FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook
        WHERE c.webhook = ${searchable(webhook)} ORDER BY c.channel`,
    );
    return rows.map(toCursor);
  }

  advance(
    lease: WebhookLease,
    cursors: readonly WebhookCursorRow[],
    events: readonly NewWebhookEvent[],
    max: number,
  ): Promise<"advanced" | Lost> {
    return this.whileHeld<"advanced">(lease, async (tx) => {
      await this.outbox.add(tx, ...events);
      const known = await this.numbersOf(tx, new Set(cursors.map(({ webhook }) => webhook)));
      const rows = cursors.filter(({ webhook }) => known.has(webhook)).map((cursor) => ({ ...cursor }));
      const moved = await withRows(tx, this.moveCursors, rows);
      const found = new Set(moved.map((row) => `${text(row.webhook)}/${text(row.channel)}`));
      const added = rows.filter(({ webhook, channel }) => !found.has(`${webhook}/${channel}`));
      if (added.length > 0) await withRows(tx, this.addCursors, added);
      for (const webhook of new Set(added.map((cursor) => cursor.webhook)))
        await tx`
          DELETE FROM webhook_cursors WHERE webhook = ${webhook} AND channel IN (
            SELECT channel FROM webhook_cursors WHERE webhook = ${webhook} ORDER BY used DESC LIMIT 1000 OFFSET ${max})`;
      return "advanced";
    });
  }
}

async function trimSuccesses(tx: SQL, webhook: string, after: number, upTo: number): Promise<DbRow[]> {
  if (upTo <= after) return [];
  await tx`UPDATE webhook_states SET trimmed = ${upTo} WHERE webhook = ${webhook}`;
  return tx`
    DELETE FROM webhook_attempts WHERE webhook = ${webhook} AND nr > ${after} AND nr <= ${upTo} AND is_success = 1
    RETURNING seq`;
}

/** Failures are in the order of their times: the oldest are too old, or too many. */
async function trimFailures(tx: SQL, webhook: string, before: number, beforeMs: number): Promise<DbRow[]> {
  const [oldest]: DbRow[] = await tx`
    SELECT nr FROM webhook_attempts WHERE webhook = ${webhook} AND is_success = 0 AND nr <= ${before}
    ORDER BY nr LIMIT 1`;
  if (!oldest) return [];
  // Only where there may be as many: it reads that many entries of an index.
  const [over]: DbRow[] =
    before - number(oldest.nr) < WEBHOOK_LOG_FAILURES - WEBHOOK_LOG_ATTEMPTS
      ? []
      : await tx`
          SELECT nr FROM webhook_attempts WHERE webhook = ${webhook} AND is_success = 0
          ORDER BY nr DESC LIMIT 1 OFFSET ${WEBHOOK_LOG_FAILURES}`;
  const most = number(over?.nr ?? 0);
  return tx`
    DELETE FROM webhook_attempts WHERE webhook = ${webhook} AND nr IN (
      SELECT nr FROM (
        SELECT nr, at FROM webhook_attempts WHERE webhook = ${webhook} AND is_success = 0 AND nr <= ${before}
        ORDER BY nr LIMIT ${WEBHOOK_ROWS_AT_ONCE}) AS oldest
      WHERE at < ${beforeMs} OR nr <= ${most})
    RETURNING seq`;
}

async function trimFailed(tx: SQL, webhook: string, beforeMs: number): Promise<number> {
  const [over]: DbRow[] = await tx`
    SELECT due FROM webhook_messages WHERE webhook = ${webhook} AND state = 'failed'
    ORDER BY due DESC LIMIT 1 OFFSET ${WEBHOOK_FAILED_MAX}`;
  const before = Math.max(beforeMs, over ? number(over.due) + 1 : 0);
  const rows: DbRow[] = await tx`
    DELETE FROM webhook_messages WHERE webhook = ${webhook} AND seq IN (
      SELECT seq FROM webhook_messages WHERE webhook = ${webhook} AND state = 'failed' AND due < ${before}
      ORDER BY due LIMIT ${WEBHOOK_ROWS_AT_ONCE})
    RETURNING seq`;
  return rows.length;
}

/**
 * Its numbers last: by them the rest is found. The newest messages first: a URL of rooms may be made again meanwhile, and what is left of a subject
 * must not wait for what was removed.
 */
async function forgetSome(tx: SQL, webhook: string, limit: number): Promise<number> {
  const messages: DbRow[] = await tx`
    DELETE FROM webhook_messages WHERE webhook = ${webhook} AND seq IN (
      SELECT seq FROM webhook_messages WHERE webhook = ${webhook} ORDER BY seq DESC LIMIT ${limit})
    RETURNING state`;
  const waiting = messages.filter(({ state }) => state === "waiting").length;
  if (waiting > 0) await tx`UPDATE webhook_states SET backlog = backlog - ${waiting} WHERE webhook = ${webhook}`;
  if (messages.length > 0) return messages.length;
  const attempts: DbRow[] = await tx`
    DELETE FROM webhook_attempts WHERE webhook = ${webhook} AND nr IN (
      SELECT nr FROM webhook_attempts WHERE webhook = ${webhook} ORDER BY nr LIMIT ${limit})
    RETURNING nr`;
  if (attempts.length > 0) return attempts.length;
  const cursors: DbRow[] = await tx`
    DELETE FROM webhook_cursors WHERE webhook = ${webhook} AND channel IN (
      SELECT channel FROM webhook_cursors WHERE webhook = ${webhook} ORDER BY channel LIMIT ${limit})
    RETURNING channel`;
  if (cursors.length > 0) return cursors.length;
  const states: DbRow[] = await tx`DELETE FROM webhook_states WHERE webhook = ${webhook} RETURNING last_seq, is_room`;
  for (const { last_seq, is_room } of states)
    if (number(is_room) === 1)
      await tx`UPDATE webhook_lease SET room_seq = ${number(last_seq)} WHERE room_seq < ${number(last_seq)}`;
  return states.length;
}
