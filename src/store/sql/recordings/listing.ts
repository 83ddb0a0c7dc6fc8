/**
 * Pages and totals of recordings.
 *
 * The database plans these statements: there is one index per field (migrations/0009_fewer_recording_indexes.sql). A list by one field reads
 * exactly what it returns. For other filters two decisions are made here, because the planners cannot make them:
 *
 * - Narrow conditions. SQLite does not know how many recordings a time span holds, and PostgreSQL expects them to be spread evenly over the
 *   order. So the recordings of the session or the time span are counted first, up to a limit. If they are few, they are read by that
 *   condition and sorted; a wide time span is only a condition on rows that are read in order.
 * - The longest statement. SQLite runs a statement on the event loop and cannot interrupt it, so everything else is read in windows: no
 *   statement reads more than `windowRows` recordings, and other work gets its turn between two windows (engines/long-reads.ts).
 */

import type { FairQueue, Step } from "../../../base/fair-queue.ts";
import type { AppId } from "../../../base/ids.ts";
import type { PageRequest, RecordingFilter, RecordingRow } from "../../contract/recordings.ts";
import type { Database } from "../../engines/database.ts";
import { longReads } from "../../engines/long-reads.ts";
import { type DbRow, toRecording } from "../../engines/rows.ts";
import { type Condition, condition, fenced, Statement } from "../../engines/statement.ts";

export interface ListingLimits {
  /** A session or a time span with at most this many recordings is narrow. */
  readonly narrowRows: number;
  /** The most recordings that one statement reads. */
  readonly windowRows: number;
}

const LIMITS: ListingLimits = { narrowRows: 10_000, windowRows: 25_000 };

type Order = PageRequest["order"];

interface Conditions {
  readonly fields: readonly Condition[];
  readonly span: readonly Condition[];
  /** What may be narrow: the session, or else the time span, or else the only field. */
  readonly lead: readonly Condition[];
  /** All others. */
  readonly rest: readonly Condition[];
}

function conditionsOf(filter: RecordingFilter): Conditions {
  const session = [
    ...condition("participant_session", "=", filter.participantSession),
    ...condition("meeting_session", "=", filter.meetingSession),
  ];
  const others = [
    ...condition("room", "=", filter.room),
    ...condition("participant_username", "=", filter.participantUsername),
    ...condition("type", "=", filter.type),
  ];
  const span = [
    ...condition("start_time", ">=", filter.startedAfter),
    ...condition("start_time", "<", filter.startedBefore),
  ];
  const fields = [...session, ...others];
  if (session.length > 0) return { fields, span, lead: session, rest: [...others, ...span] };
  if (span.length > 0) return { fields, span, lead: span, rest: others };
  return { fields, span, lead: fields.length === 1 ? fields : [], rest: [] };
}

export class RecordingLists {
  constructor(
    private readonly database: Database,
    private readonly limits = LIMITS,
    private readonly queue: FairQueue = longReads(database),
  ) {}

  page(app: AppId, { isPatient = false, ...request }: PageRequest): Promise<RecordingRow[]> {
    return this.queue.run(
      app,
      JSON.stringify(["page of recordings", request]),
      (step) => new ListReading(this.database, this.limits, app, step).page(request),
      { isPatient },
    );
  }

  totalOf(app: AppId, filter: RecordingFilter): Promise<number> {
    return this.queue.run(app, JSON.stringify(["total of recordings", filter]), (step) =>
      new ListReading(this.database, this.limits, app, step).total(filter),
    );
  }
}

/** One page or total that is read. */
class ListReading {
  constructor(
    private readonly database: Database,
    private readonly limits: ListingLimits,
    private readonly app: AppId,
    private readonly step: Step,
  ) {}

  async page({ filter, order, limit, after }: PageRequest): Promise<RecordingRow[]> {
    const { fields, span, lead, rest } = conditionsOf(filter);
    const cursor = condition("seq", order === "asc" ? ">" : "<", after);
    if (span.length === 0 && fields.length <= 1)
      return this.rows(pageStatement(this.app, [...fields, ...cursor], order, limit));
    if ((await this.countIfNarrow(lead, rest)) !== undefined)
      return this.rows(pageStatement(this.app, [...lead, ...fenced([...rest, ...cursor])], order, limit, "sorted"));
    const found: RecordingRow[] = [];
    for await (const window of this.seqWindows(order, after)) {
      const conditions = [...fields, ...fenced(span), ...window];
      found.push(...(await this.rows(pageStatement(this.app, conditions, order, limit - found.length))));
      if (found.length >= limit) break;
    }
    return found;
  }

  async total(filter: RecordingFilter): Promise<number> {
    const { fields, span, lead, rest } = conditionsOf(filter);
    if (fields.length + span.length === 0) return (await this.counters()).live;
    const narrow = await this.countIfNarrow(lead, rest);
    if (narrow !== undefined) return narrow;
    let total = 0;
    if (fields.length === 0) for await (const window of this.timeWindows(filter)) total += await this.count(window);
    else
      for await (const window of this.seqWindows("asc", undefined))
        total += await this.count([...fields, ...fenced(span), ...window]);
    return total;
  }

  /** How many recordings match all conditions, if at most `narrowRows` match `lead`. undefined: more do, or there is no `lead`. */
  private async countIfNarrow(lead: readonly Condition[], rest: readonly Condition[]): Promise<number | undefined> {
    if (lead.length === 0) return undefined;
    const max = this.limits.narrowRows;
    const statement = new Statement().add("SELECT COUNT(*) AS held, SUM(matching) AS n FROM (SELECT ");
    statement
      .matching(rest)
      .from(this.app, lead)
      .add(` LIMIT ${statement.value(max + 1)}) AS counted`);
    const [row] = await this.run(statement);
    return Number(row?.held) <= max ? Number(row?.n ?? 0) : undefined;
  }

  /** Windows of `seq`, in order. Every index of a field has `seq` behind it, so a window bounds what is read of each. */
  private async *seqWindows(order: Order, after: number | undefined): AsyncGenerator<Condition[]> {
    const { lastSeq } = await this.counters();
    const { windowRows } = this.limits;
    let [low, high] = order === "asc" ? [(after ?? 0) + 1, lastSeq] : [1, Math.min(lastSeq, (after ?? Infinity) - 1)];
    while (low <= high) {
      const [from, to] =
        order === "asc" ? [low, Math.min(high, low + windowRows - 1)] : [Math.max(low, high - windowRows + 1), high];
      yield [...condition("seq", ">=", from), ...condition("seq", "<=", to)];
      if (order === "asc") low = to + 1;
      else high = from - 1;
    }
  }

  /** Windows of `start_time`. Recordings of one second are in one window, even if there are more than `windowRows`. */
  private async *timeWindows(filter: RecordingFilter): AsyncGenerator<Condition[]> {
    const { startedAfter, startedBefore } = filter;
    const end = condition("start_time", "<", startedBefore);
    for (let from = startedAfter ?? 0; ; ) {
      const statement = new Statement()
        .add("SELECT start_time AS n")
        .from(this.app, [...condition("start_time", ">=", from), ...end]);
      statement.add(` ORDER BY start_time LIMIT 1 OFFSET ${statement.value(this.limits.windowRows)}`);
      const next = await this.number(statement);
      const start = condition("start_time", ">=", from);
      if (Number.isNaN(next)) return yield [...start, ...end];
      const to = Math.max(next, from + 1);
      yield [...start, ...condition("start_time", "<", to)];
      from = to;
    }
  }

  private async counters(): Promise<{ lastSeq: number; live: number }> {
    const rows = await this.step(() =>
      this.database.run<DbRow[]>((sql) => sql`SELECT last_seq, live FROM recording_counters WHERE app = ${this.app}`),
    );
    return { lastSeq: Number(rows[0]?.last_seq ?? 0), live: Number(rows[0]?.live ?? 0) };
  }

  private count(conditions: readonly Condition[]): Promise<number> {
    return this.number(new Statement().add("SELECT COUNT(*) AS n").from(this.app, conditions));
  }

  private async number(statement: Statement): Promise<number> {
    const rows = await this.run(statement);
    return Number(rows[0]?.n);
  }

  private async rows(statement: Statement): Promise<RecordingRow[]> {
    return (await this.run(statement)).map(toRecording);
  }

  private run(statement: Statement): Promise<DbRow[]> {
    return this.step(() => this.database.run((sql) => statement.run(sql)));
  }
}

/** The inner statement needs only what an index holds; whole rows are fetched for the page alone. */
function pageStatement(
  app: AppId,
  conditions: readonly Condition[],
  order: Order,
  limit: number,
  how: "in order" | "sorted" = "in order",
): Statement {
  const direction = order === "asc" ? "ASC" : "DESC";
  const statement = new Statement();
  statement.add(`SELECT * FROM recordings WHERE app = ${statement.value(app)} AND seq IN (SELECT seq`);
  statement.from(app, conditions);
  statement.add(` ORDER BY ${how === "sorted" ? "seq + 0" : "seq"} ${direction} LIMIT ${statement.value(limit)})`);
  return statement.add(` ORDER BY seq ${direction}`);
}
