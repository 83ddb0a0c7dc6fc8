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
 *   statement reads more than `windowRows` recordings, and other work gets its turn between two windows.
 */
import type { AppId } from "../../../base/ids.ts";
import { otherWork } from "../../../base/other-work.ts";
import type { PageRequest, RecordingFilter, RecordingRow } from "../../contract/recordings.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, toRecording } from "../../engines/rows.ts";
import { type Condition, condition, fenced, Statement } from "../../engines/statement.ts";

export interface ListingLimits {
  /** A session or a time span with at most this many recordings is narrow. */
  readonly narrowRows: number;
  /** The most recordings that one statement reads. */
  readonly windowRows: number;
}

const LIMITS: ListingLimits = { narrowRows: 10_000, windowRows: 250_000 };

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
  /** Bound: one entry per application with a list under way. */
  private readonly lastList = new Map<string, Promise<unknown>>();

  constructor(
    private readonly database: Database,
    private readonly limits = LIMITS,
  ) {}

  page(app: AppId, request: PageRequest): Promise<RecordingRow[]> {
    return this.inTurn(app, () => this.readPage(app, request));
  }

  totalOf(app: AppId, filter: RecordingFilter): Promise<number> {
    return this.inTurn(app, () => this.readTotal(app, filter));
  }

  private async readPage(app: AppId, { filter, order, limit, after }: PageRequest): Promise<RecordingRow[]> {
    const { fields, span, lead, rest } = conditionsOf(filter);
    const cursor = condition("seq", order === "asc" ? ">" : "<", after);
    if (span.length === 0 && fields.length <= 1)
      return this.rows(pageStatement(app, [...fields, ...cursor], order, limit));
    if ((await this.countIfNarrow(app, lead, rest)) !== undefined)
      return this.rows(pageStatement(app, [...lead, ...fenced([...rest, ...cursor])], order, limit, "sorted"));
    const found: RecordingRow[] = [];
    for await (const window of this.seqWindows(app, order, after)) {
      const conditions = [...fields, ...fenced(span), ...window];
      found.push(...(await this.rows(pageStatement(app, conditions, order, limit - found.length))));
      if (found.length >= limit) break;
    }
    return found;
  }

  private async readTotal(app: AppId, filter: RecordingFilter): Promise<number> {
    const { fields, span, lead, rest } = conditionsOf(filter);
    if (fields.length + span.length === 0) return (await this.counters(app)).live;
    const narrow = await this.countIfNarrow(app, lead, rest);
    if (narrow !== undefined) return narrow;
    let total = 0;
    if (fields.length === 0)
      for await (const window of this.timeWindows(app, filter)) total += await this.count(app, window);
    else
      for await (const window of this.seqWindows(app, "asc", undefined))
        total += await this.count(app, [...fields, ...fenced(span), ...window]);
    return total;
  }

  /** How many recordings match all conditions, if at most `narrowRows` match `lead`. undefined: more do, or there is no `lead`. */
  private async countIfNarrow(
    app: AppId,
    lead: readonly Condition[],
    rest: readonly Condition[],
  ): Promise<number | undefined> {
    if (lead.length === 0) return undefined;
    const max = this.limits.narrowRows;
    const statement = new Statement().add("SELECT COUNT(*) AS held, SUM(matching) AS n FROM (SELECT ");
    statement
      .matching(rest)
      .from(app, lead)
      .add(` LIMIT ${statement.value(max + 1)}) AS counted`);
    const [row] = await this.database.run((sql) => statement.run(sql));
    return Number(row?.held) <= max ? Number(row?.n ?? 0) : undefined;
  }

  /** Windows of `seq`, in order. Every index of a field has `seq` behind it, so a window bounds what is read of each. */
  private async *seqWindows(app: AppId, order: Order, after: number | undefined): AsyncGenerator<Condition[]> {
    const { lastSeq } = await this.counters(app);
    const { windowRows } = this.limits;
    let [low, high] = order === "asc" ? [(after ?? 0) + 1, lastSeq] : [1, Math.min(lastSeq, (after ?? Infinity) - 1)];
    for (let isFirst = true; low <= high; isFirst = false) {
      if (!isFirst) await otherWork();
      const [from, to] =
        order === "asc" ? [low, Math.min(high, low + windowRows - 1)] : [Math.max(low, high - windowRows + 1), high];
      yield [...condition("seq", ">=", from), ...condition("seq", "<=", to)];
      if (order === "asc") low = to + 1;
      else high = from - 1;
    }
  }

  /** Windows of `start_time`. Recordings of one second are in one window, even if there are more than `windowRows`. */
  private async *timeWindows(app: AppId, filter: RecordingFilter): AsyncGenerator<Condition[]> {
    const { startedAfter, startedBefore } = filter;
    const end = condition("start_time", "<", startedBefore);
    for (let from = startedAfter ?? 0; ; ) {
      const statement = new Statement()
        .add("SELECT start_time AS n")
        .from(app, [...condition("start_time", ">=", from), ...end]);
      statement.add(` ORDER BY start_time LIMIT 1 OFFSET ${statement.value(this.limits.windowRows)}`);
      const next = await this.number(statement);
      const start = condition("start_time", ">=", from);
      if (Number.isNaN(next)) return yield [...start, ...end];
      await otherWork();
      const to = Math.max(next, from + 1);
      yield [...start, ...condition("start_time", "<", to)];
      await otherWork();
      from = to;
    }
  }

  private async counters(app: AppId): Promise<{ lastSeq: number; live: number }> {
    const rows = await this.database.run<DbRow[]>(
      (sql) => sql`SELECT last_seq, live FROM recording_counters WHERE app = ${app}`,
    );
    return { lastSeq: Number(rows[0]?.last_seq ?? 0), live: Number(rows[0]?.live ?? 0) };
  }

  private count(app: AppId, conditions: readonly Condition[]): Promise<number> {
    return this.number(new Statement().add("SELECT COUNT(*) AS n").from(app, conditions));
  }

  private async number(statement: Statement): Promise<number> {
    const rows = await this.database.run((sql) => statement.run(sql));
    return Number(rows[0]?.n);
  }

  private async rows(statement: Statement): Promise<RecordingRow[]> {
    return (await this.database.run((sql) => statement.run(sql))).map(toRecording);
  }

  /** One list at a time per application, so that one application cannot occupy every connection of the pool. */
  private inTurn<T>(app: AppId, work: () => Promise<T>): Promise<T> {
    const turn = (this.lastList.get(app) ?? Promise.resolve()).then(work);
    const ended = turn
      .catch(() => undefined)
      .then(() => {
        if (this.lastList.get(app) === ended) this.lastList.delete(app);
      });
    this.lastList.set(app, ended);
    return turn;
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
