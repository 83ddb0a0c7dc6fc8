/** Which schema a store has, without opening it: nothing is changed, and a server may be running on it. */
import { existsSync } from "node:fs";
import { SQL } from "bun";
import { StoreError } from "./contract/store.ts";
import { connectProblem, optionsOf } from "./engines/postgres.ts";
import { UnreadableFile, withPages } from "./engines/sqlite-pages.ts";
import { rowsOf } from "./engines/sqlite-rows.ts";
import { VERSION_NOTE } from "./identity.ts";
import { MOVE_NOTES, whyNotStarted } from "./moves.ts";
import { sqliteFile } from "./open.ts";

export interface FoundStore {
  /** 0: there is none, or an empty one. */
  readonly schema: number;
  /** That was last started on it; undefined: it was 0.1.0, or none. */
  readonly version: string | undefined;
  /** How large a copy of it is, at most; of a PostgreSQL database all of it. */
  readonly bytes: number;
  /** Why no version starts on it: it was moved, or is an incomplete copy. */
  readonly notStarted: string | undefined;
}

const NONE: FoundStore = { schema: 0, version: undefined, bytes: 0, notStarted: undefined };

/** Not in a process that has the store open (sqlite-pages.ts). */
export function foundEmbedded(dataFolder: string): FoundStore {
  const path = sqliteFile(dataFolder);
  if (!existsSync(path)) return NONE;
  try {
    return (
      withPages(path, (pages) => {
        const { pages: count, freePages, pageBytes } = pages.header;
        const migrations = rowsOf(pages, "migrations", 1) ?? [];
        const meta = rowsOf(pages, "meta", 2) ?? [];
        const metaOf = (wanted: string): unknown => meta.find(([name]) => name === wanted)?.[1];
        const version = metaOf(VERSION_NOTE);
        return {
          schema: Math.max(0, ...migrations.map(([number]) => Number(number))),
          version: typeof version === "string" ? version : undefined,
          bytes: (count - freePages) * pageBytes,
          notStarted: whyNotStarted(metaOf),
        };
      }) ?? NONE
    );
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw new StoreError(`${path} is not a readable database (${error.message})`, { cause: error });
  }
}

export interface FoundPostgres extends FoundStore {
  /** The schema of the histories; 0: there are none. */
  readonly historySchema: number;
  /** Connections of servers to the database. */
  readonly connections: number;
}

export async function foundPostgres(url: string): Promise<FoundPostgres> {
  await using sql = new SQL({ ...optionsOf(url), max: 1 });
  try {
    return await sql.begin("read only", async (tx) => {
      const has = async (table: string): Promise<boolean> => {
        const [row] = await tx`SELECT to_regclass(${table}) IS NOT NULL AS found`;
        return row?.found === true;
      };
      const greatest = async (table: string): Promise<number> => {
        if (!(await has(table))) return 0;
        const [row] = await tx.unsafe(`SELECT MAX(version) AS version FROM ${table}`);
        return Number(row?.version ?? 0);
      };
      const [facts] = await tx`
        SELECT pg_database_size(current_database()) AS bytes, (
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'parley%' AND pid <> pg_backend_pid()
        ) AS connections`;
      const notes: { name: string; value: string }[] = (await has("meta"))
        ? await tx`SELECT name, value FROM meta WHERE name IN ${tx([VERSION_NOTE, ...MOVE_NOTES])}`
        : [];
      const metaOf = (wanted: string): string | undefined => notes.find(({ name }) => name === wanted)?.value;
      return {
        schema: await greatest("migrations"),
        historySchema: await greatest("history_migrations"),
        version: metaOf(VERSION_NOTE),
        notStarted: whyNotStarted(metaOf),
        bytes: Number(facts?.bytes ?? 0),
        connections: Number(facts?.connections ?? 0),
      };
    });
  } catch (error) {
    // Without the address: it may hold a password.
    throw new StoreError(`PARLEY_DATABASE_URL: PostgreSQL ${connectProblem(error)}`, { cause: error });
  }
}
