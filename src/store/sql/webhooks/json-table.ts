/** Many rows in one parameter: one statement, with the same text for any number of them, reads or writes them all. */
import type { SQL } from "bun";
import type { DbRow } from "../../engines/rows.ts";

type Columns = Readonly<Record<string, "text" | "bigint">>;
type Row = Readonly<Record<string, string | number | null>>;

/** A table `v` for FROM, made of the first parameter. */
export function jsonTable(isShared: boolean, columns: Columns): string {
  const names = Object.entries(columns);
  if (isShared)
    return `json_to_recordset($1::text::json) AS v(${names.map(([name, type]) => `${name} ${type}`).join(", ")})`;
  return `(SELECT ${names.map(([name]) => `value ->> '$.${name}' AS ${name}`).join(", ")} FROM json_each($1)) AS v`;
}

/** Runs a statement over such a table; further values are `$2` and so on. */
export const withRows = (
  sql: SQL,
  statement: string,
  rows: readonly Row[],
  ...values: readonly (string | number | null)[]
): Promise<DbRow[]> => sql.unsafe(statement, [JSON.stringify(rows), ...values]);

/** A text of others that any database takes: PostgreSQL refuses U+0000, and JSON with half of a character. */
export const storable = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed();
