/** For tests: which tables a database has, and rows for any of them. */
import type { SQL } from "bun";
import type { Database } from "../../store/engines/database.ts";
import type { DbRow } from "../../store/engines/rows.ts";

export interface FoundColumn {
  readonly name: string;
  readonly isText: boolean;
  readonly isRequired: boolean;
}

/** By name, with the columns in their order. */
export type FoundTables = ReadonlyMap<string, readonly FoundColumn[]>;

type Query = (text: string) => Promise<DbRow[]>;

export async function sqliteTables(query: Query): Promise<FoundTables> {
  const found = new Map<string, FoundColumn[]>();
  const tables = await query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  for (const { name } of tables) {
    const columns = await query(`PRAGMA table_info(${name})`);
    found.set(
      String(name),
      columns.map((one) => ({
        name: String(one.name),
        isText: one.type === "TEXT",
        isRequired: Number(one.notnull) === 1 || Number(one.pk) > 0,
      })),
    );
  }
  return found;
}

async function postgresTables(query: Query): Promise<FoundTables> {
  const rows = await query(`
    SELECT c.table_name AS name, c.column_name AS part, c.data_type AS kind, c.is_nullable AS optional
    FROM information_schema.columns c
    JOIN information_schema.tables t ON t.table_name = c.table_name AND t.table_schema = c.table_schema
    WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position`);
  return new Map(
    [...Map.groupBy(rows, ({ name }) => String(name))].map(([name, columns]) => [
      name,
      columns.map(({ part, kind, optional }) => ({
        name: String(part),
        isText: kind === "text",
        isRequired: optional === "NO",
      })),
    ]),
  );
}

export const tablesIn = (database: Database): Promise<FoundTables> => {
  const query: Query = (text) => database.run((sql) => sql.unsafe(text));
  return database.isShared ? postgresTables(query) : sqliteTables(query);
};

type Value = string | number | null;
export type Values = Readonly<Record<string, Value>>;

/** Writes a row: what `given` does not name is null where that is allowed, and otherwise 0 or "[]", which is valid JSON too. */
export async function insertRow(
  sql: SQL,
  table: string,
  columns: readonly FoundColumn[],
  given: Values,
): Promise<void> {
  const values = columns.map(({ name, isText, isRequired }): Value => {
    const value = given[name];
    return value !== undefined ? value : isRequired ? (isText ? "[]" : 0) : null;
  });
  const names = columns.map(({ name }) => name).join(", ");
  const holes = values.map((_, at) => `$${at + 1}`).join(", ");
  await sql.unsafe(`INSERT INTO ${table} (${names}) VALUES (${holes})`, values);
}

export async function countIn(database: Database, table: string, where = "1 = 1"): Promise<number> {
  const rows: DbRow[] = await database.run((sql) => sql.unsafe(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`));
  return Number(rows[0]?.n);
}
