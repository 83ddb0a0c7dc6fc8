/** The audit on SQL. Lists alternate with other long lists (engines/long-reads.ts). */

import type { FairQueue, Step } from "../../base/fair-queue.ts";
import type { AppId } from "../../base/ids.ts";
import type { AuditQuery, AuditRow, AuditStore } from "../contract/operators.ts";
import type { Database } from "../engines/database.ts";
import { longReads } from "../engines/long-reads.ts";
import { type DbRow, searchable, toAudit } from "../engines/rows.ts";
import { Statement } from "../engines/statement.ts";

const jsonOrNull = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));
const textOrNull = (value: string | null): string | null => (value === null ? null : searchable(value));

/** The most rows that one statement of a list with several filters reads. */
const WINDOW_ROWS = 5000;

type Condition = readonly [column: "app" | "by_app" | "who" | "what", value: string | number];

/**
 * `leads`: conditions that an index has in the order of ids, each of which finds a part of the rows. `rest`: what is compared in the rows found.
 * The index of applications has `by_app` before the id, so their rows are two parts.
 */
function conditionsOf(
  app: string | undefined,
  who: string | undefined,
  what: string | undefined,
): { readonly leads: readonly (readonly Condition[])[]; readonly rest: readonly Condition[] } {
  const texts = Object.entries({ who, what }) as ["who" | "what", string | undefined][];
  const others = texts.flatMap(([column, value]): Condition[] =>
    value === undefined ? [] : [[column, searchable(value)]],
  );
  if (app === undefined) return { leads: [others.slice(0, 1)], rest: others.slice(1) };
  const ofApp: Condition = ["app", searchable(app)];
  return { leads: [0, 1].map((byApp) => [ofApp, ["by_app", byApp]]), rest: others };
}

function addWhere(statement: Statement, lead: readonly Condition[], end: string | undefined): void {
  statement.add(" FROM audit WHERE 1 = 1");
  for (const [column, value] of lead) statement.add(` AND ${column} = ${statement.value(value)}`);
  if (end !== undefined) statement.add(` AND id < ${statement.value(searchable(end))}`);
}

export class SqlAudit implements AuditStore {
  constructor(
    private readonly database: Database,
    private readonly queue: FairQueue = longReads(database),
    private readonly windowRows = WINDOW_ROWS,
  ) {}

  add(rows: readonly AuditRow[]): Promise<void> {
    return this.database.transaction(async (tx) => {
      for (const row of rows)
        await tx`
          INSERT INTO audit (id, at, who, what, target, app, address, before_json, after_json, by_app)
          VALUES (${row.id}, ${row.at}, ${searchable(row.who)}, ${searchable(row.what)}, ${searchable(row.on)},
            ${textOrNull(row.app)}, ${row.address}, ${jsonOrNull(row.before)}, ${jsonOrNull(row.after)},
            ${row.byApp ? 1 : 0})`;
    });
  }

  list(query: AuditQuery): Promise<AuditRow[]> {
    return this.queue.run("the audit", JSON.stringify(query), (step) => this.read(query, step));
  }

  private async read({ limit, after, app, who, what }: AuditQuery, step: Step): Promise<AuditRow[]> {
    const { leads, rest } = conditionsOf(app, who, what);
    const found: AuditRow[] = [];
    for (const lead of leads) found.push(...(await this.readLed(lead, rest, limit, after, step)));
    // Ids begin with the time.
    return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
  }

  /** In windows of rows that `lead` matches: a statement with more conditions could read all of them to find few, or none. */
  private async readLed(
    lead: readonly Condition[],
    rest: readonly Condition[],
    limit: number,
    after: string | undefined,
    step: Step,
  ): Promise<AuditRow[]> {
    const found: AuditRow[] = [];
    for (let end = after; ; ) {
      const last = rest.length === 0 ? undefined : await step(() => this.lastOfWindow(lead, end));
      const statement = new Statement().add("SELECT *");
      addWhere(statement, lead, end);
      for (const [column, value] of rest) statement.add(` AND (${column} || '') = ${statement.value(value)}`);
      if (last !== undefined) statement.add(` AND id >= ${statement.value(last)}`);
      statement.add(` ORDER BY id DESC LIMIT ${statement.value(limit - found.length)}`);
      const rows = await step(() => this.database.run((sql) => statement.run(sql)));
      found.push(...rows.map(toAudit));
      if (last === undefined || found.length >= limit) return found;
      end = last;
    }
  }

  /** The id of the last row of the next window; undefined: fewer rows are left. */
  private async lastOfWindow(lead: readonly Condition[], end: string | undefined): Promise<string | undefined> {
    const statement = new Statement().add("SELECT id");
    addWhere(statement, lead, end);
    statement.add(` ORDER BY id DESC LIMIT 1 OFFSET ${statement.value(this.windowRows - 1)}`);
    const [row] = await this.database.run((sql) => statement.run(sql));
    return row && String(row.id);
  }

  async removeBefore(ms: number, max: number): Promise<number> {
    // By the id, which begins with the time: the primary key finds the oldest rows.
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ${idOfTime(ms)} ORDER BY id LIMIT ${max})
        RETURNING id`,
    );
    return rows.length;
  }

  async trim(app: AppId, kept: number, max: number): Promise<number> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        DELETE FROM audit WHERE id IN (
          SELECT id FROM audit WHERE app = ${app} AND by_app = 1 ORDER BY id DESC LIMIT ${max} OFFSET ${kept})
        RETURNING id`,
    );
    return rows.length;
  }
}

/** The first id of that time: ids are 12 hex digits of Unix ms and 12 more. */
const idOfTime = (ms: number): string => ms.toString(16).padStart(12, "0");
