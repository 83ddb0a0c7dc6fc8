/** The tables of a SQLite file. Whole numbers are read and written as texts, which are exact beyond 2^53. */
import { type Database, SQLiteError } from "bun:sqlite";
import { bytesOf, type Column, type Row, type Table } from "./cells.ts";
import {
  type Changes,
  FIRST_PAGE_ROWS,
  nextPageRows,
  type Pages,
  type Reading,
  RowsCollide,
  type Tables,
} from "./tables.ts";

/** A page is read in the order of the key behind the last row of the page before: an index finds it. */
export class SqliteTables implements Tables {
  constructor(private readonly db: Database) {}

  async columnsOf(table: string): Promise<readonly Column[]> {
    return this.db
      .query<{ name: string; type: string }, []>(`PRAGMA table_info(${table})`)
      .all()
      .map(({ name, type }) => ({ name, kind: type === "TEXT" ? "text" : "integer" }));
  }

  async *pages({ columns, from, key, select = {}, where = "TRUE" }: Reading): Pages {
    const shown = columns.map(({ name, kind }) => shownAs(select[name] ?? name, kind)).join(", ");
    const places = key.map((name) => columns.findIndex((column) => column.name === name));
    const holes = places.map((at) => (columns[at]?.kind === "text" ? "?" : "CAST(? AS INTEGER)")).join(", ");
    const order = key.join(", ");
    const rest = (behind: string): string =>
      `SELECT ${shown} FROM ${from} WHERE ${where}${behind} ORDER BY ${order} LIMIT ?`;
    using first = this.db.prepare<Row, (string | number)[]>(rest(""));
    using next = this.db.prepare<Row, (string | number)[]>(rest(` AND (${order}) > (${holes})`));
    let count = FIRST_PAGE_ROWS;
    let last: Row | undefined;
    for (;;) {
      const page = last ? next.values(...places.map((at) => last?.[at] ?? ""), count) : first.values(count);
      if (page.length > 0) yield page as Row[];
      if (page.length < count) return;
      last = page.at(-1) as Row;
      count = nextPageRows(
        page.length,
        (page as Row[]).reduce((sum, row) => sum + bytesOf(row), 0),
      );
    }
  }

  async apply(table: Table, { put, drop }: Changes): Promise<void> {
    try {
      this.db.transaction(() => {
        if (drop.length > 0) this.drop(table, drop);
        if (put.length > 0) this.put(table, put);
      })();
    } catch (error) {
      if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_CONSTRAINT"))
        throw new RowsCollide(`${table.name}: ${error.message}`, { cause: error });
      throw error;
    }
  }

  async clear(tables: readonly string[]): Promise<void> {
    this.db.transaction(() => {
      for (const table of tables.toReversed()) this.db.run(`DELETE FROM ${table}`);
    })();
  }

  async value(statement: string, ...values: readonly string[]): Promise<string | undefined> {
    using prepared = this.db.prepare<unknown, string[]>(statement);
    const [row] = prepared.values(...values);
    return row?.[0] == null ? undefined : String(row[0]);
  }

  private drop({ name, columns, key }: Table, rows: readonly Row[]): void {
    const places = key.map((one) => columns.findIndex((column) => column.name === one));
    using statement = this.db.prepare<unknown, (string | null)[]>(
      `DELETE FROM ${name} WHERE ${key.map((one) => `${one} = ?`).join(" AND ")}`,
    );
    for (const row of rows) statement.run(...places.map((at) => row[at] ?? null));
  }

  /** Columns of whole numbers turn texts into numbers. */
  private put({ name, columns, key }: Table, rows: readonly Row[]): void {
    const names = columns.map((column) => column.name);
    const others = names.filter((one) => !key.includes(one)).map((one) => `${one} = excluded.${one}`);
    using statement = this.db.prepare<unknown, (string | null)[]>(
      `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
       ON CONFLICT (${key.join(", ")}) DO ${others.length > 0 ? `UPDATE SET ${others.join(", ")}` : "NOTHING"}`,
    );
    for (const row of rows) statement.run(...row);
  }
}

/** SQLite would also store a fraction in such a column, which PostgreSQL does not have there. */
const shownAs = (expression: string, kind: Column["kind"]): string =>
  kind === "text" ? expression : `CAST(CAST(${expression} AS INTEGER) AS TEXT)`;
