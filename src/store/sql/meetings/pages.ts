/**
 * Pages and totals of meetings, newest first. Each search has an index in its order (migrations/0014_meetings.sql), so a page reads what it
 * returns. The totals of an application and of a room are kept in counters.
 */
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

export async function meetingPage(
  database: Database,
  app: AppId,
  search: MeetingSearch,
): Promise<MeetingPage | undefined> {
  const cursor = search.endId === undefined ? undefined : await cursorOf(database, app, search.endId);
  if (search.endId !== undefined && !cursor) return undefined;
  const rows = await database.quickRun((sql) => pageStatement(app, search, cursor).run(sql));
  return { rows: rows.map(toMeeting), total: await totalOf(database, app, search) };
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
  if (cursor) statement.add(` AND (began, id) < (${statement.value(cursor.began)}, ${statement.value(cursor.id)})`);
  return statement.add(` ORDER BY began DESC, id DESC LIMIT ${statement.value(search.limit)}`);
}

function addFrom(statement: Statement, app: AppId, search: MeetingSearch, isActive: boolean | undefined): void {
  const { room, startedAfter, startedBefore } = search;
  statement.add(` FROM meetings WHERE app = ${statement.value(app)}`);
  if (room !== undefined) statement.add(` AND room = ${statement.value(searchable(room))}`);
  if (isActive !== undefined) statement.add(isActive ? " AND ended IS NULL" : " AND ended IS NOT NULL");
  // With a condition on `began` SQLite uses the index of active meetings, and otherwise the one of all.
  const from = startedAfter ?? (isActive === true && room === undefined ? 0 : undefined);
  if (from !== undefined) statement.add(` AND began >= ${statement.value(from)}`);
  if (startedBefore !== undefined) statement.add(` AND began < ${statement.value(startedBefore)}`);
}

async function totalOf(database: Database, app: AppId, search: MeetingSearch): Promise<number> {
  if (search.isActive === true) return countOf(database, app, search, true);
  const all = await allOf(database, app, search);
  // Those that have not ended are few, and have an index of their own.
  return search.isActive === undefined ? all : all - (await countOf(database, app, search, true));
}

async function allOf(database: Database, app: AppId, search: MeetingSearch): Promise<number> {
  if (search.startedAfter !== undefined || search.startedBefore !== undefined) return countOf(database, app, search);
  // The counter of the room '' is that of all rooms.
  if (search.room === "") return 0;
  const rows: DbRow[] = await database.quickRun(
    (sql) => sql`
      SELECT meetings FROM meeting_counters WHERE app = ${app} AND room = ${searchable(search.room ?? "")}`,
  );
  return Number(rows[0]?.meetings ?? 0);
}

async function countOf(database: Database, app: AppId, search: MeetingSearch, isActive?: true): Promise<number> {
  const statement = new Statement().add("SELECT COUNT(*) AS n");
  addFrom(statement, app, search, isActive);
  const rows = await database.quickRun((sql) => statement.run(sql));
  return Number(rows[0]?.n);
}
