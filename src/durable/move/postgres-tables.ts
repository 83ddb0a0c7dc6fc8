/**
 * The tables of a PostgreSQL database. Rows are read through a cursor, in a transaction that sees one moment, and written through another connection.
 * A batch is one statement with one array per column.
 */
import type { SQL } from "bun";
import { stateOf } from "../../store/engines/postgres.ts";
import { bytesOf, type Cell, type Column, type Kind, type Row, type Table } from "./cells.ts";
import {
  type Changes,
  FIRST_PAGE_ROWS,
  nextPageRows,
  type Pages,
  type Reading,
  RowsCollide,
  type Tables,
} from "./tables.ts";

/** Classes of SQLSTATE: a constraint is violated. */
const CONSTRAINT = /^23/;
const KINDS: Readonly<Record<string, Kind>> = { text: "text", boolean: "flag" };

export class PostgresTables implements Tables {
  private cursors = 0;
  private isReading = false;

  /** `reader` MUST have one connection. */
  constructor(
    private readonly reader: SQL,
    private readonly writer: SQL,
  ) {}

  /** From now on, pages show the database as it is at this moment. */
  async lookAnew(): Promise<void> {
    await this.stopLooking();
    await this.reader.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    this.isReading = true;
    // The moment is that of the first statement.
    await this.reader.unsafe("SELECT 1");
  }

  private async stopLooking(): Promise<void> {
    if (this.isReading) await this.reader.unsafe("ROLLBACK");
    this.isReading = false;
  }

  async columnsOf(table: string): Promise<readonly Column[]> {
    const rows: { name: string; type: string }[] = await this.writer`
      SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
        WHERE attrelid = to_regclass(${table}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;
    return rows.map(({ name, type }) => ({ name, kind: KINDS[type] ?? "integer" }));
  }

  async *pages({ columns, from, key, select = {}, where = "TRUE" }: Reading): Pages {
    // With other names: the order is by columns of the table, and not by these texts.
    const shown = columns.map(({ name, kind }, at) => `${shownAs(select[name] ?? name, kind)} AS c${at}`).join(", ");
    const isText = (name: string): boolean => columns.some((column) => column.name === name && column.kind === "text");
    const order = key.map((name) => (isText(name) ? `${name} COLLATE "C"` : name)).join(", ");
    const cursor = `move_${++this.cursors}`;
    await this.reader.unsafe(
      `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${shown} FROM ${from} WHERE ${where} ORDER BY ${order}`,
    );
    let count = FIRST_PAGE_ROWS;
    for (;;) {
      const page: Row[] = await this.reader.unsafe(`FETCH ${count} FROM ${cursor}`).values();
      if (page.length > 0) yield page;
      if (page.length < count) break;
      count = nextPageRows(
        page.length,
        page.reduce((sum, row) => sum + bytesOf(row), 0),
      );
    }
    await this.reader.unsafe(`CLOSE ${cursor}`);
  }

  async apply(table: Table, { put, drop }: Changes): Promise<void> {
    try {
      await this.writer.begin(async (tx) => {
        if (drop.length > 0) await tx.unsafe(dropping(table), keysOf(table, drop));
        if (put.length > 0) await tx.unsafe(putting(table), arraysOf(table.columns, put));
      });
    } catch (error) {
      if (CONSTRAINT.test(stateOf(error)))
        throw new RowsCollide(`${table.name}: ${(error as Error).message}`, { cause: error });
      throw error;
    }
  }

  async clear(tables: readonly string[]): Promise<void> {
    // A transaction that has read the tables would keep them locked.
    await this.stopLooking();
    await this.writer.unsafe(`TRUNCATE ${tables.join(", ")}`);
  }

  async value(statement: string, ...values: readonly string[]): Promise<string | undefined> {
    const rows: Cell[][] = await this.writer.unsafe(statement, [...values]).values();
    const [row] = rows;
    return row?.[0] == null ? undefined : String(row[0]);
  }
}

const shownAs = (expression: string, kind: Kind): string => {
  if (kind === "flag") return `CASE WHEN ${expression} THEN '1' ELSE '0' END`;
  return kind === "text" ? expression : `(${expression})::TEXT`;
};

const typeOf = (kind: Kind): string => (kind === "text" ? "TEXT" : "BIGINT");

function putting({ name, columns, key }: Table): string {
  const names = columns.map((column) => column.name);
  const arrays = columns.map(({ kind }, at) => `$${at + 1}::${typeOf(kind)}[]`);
  const given = columns.map((column) => (column.kind === "flag" ? `given.${column.name} = 1` : `given.${column.name}`));
  const others = names.filter((one) => !key.includes(one)).map((one) => `${one} = excluded.${one}`);
  return `INSERT INTO ${name} (${names.join(", ")}) OVERRIDING SYSTEM VALUE
    SELECT ${given.join(", ")} FROM unnest(${arrays.join(", ")}) AS given (${names.join(", ")})
    ON CONFLICT (${key.join(", ")}) DO ${others.length > 0 ? `UPDATE SET ${others.join(", ")}` : "NOTHING"}`;
}

function dropping({ name, columns, key }: Table): string {
  const kindOf = (one: string): Kind => columns.find((column) => column.name === one)?.kind ?? "text";
  const arrays = key.map((one, at) => `$${at + 1}::${typeOf(kindOf(one))}[]`);
  const equal = key.map((one) => `present.${one} = given.${one}`);
  return `DELETE FROM ${name} AS present USING unnest(${arrays.join(", ")}) AS given (${key.join(", ")})
    WHERE ${equal.join(" AND ")}`;
}

function keysOf({ columns, key }: Table, rows: readonly Row[]): string[] {
  const places = key.map((one) => columns.findIndex((column) => column.name === one));
  const parts = places.map((at) => columns[at] ?? { name: "", kind: "text" as const });
  return arraysOf(
    parts,
    rows.map((row) => places.map((at) => row[at] ?? null)),
  );
}

/** One array per column, as PostgreSQL reads it from a text. */
const arraysOf = (columns: readonly Column[], rows: readonly Row[]): string[] =>
  columns.map(({ kind }, at) => `{${rows.map((row) => literal(row[at] ?? null, kind)).join(",")}}`);

const literal = (cell: Cell, kind: Kind): string => {
  if (cell === null) return "NULL";
  return kind === "text" ? `"${cell.replaceAll(ESCAPED, "\\$&")}"` : cell;
};

const ESCAPED = /["\\]/g;
