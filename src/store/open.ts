/** Opens the store that the configuration names. */
import { join } from "node:path";
import type { SQL } from "bun";
import { StoreError, StoreInUse } from "./contract/store.ts";
import { explainDamage } from "./engines/damage.ts";
import { prepareFile } from "./engines/data-folder.ts";
import { OneConnection } from "./engines/database.ts";
import { lockForMigrations, openPostgres } from "./engines/postgres.ts";
import { openPrepared } from "./engines/prepared-sqlite.ts";
import { ensureStatistics } from "./engines/sqlite-statistics.ts";
import { migrate } from "./migrate.ts";
import { earlierLeases } from "./sql/recordings/worker-leases.ts";
import { SqlStore } from "./sql/store.ts";

export const sqliteFile = (dataFolder: string): string => join(dataFolder, "parley.sqlite");

/** "PRLY": tells a Parley store from other SQLite files, for `file` and for `parley restore`. */
export const APPLICATION_ID = 0x50524c59;

/** The embedded store in the data folder, or PostgreSQL at `databaseUrl`. */
export async function openStore(dataFolder: string, databaseUrl = ""): Promise<SqlStore> {
  const isEmbedded = databaseUrl === "";
  const database = isEmbedded
    ? new OneConnection(await openSqlite(sqliteFile(dataFolder)), (error) =>
        explainDamage(error, sqliteFile(dataFolder)),
      )
    : await openPostgres(databaseUrl);
  try {
    await migrate(database, isEmbedded ? undefined : lockForMigrations);
    if (isEmbedded) await database.transaction(ensureStatistics);
    return new SqlStore(database, isEmbedded ? await earlierLeases(database) : undefined);
  } catch (error) {
    await database.close();
    throw error;
  }
}

export async function openSqlite(path: string): Promise<SQL> {
  const folder = join(path, "..");
  prepareFile(path);
  let sql: SQL | undefined;
  try {
    sql = openPrepared(path);
    // Locked, so that no second process works on this folder.
    await sql`PRAGMA locking_mode = EXCLUSIVE`;
    await sql`PRAGMA journal_mode = WAL`;
    // FULL: the log is on disk before a change is acknowledged.
    await sql`PRAGMA synchronous = FULL`;
    await sql`PRAGMA foreign_keys = ON`;
    // Deleted content is overwritten, so that no retired secret stays in free pages.
    await sql`PRAGMA secure_delete = ON`;
    await sql.unsafe(`PRAGMA application_id = ${APPLICATION_ID}`);
    await sql`CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
    return sql;
  } catch (error) {
    await sql?.close();
    const explanation = explainDamage(error, path);
    if (explanation instanceof StoreError) throw explanation;
    const { code, message } = error as { code?: string; message: string };
    if (code?.startsWith("SQLITE_BUSY")) throw new StoreInUse(folder);
    throw new StoreError(`${path} cannot be opened: ${message}`);
  }
}
