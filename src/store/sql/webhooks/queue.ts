/** What endpoints are still to be sent: events come in, messages go to them. What becomes of them is in settling.ts. */
import type { SQL } from "bun";
import {
  type EnterBounds,
  type Lost,
  type NewWebhookEvent,
  type NewWebhookMessage,
  WEBHOOK_DUE_AHEAD_MAX_MS,
  type WebhookEventRow,
  type WebhookLease,
  type WebhookMessageRow,
} from "../../contract/webhooks.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, number, searchable, text } from "../../engines/rows.ts";
import { jsonTable, storable, withRows } from "./json-table.ts";
import { SqlWebhookLease } from "./lease.ts";
import type { Outbox } from "./outbox.ts";
import { toEvent, toMessage } from "./rows.ts";

/** Numbers of an endpoint that the transaction changes. */
export interface Numbers {
  readonly webhook: string;
  readonly app: string;
  seq: number;
  attempt: number;
  backlog: number;
}

/** The same for every number of rows, so that it is planned once. */
function statementsOf(isShared: boolean) {
  const ids = jsonTable(isShared, { id: "text" });
  const subjects = jsonTable(isShared, { webhook: "text", subject: "text" });
  const head = `SELECT m.seq FROM webhook_messages m
    WHERE m.webhook = v.webhook AND m.subject = v.subject AND m.state = 'waiting' AND m.is_beside = 0
    ORDER BY m.seq LIMIT 1`;
  return {
    known: `SELECT w.id, w.app, w.kind FROM ${ids} JOIN webhooks w ON w.id = v.id`,
    removeEvents: `DELETE FROM webhook_events WHERE id IN (SELECT v.id FROM ${ids}) RETURNING id`,
    states: `SELECT s.* FROM ${ids} JOIN webhook_states s ON s.webhook = v.id`,
    busy: `SELECT v.webhook, v.subject FROM ${subjects} WHERE EXISTS (${head})`,
    unblock: `
      UPDATE webhook_messages SET is_blocked = 0
      WHERE is_blocked = 1 AND (webhook, seq) IN (SELECT v.webhook, (${head}) FROM ${subjects})`,
    begin: `
      INSERT INTO webhook_states (webhook, app, last_seq, last_attempt, backlog, dropped, delivered, failed, is_room)
      SELECT v.webhook, v.app, v.last_seq, 0, 0, 0, 0, 0, v.is_room
      FROM ${jsonTable(isShared, { webhook: "text", app: "text", last_seq: "bigint", is_room: "bigint" })}
      WHERE 1 = 1 ON CONFLICT (webhook) DO NOTHING`,
    enter: `
      INSERT INTO webhook_messages (webhook, seq, app, type, subject, happened, data, state, attempts, due, is_blocked,
        is_beside, is_lossy, last_attempt)
      SELECT v.webhook, v.seq, v.app, v.type, v.subject, v.happened, v.data, 'waiting', 0, 0, v.is_blocked, 0, v.is_lossy, 0
      FROM ${jsonTable(isShared, {
        webhook: "text",
        seq: "bigint",
        app: "text",
        type: "text",
        subject: "text",
        happened: "bigint",
        data: "text",
        is_blocked: "bigint",
        is_lossy: "bigint",
      })}`,
    entered: `
      UPDATE webhook_states SET last_seq = v.seq, backlog = v.backlog, dropped = webhook_states.dropped + v.dropped
      FROM ${jsonTable(isShared, { webhook: "text", seq: "bigint", backlog: "bigint", dropped: "bigint" })}
      WHERE webhook_states.webhook = v.webhook`,
  };
}

export class SqlWebhookQueue extends SqlWebhookLease {
  protected readonly statements: ReturnType<typeof statementsOf>;

  constructor(
    database: Database,
    protected readonly outbox: Outbox,
  ) {
    super(database, outbox.nowMs);
    this.statements = statementsOf(database.isShared);
  }

  onEvent(listener: () => void): void {
    this.outbox.onEvent(listener);
  }

  async events(limit: number, maxBytes?: number): Promise<readonly WebhookEventRow[]> {
    const rows: DbRow[] = await this.database.quickRun(async (sql) => {
      const count = maxBytes === undefined ? limit : await fitting(sql, limit, maxBytes);
      return sql`SELECT * FROM webhook_events ORDER BY nr, id LIMIT ${count}`;
    });
    return rows.map(toEvent);
  }

  async addEvents(events: readonly NewWebhookEvent[]): Promise<void> {
    if (events.length > 0) await this.database.quickTransaction((tx) => this.outbox.add(tx, ...events));
  }

  enter(
    lease: WebhookLease,
    messages: readonly NewWebhookMessage[],
    done: readonly string[],
    { backlogMax }: EnterBounds,
  ): Promise<ReadonlyMap<string, number> | Lost> {
    return this.whileHeld<ReadonlyMap<string, number>>(lease, async (tx) => {
      const removed = await withRows(tx, this.statements.removeEvents, done.map(idRow));
      if (done.length > 0 && removed.length === 0) return new Map();
      return this.addMessages(tx, messages, backlogMax);
    });
  }

  private async addMessages(
    tx: SQL,
    messages: readonly NewWebhookMessage[],
    backlogMax: number,
  ): Promise<ReadonlyMap<string, number>> {
    const numbers = await this.numbersOf(tx, new Set(messages.map(({ webhook }) => webhook)));
    const busy = await this.busySubjects(tx, messages);
    const rows = messages.flatMap((message) => {
      const of = numbers.get(message.webhook);
      // The endpoint was removed meanwhile.
      if (!of) return [];
      const subject = storable(message.subject);
      const isBlocked = busy.has(keyOf(message.webhook, subject));
      busy.add(keyOf(message.webhook, subject));
      of.backlog++;
      return {
        webhook: message.webhook,
        seq: ++of.seq,
        app: of.app,
        type: message.type,
        subject,
        happened: message.happened,
        data: message.data,
        is_blocked: Number(isBlocked),
        is_lossy: Number(message.isLossy),
      };
    });
    if (rows.length === 0) return new Map();
    await withRows(tx, this.statements.enter, rows);
    const dropped = new Map<string, number>();
    for (const of of numbers.values())
      if (of.backlog > backlogMax) dropped.set(of.webhook, await this.drop(tx, of, of.backlog - backlogMax));
    const entered = [...numbers.values()].map(({ webhook, seq, backlog }) => {
      const count = dropped.get(webhook) ?? 0;
      return { webhook, seq, backlog: backlog - count, dropped: count };
    });
    await withRows(tx, this.statements.entered, entered);
    return dropped;
  }

  /** The numbers of endpoints that exist. From then on what is left of them can be found. */
  protected async numbersOf(tx: SQL, webhooks: ReadonlySet<string>): Promise<Map<string, Numbers>> {
    const ids = [...webhooks].map(idRow);
    const known = await withRows(tx, this.statements.known, ids);
    const rows = await withRows(tx, this.statements.states, ids);
    const found = new Map(rows.map((row) => [text(row.webhook), row]));
    const missing = known.filter(({ id }) => !found.has(text(id)));
    const roomSeq = missing.some(isOfRoom) ? await roomSeqOf(tx) : 0;
    const firstSeqOf = (row: DbRow): number => (isOfRoom(row) ? roomSeq : 0);
    if (missing.length > 0) {
      const begun = missing.map((row) => ({
        webhook: text(row.id),
        app: text(row.app),
        last_seq: firstSeqOf(row),
        is_room: Number(isOfRoom(row)),
      }));
      await withRows(tx, this.statements.begin, begun);
    }
    return new Map(
      known.map((endpoint) => {
        const { id, app } = endpoint;
        const row = found.get(text(id));
        const seq = number(row?.last_seq ?? firstSeqOf(endpoint));
        const attempt = number(row?.last_attempt ?? 0);
        const backlog = number(row?.backlog ?? 0);
        return [text(id), { webhook: text(id), app: text(app), seq, attempt, backlog }];
      }),
    );
  }

  private async busySubjects(tx: SQL, messages: readonly NewWebhookMessage[]): Promise<Set<string>> {
    const pairs = new Map(
      messages.map(({ webhook, subject }) => [keyOf(webhook, subject), { webhook, subject: storable(subject) }]),
    );
    const rows = await withRows(tx, this.statements.busy, [...pairs.values()]);
    return new Set(rows.map((row) => keyOf(text(row.webhook), text(row.subject))));
  }

  /** The oldest of those that may be lost, then the oldest. */
  private async drop(tx: SQL, { webhook }: Numbers, count: number): Promise<number> {
    const subjects = new Set<string>();
    let left = count;
    for (const isLossy of [1, 0]) {
      if (left === 0) break;
      const rows: DbRow[] = await tx`
        DELETE FROM webhook_messages WHERE webhook = ${webhook} AND seq IN (
          SELECT seq FROM webhook_messages WHERE webhook = ${webhook} AND is_lossy = ${isLossy} AND state = 'waiting'
          ORDER BY seq LIMIT ${left})
        RETURNING subject`;
      for (const { subject } of rows) subjects.add(text(subject));
      left -= rows.length;
    }
    await this.unblock(
      tx,
      [...subjects].map((subject) => ({ webhook, subject })),
    );
    return count - left;
  }

  /** The first waiting message of each of these subjects may go, unless an earlier one is before it. */
  protected async unblock(
    tx: SQL,
    subjects: readonly { readonly webhook: string; readonly subject: string }[],
  ): Promise<void> {
    if (subjects.length > 0) await withRows(tx, this.statements.unblock, subjects);
  }

  async waiting(): Promise<readonly { readonly webhook: string; readonly due: number }[]> {
    const rows: DbRow[] = await this.database.quickRun(
      (sql) => sql`
        SELECT s.webhook, (
          SELECT m.due FROM webhook_messages m
          WHERE m.webhook = s.webhook AND m.state = 'waiting' AND m.is_blocked = 0 ORDER BY m.due LIMIT 1) AS due
        FROM webhook_states s JOIN webhooks w ON w.id = s.webhook WHERE s.backlog > 0`,
    );
    return rows.flatMap(({ webhook, due }) => (due == null ? [] : { webhook: text(webhook), due: number(due) }));
  }

  due(webhook: string, nowMs: number, limit: number, except: readonly number[]): Promise<readonly WebhookMessageRow[]> {
    const count = limit + except.length;
    const id = searchable(webhook);
    const underWay = new Set(except);
    const free = (rows: readonly DbRow[]): WebhookMessageRow[] =>
      rows.map(toMessage).filter(({ seq }) => !underWay.has(seq));
    return this.database.quickRun(async (sql) => {
      const fresh: DbRow[] = await sql`
        SELECT m.* FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
        WHERE m.webhook = ${id} AND m.state = 'waiting' AND m.is_blocked = 0 AND m.due = 0 ORDER BY m.seq LIMIT ${count}`;
      const retries: DbRow[] = await sql`
        SELECT m.* FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
        WHERE m.webhook = ${id} AND m.state = 'waiting' AND m.is_blocked = 0 AND m.due > 0 AND m.due <= ${nowMs}
        ORDER BY m.due, m.seq LIMIT ${count}`;
      const ahead: DbRow[] = await sql`
        SELECT m.* FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook
        WHERE m.webhook = ${id} AND m.state = 'waiting' AND m.is_blocked = 0
          AND m.due > ${nowMs + WEBHOOK_DUE_AHEAD_MAX_MS} ORDER BY m.due, m.seq LIMIT ${count}`;
      return inTurns(free([...retries, ...ahead]), free(fresh), limit);
    });
  }
}

/** How many of the oldest events have together at most that many bytes; at least one. It reads none of their texts. */
async function fitting(sql: SQL, limit: number, maxBytes: number): Promise<number> {
  const rows: DbRow[] = await sql`
    SELECT OCTET_LENGTH(fact) AS bytes FROM webhook_events ORDER BY nr, id LIMIT ${limit}`;
  let used = 0;
  for (const [at, { bytes }] of rows.entries()) {
    used += number(bytes);
    if (used > maxBytes) return Math.max(1, at);
  }
  return limit;
}

const isOfRoom = ({ kind }: DbRow): boolean => kind === "room";

/** One that was forgotten, and is made again, has the same id: its numbers go on, because receivers know the earlier ones. */
async function roomSeqOf(tx: SQL): Promise<number> {
  const [lease]: DbRow[] = await tx`SELECT room_seq FROM webhook_lease WHERE id = 1`;
  return number(lease?.room_seq ?? 0);
}

const keyOf = (webhook: string, subject: string): string => `${webhook}/${subject}`;

export const idRow = (id: string): { readonly id: string } => ({ id });

/** Neither those that came first nor those that came last wait for all of the others. */
function inTurns<T>(one: readonly T[], other: readonly T[], limit: number): T[] {
  const all: T[] = [];
  for (let i = 0; all.length < limit && i < Math.max(one.length, other.length); i++)
    all.push(...[one[i], other[i]].filter((row) => row !== undefined));
  return all.slice(0, limit);
}
