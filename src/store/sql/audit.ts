/** The audit on SQL. */
import type { AppId } from "../../base/ids.ts";
import type { AuditQuery, AuditRow, AuditStore } from "../contract/operators.ts";
import type { Database } from "../engines/database.ts";
import { type DbRow, searchable, toAudit } from "../engines/rows.ts";

const jsonOrNull = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));
const textOrNull = (value: string | null): string | null => (value === null ? null : searchable(value));

export class SqlAudit implements AuditStore {
  constructor(private readonly database: Database) {}

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

  async list({ limit, after, app, who, what }: AuditQuery): Promise<AuditRow[]> {
    const values: (string | number)[] = [];
    const value = (one: string | number): string => {
      values.push(typeof one === "string" ? searchable(one) : one);
      return `$${values.length}`;
    };
    const conditions = [
      ...(after === undefined ? [] : [`id < ${value(after)}`]),
      ...(app === undefined ? [] : [`app = ${value(app)}`]),
      ...(who === undefined ? [] : [`who = ${value(who)}`]),
      ...(what === undefined ? [] : [`what = ${value(what)}`]),
    ];
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
    const text = `SELECT * FROM audit${where} ORDER BY id DESC LIMIT ${value(limit)}`;
    const rows: DbRow[] = await this.database.run((sql) => sql.unsafe(text, values));
    return rows.map(toAudit);
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
