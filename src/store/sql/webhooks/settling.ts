/** What becomes of messages: attempts go to the log, and later messages of a subject have their turn. */
import type { SQL } from "bun";
import { otherWork } from "../../../base/other-work.ts";
import {
  type Lost,
  WEBHOOK_ROWS_AT_ONCE,
  type WebhookLease,
  type WebhookMessageRow,
  type WebhookOutcome,
} from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, number, searchable, text } from "../../engines/rows.ts";
import { jsonTable, storable, withRows } from "./json-table.ts";
import type { Outbox } from "./outbox.ts";
import { type Numbers, SqlWebhookQueue } from "./queue.ts";
import { toMessage } from "./rows.ts";

function statementsOf(isShared: boolean) {
  return {
    log: `
      INSERT INTO webhook_attempts (webhook, nr, app, seq, type, attempt, at, took_ms, is_success, status, error, response)
      SELECT v.webhook, v.nr, v.app, v.seq, v.type, v.attempt, v.at, v.took_ms, v.is_success, v.status, v.error, v.response
      FROM ${jsonTable(isShared, {
        webhook: "text",
        nr: "bigint",
        app: "text",
        seq: "bigint",
        type: "text",
        attempt: "bigint",
        at: "bigint",
        took_ms: "bigint",
        is_success: "bigint",
        status: "bigint",
        error: "text",
        response: "text",
      })}`,
    settle: `
      UPDATE webhook_messages SET state = v.state, attempts = v.attempt, due = v.due, last_attempt = v.nr,
        is_beside = CASE WHEN v.is_blocking = 1 THEN is_beside ELSE 1 END
      FROM ${jsonTable(isShared, {
        webhook: "text",
        seq: "bigint",
        nr: "bigint",
        state: "text",
        attempt: "bigint",
        due: "bigint",
        is_blocking: "bigint",
      })}
      WHERE webhook_messages.webhook = v.webhook AND webhook_messages.seq = v.seq
        AND webhook_messages.state = 'waiting'
      RETURNING webhook_messages.webhook, webhook_messages.seq`,
    settled: `
      UPDATE webhook_states SET last_attempt = v.attempt, backlog = v.backlog, delivered = webhook_states.delivered + v.delivered,
        failed = webhook_states.failed + v.failed, attempted_at = v.attempted_at,
        succeeded_at = COALESCE(v.succeeded_at, webhook_states.succeeded_at),
        failing_since = CASE WHEN v.is_failing = 0 THEN NULL WHEN v.succeeded_at IS NULL
          THEN COALESCE(webhook_states.failing_since, v.failing_since) ELSE v.failing_since END,
        last_status = v.last_status, last_error = v.last_error, slow_until = COALESCE(v.slow_until, webhook_states.slow_until)
      FROM ${jsonTable(isShared, {
        webhook: "text",
        attempt: "bigint",
        backlog: "bigint",
        delivered: "bigint",
        failed: "bigint",
        attempted_at: "bigint",
        succeeded_at: "bigint",
        is_failing: "bigint",
        failing_since: "bigint",
        last_status: "bigint",
        last_error: "text",
        slow_until: "bigint",
      })}
      WHERE webhook_states.webhook = v.webhook`,
  };
}

/** With its number in the log. */
interface Logged extends WebhookOutcome {
  readonly nr: number;
}

export class SqlWebhookSettling extends SqlWebhookQueue {
  private readonly settling: ReturnType<typeof statementsOf>;

  constructor(database: Database, outbox: Outbox) {
    super(database, outbox);
    this.settling = statementsOf(database.isShared);
  }

  settle(lease: WebhookLease, outcomes: readonly WebhookOutcome[]): Promise<"settled" | Lost> {
    return this.whileHeld<"settled">(lease, async (tx) => {
      const numbers = await this.numbersOf(tx, new Set(outcomes.map(({ webhook }) => webhook)));
      const logged = outcomes.flatMap((outcome): Logged[] => {
        const of = numbers.get(outcome.webhook);
        // The endpoint was removed meanwhile.
        return of ? [{ ...outcome, nr: ++of.attempt }] : [];
      });
      if (logged.length === 0) return "settled";
      await withRows(tx, this.settling.log, logged.map(attemptRow));
      const rows = await withRows(tx, this.settling.settle, logged.map(messageRow));
      const found = new Set(rows.map((row) => `${text(row.webhook)}/${number(row.seq)}`));
      // What was dropped meanwhile is not counted again.
      const present = logged.filter(({ webhook, seq }) => found.has(`${webhook}/${seq}`));
      const isOver = (one: Logged): boolean => one.isSuccess || one.next === null;
      for (const one of present.filter(isOver)) {
        const of = numbers.get(one.webhook);
        if (of) of.backlog--;
      }
      await this.unblock(tx, subjectsOf(present.filter((one) => isOver(one) || !one.isBlocking)));
      const groups = Map.groupBy(logged, ({ webhook }) => webhook);
      const states = [...numbers.values()].map((of) => stateRow(of, groups.get(of.webhook) ?? [], present));
      await withRows(tx, this.settling.settled, states);
      return "settled";
    });
  }

  async message(webhook: string, seq: number): Promise<WebhookMessageRow | undefined> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT m.* FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
        WHERE m.webhook = ${searchable(webhook)} AND m.seq = ${seq}`,
    );
    return rows.map(toMessage)[0];
  }

  recover(webhook: string): Promise<void> {
    return this.whileLocked(async (tx) => {
      await tx`UPDATE webhook_states SET failing_since = NULL, slow_until = NULL WHERE webhook = ${searchable(webhook)}`;
    });
  }

  resend(webhook: string, seq: number, nowMs: number): Promise<boolean> {
    const id = searchable(webhook);
    return this.whileLocked(async (tx) => {
      const [found]: DbRow[] = await tx`
        SELECT m.subject, m.state, m.is_blocked FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
        WHERE m.webhook = ${id} AND m.seq = ${seq}`;
      if (!found) return false;
      const isWaiting = found.state === "waiting";
      // One that waits for nothing but its time keeps its place in its subject.
      const isBeside = !isWaiting || number(found.is_blocked) === 1;
      await tx`
        UPDATE webhook_messages SET state = 'waiting', due = ${nowMs}, is_blocked = 0,
          is_beside = CASE WHEN ${isBeside ? 1 : 0} = 1 THEN 1 ELSE is_beside END
        WHERE webhook = ${id} AND seq = ${seq}`;
      if (!isWaiting) await addToBacklog(tx, id, 1);
      return true;
    });
  }

  async replay(webhook: string, sinceMs: number, nowMs: number): Promise<number> {
    const id = searchable(webhook);
    let count = 0;
    for (let after = 0; ; ) {
      const step = await this.whileLocked((tx) => replaySome(tx, id, sinceMs, nowMs, after));
      count += step.count;
      if (step.last === undefined) return count;
      after = step.last;
      await otherWork();
    }
  }
}

interface Replayed {
  readonly count: number;
  /** undefined: there are no more. */
  readonly last: number | undefined;
}

async function replaySome(tx: SQL, id: string, sinceMs: number, nowMs: number, after: number): Promise<Replayed> {
  const seen: DbRow[] = await tx`
    SELECT m.seq FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
    WHERE m.webhook = ${id} AND m.seq > ${after} ORDER BY m.seq LIMIT ${WEBHOOK_ROWS_AT_ONCE}`;
  const last = seen.at(-1);
  if (!last) return { count: 0, last: undefined };
  const waiting: DbRow[] = await tx`
    UPDATE webhook_messages SET due = ${nowMs}, attempts = 0
    WHERE webhook = ${id} AND seq > ${after} AND seq <= ${number(last.seq)} AND state = 'waiting' AND happened >= ${sinceMs}
    RETURNING seq`;
  const failed: DbRow[] = await tx`
    UPDATE webhook_messages SET state = 'waiting', due = ${nowMs}, attempts = 0, is_blocked = 0, is_beside = 1
    WHERE webhook = ${id} AND seq > ${after} AND seq <= ${number(last.seq)} AND state = 'failed' AND happened >= ${sinceMs}
    RETURNING seq`;
  await addToBacklog(tx, id, failed.length);
  return { count: waiting.length + failed.length, last: number(last.seq) };
}

async function addToBacklog(tx: SQL, webhook: string, count: number): Promise<void> {
  if (count > 0) await tx`UPDATE webhook_states SET backlog = backlog + ${count} WHERE webhook = ${webhook}`;
}

const attemptRow = (one: Logged) => ({
  webhook: one.webhook,
  nr: one.nr,
  app: one.app,
  seq: one.seq,
  type: one.type,
  attempt: one.attempt,
  at: one.at,
  took_ms: one.tookMs,
  is_success: Number(one.isSuccess),
  status: one.status,
  error: storableOrNull(one.error),
  response: storableOrNull(one.response),
});

const messageRow = ({ webhook, seq, nr, isSuccess, attempt, next, at, isBlocking }: Logged) => ({
  webhook,
  seq,
  nr,
  state: isSuccess ? "done" : next === null ? "failed" : "waiting",
  attempt,
  due: isSuccess ? at : (next ?? at),
  is_blocking: Number(isBlocking),
});

const storableOrNull = (value: string | null): string | null => (value === null ? null : storable(value));

const subjectsOf = (outcomes: readonly Logged[]) =>
  outcomes.map(({ webhook, subject }) => ({ webhook, subject: storable(subject) }));

/** `outcomes`: all of the endpoint, in their order. */
function stateRow({ webhook, attempt, backlog }: Numbers, outcomes: readonly Logged[], present: readonly Logged[]) {
  const last = outcomes.at(-1);
  const succeeded = outcomes.findLast(({ isSuccess }) => isSuccess);
  const isFailing = last !== undefined && !last.isSuccess;
  const failing = outcomes.slice(succeeded ? outcomes.indexOf(succeeded) + 1 : 0)[0];
  const slow = outcomes.findLast(({ slowUntil }) => slowUntil !== null);
  const own = present.filter((one) => one.webhook === webhook);
  return {
    webhook,
    attempt,
    backlog,
    delivered: own.filter(({ isSuccess }) => isSuccess).length,
    failed: own.filter(({ isSuccess, next }) => !isSuccess && next === null).length,
    attempted_at: last?.at ?? null,
    succeeded_at: succeeded?.at ?? null,
    is_failing: Number(isFailing),
    failing_since: isFailing ? (failing?.at ?? null) : null,
    last_status: last?.status ?? null,
    last_error: last ? storableOrNull(last.error) : null,
    slow_until: slow?.slowUntil ?? null,
  };
}
