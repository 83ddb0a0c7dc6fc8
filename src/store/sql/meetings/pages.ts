/**
 * Pages and totals of meetings, newest first. Each search has an index in its order (migrations/0014_meetings.sql), so a page reads what it
 * returns. The totals of an application and of a room are kept in counters; those of a time span are counted in steps, because SQLite runs a
 * statement on the event loop and cannot interrupt it. The steps alternate (engines/long-reads.ts): the event loop would otherwise run one of every
 * request before anything else.
 */

import type { FairQueue, Step } from "../../../base/fair-queue.ts";
import type { AppId } from "../../../base/ids.ts";
import type { MeetingPage, MeetingSearch } from "../../contract/meetings.ts";
import type { Database } from "../../engines/database.ts";
import { type DbRow, searchable } from "../../engines/rows.ts";
import { Statement } from "../../engines/statement.ts";
import { toMeeting } from "./rows.ts";

interface Cursor {
  readonly began: number;
  readonly id: string;
}

/** The most meetings that one statement counts. */
const COUNTED_AT_ONCE = 10_000;

export class MeetingPages {
  constructor(
    private readonly database: Database,
    private readonly queue: FairQueue,
    private readonly countedAtOnce = COUNTED_AT_ONCE,
  ) {}

  /** undefined: there is no meeting `endId`. */
  async page(app: AppId, search: MeetingSearch): Promise<MeetingPage | undefined> {
    const { database } = this;
    const cursor = search.endId === undefined ? undefined : await cursorOf(database, app, search.endId);
    if (search.endId !== undefined && !cursor) return undefined;
    // First the total, which waits or is refused where many are asked for.
    const total = await this.totalOf(app, search);
    const rows = await database.quickRun((sql) => pageStatement(app, search, cursor).run(sql));
    return { rows: rows.map(toMeeting), total };
  }

  private async totalOf(app: AppId, search: MeetingSearch): Promise<number> {
    const { database } = this;
    if (search.isActive === true) return activeOf(database, app, search);
    const { room, startedAfter, startedBefore } = search;
    const hasSpan = startedAfter !== undefined || startedBefore !== undefined;
    const key = JSON.stringify(["meetings", room, startedAfter, startedBefore]);
    const all = hasSpan
      ? await this.queue.run(app, key, (step) => this.allOfSpan(app, search, step))
      : await allOf(database, app, search);
    // Those that have not ended are few, and have an index of their own.
    return search.isActive === undefined ? all : all - (await activeOf(database, app, search));
  }

  private async allOfSpan(app: AppId, search: MeetingSearch, step: Step): Promise<number> {
    const { database, countedAtOnce } = this;
    let total = 0;
    for (let end: Cursor | undefined; ; total += countedAtOnce) {
      const last = await step(() => nthOf(database, app, search, end, countedAtOnce));
      // Fewer than that are left. Only they are counted: finding the last of a step costs a third of counting it.
      if (!last) return total + (await step(() => countOf(database, app, search, end, countedAtOnce)));
      end = last;
    }
  }
}

async function cursorOf(database: Database, app: AppId, id: string): Promise<Cursor | undefined> {
  const rows: DbRow[] = await database.quickRun(
    (sql) => sql`SELECT began FROM meetings WHERE id = ${searchable(id)} AND app = ${app}`,
  );
  return rows[0] && { began: Number(rows[0].began), id };
}

function pageStatement(app: AppId, search: MeetingSearch, cursor: Cursor | undefined): Statement {
  const statement = new Statement().add("SELECT *");
  addFrom(statement, app, search, search.isActive);
  const began = beganIn(search, search.isActive);
  if (cursor) statement.add(` AND (${began}, id) < (${statement.value(cursor.began)}, ${statement.value(cursor.id)})`);
  return statement.add(` ORDER BY began DESC, id DESC LIMIT ${statement.value(search.limit)}`);
}

/**
 * A room has at most one active meeting, which the unique index of those finds. With a condition on the column itself SQLite uses the index of
 * all meetings of the room instead, and reads every one of them; no index has the expression.
 */
const beganIn = ({ room }: MeetingSearch, isActive: boolean | undefined): string =>
  isActive === true && room !== undefined ? "began + 0" : "began";

function addFrom(statement: Statement, app: AppId, search: MeetingSearch, isActive: boolean | undefined): void {
  const { room, startedAfter, startedBefore } = search;
  const column = beganIn(search, isActive);
  statement.add(` FROM meetings WHERE app = ${statement.value(app)}`);
  if (room !== undefined) statement.add(` AND room = ${statement.value(searchable(room))}`);
  if (isActive !== undefined) statement.add(isActive ? " AND ended IS NULL" : " AND ended IS NOT NULL");
  // With a condition on `began` SQLite uses the index of active meetings, and otherwise the one of all.
  const from = startedAfter ?? (isActive === true && room === undefined ? 0 : undefined);
  if (from !== undefined) statement.add(` AND ${column} >= ${statement.value(from)}`);
  if (startedBefore !== undefined) statement.add(` AND ${column} < ${statement.value(startedBefore)}`);
}

async function allOf(database: Database, app: AppId, search: MeetingSearch): Promise<number> {
  // The counter of the room '' is that of all rooms.
  if (search.room === "") return 0;
  const rows: DbRow[] = await database.quickRun(
    (sql) => sql`
      SELECT meetings FROM meeting_counters WHERE app = ${app} AND room = ${searchable(search.room ?? "")}`,
  );
  return Number(rows[0]?.meetings ?? 0);
}

async function activeOf(database: Database, app: AppId, search: MeetingSearch): Promise<number> {
  const statement = new Statement().add("SELECT COUNT(*) AS n");
  addFrom(statement, app, search, true);
  const rows = await database.quickRun((sql) => statement.run(sql));
  return Number(rows[0]?.n);
}

/** How many meetings of the span are older than `end`, at most `max`. */
async function countOf(
  database: Database,
  app: AppId,
  search: MeetingSearch,
  end: Cursor | undefined,
  max: number,
): Promise<number> {
  const statement = new Statement().add("SELECT COUNT(*) AS n FROM (SELECT id");
  addNewest(statement, app, search, end);
  statement.add(` LIMIT ${statement.value(max)}) AS counted`);
  const rows = await database.quickRun((sql) => statement.run(sql));
  return Number(rows[0]?.n);
}

async function nthOf(
  database: Database,
  app: AppId,
  search: MeetingSearch,
  end: Cursor | undefined,
  n: number,
): Promise<Cursor | undefined> {
  const statement = new Statement().add("SELECT began, id");
  addNewest(statement, app, search, end);
  statement.add(` LIMIT 1 OFFSET ${statement.value(n - 1)}`);
  const [row] = await database.quickRun((sql) => statement.run(sql));
  return row && { began: Number(row.began), id: String(row.id) };
}

function addNewest(statement: Statement, app: AppId, search: MeetingSearch, end: Cursor | undefined): void {
  addFrom(statement, app, search, undefined);
  if (end) statement.add(` AND (began, id) < (${statement.value(end.began)}, ${statement.value(end.id)})`);
  statement.add(" ORDER BY began DESC, id DESC");
}
