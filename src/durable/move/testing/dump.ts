/** For tests: all rows of a data folder or a database, without what a move does not keep. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { SQL } from "bun";
import { historyFile } from "../../../history/sqlite/file.ts";
import { optionsOf } from "../../../store/engines/postgres.ts";
import { MOVE_NOTES } from "../../../store/moves.ts";
import { sqliteFile } from "../../../store/open.ts";
import { HISTORY_TABLES, POSTGRES_HISTORY_TABLES, STORE_TABLES } from "../../inventory/inventory.ts";

const CONVERTED = HISTORY_TABLES.filter(({ move }) => move === "converted");

type Dump = Record<string, string[]>;

const notes = `name NOT IN (${MOVE_NOTES.map((name) => `'${name}'`).join(", ")})`;
const whereOf = (table: string): string => (table === "meta" ? ` WHERE ${notes}` : "");

/** Rows as JSON, in the order of the key. The numbers of ids of messages are given anew by a move, in the same order. */
export function dumpFolder(data: string): Dump {
  const dump: Dump = {};
  const all = (path: string, tables: readonly { name: string; key: readonly string[] }[]): void => {
    if (!existsSync(path)) return;
    using db = new Database(path, { readonly: true, safeIntegers: true });
    for (const { name, key } of tables)
      dump[name] = db
        .query<Record<string, unknown>, []>(`SELECT * FROM ${name}${whereOf(name)} ORDER BY ${key.join(", ")}`)
        .all()
        .map(({ seq, ...row }) => text(name === "ids" ? row : { ...row, seq }));
    // Those of one moment may be in any order.
    dump.ids?.sort();
    if (tables === CONVERTED)
      dump.sequence = db.query("SELECT seq FROM sqlite_sequence WHERE name = 'streams'").all().map(text);
  };
  all(
    sqliteFile(data),
    STORE_TABLES.filter(({ move }) => move === "rows"),
  );
  all(historyFile(data), CONVERTED);
  return dump;
}

const POSTGRES_HISTORY = POSTGRES_HISTORY_TABLES.filter(({ move }) => move === "converted").map(({ name }) => name);

export async function dumpDatabase(url: string): Promise<Dump> {
  await using sql = new SQL({ ...optionsOf(url), max: 1 });
  const dump: Dump = {};
  const tables = STORE_TABLES.filter(({ move }) => move === "rows").map(({ name }) => name);
  for (const name of [...tables, ...POSTGRES_HISTORY]) {
    const rows: object[] = await sql.unsafe(`SELECT * FROM ${name}${whereOf(name)}`);
    dump[name] = rows.map(text).sort();
  }
  return dump;
}

const text = (row: unknown): string =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
