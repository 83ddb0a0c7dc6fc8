/** Several rows in one statement, which both engines accept: `($1, $2), ($3, $4)`. */
import type { SQL } from "bun";
import type { DbRow } from "../../engines/rows.ts";

type Value = string | number | null;

export class Tuples {
  /** Bound: the parameters of one statement. */
  private readonly values: Value[] = [];

  /** The placeholder of one value. */
  value(value: Value): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** The placeholders of rows. There MUST be at least one. */
  rows(rows: readonly (readonly Value[])[]): string {
    return rows.map((row) => `(${row.map((value) => this.value(value)).join(", ")})`).join(", ");
  }

  run(sql: SQL, text: string): Promise<DbRow[]> {
    return sql.unsafe(text, this.values);
  }
}
