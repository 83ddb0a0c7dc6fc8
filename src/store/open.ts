/** Opens the store that the configuration names. */
import { join } from "node:path";
import type { SQL } from "bun";
import { CopyBeforeUpgrade, UNHEARD, type UpgradeLog } from "./before-upgrade.ts";
import { StoreError, StoreInUse } from "./contract/store.ts";
import { explainDamage } from "./engines/damage.ts";
import { prepareFile } from "./engines/data-folder.ts";
import { type Database, OneConnection } from "./engines/database.ts";
import { EarlierNodes } from "./engines/earlier-nodes.ts";
import { lockForMigrations, openPostgres } from "./engines/postgres.ts";
import { openPrepared } from "./engines/prepared-sqlite.ts";
import { ensureStatistics } from "./engines/sqlite-statistics.ts";
import { migrate } from "./migrate.ts";
import { refuseMoves } from "./moves.ts";
import { finishRestore } from "./pending-restore.ts";
import { earlierLeases } from "./sql/recordings/worker-leases.ts";
import { SqlStore } from "./sql/store.ts";

export const sqliteFile = (dataFolder: string): string => join(dataFolder, "parley.sqlite");

/** "PRLY": tells a Parley store from other SQLite files, for `file` and for `parley restore`. */
export const APPLICATION_ID = 0x50524c59;

/**
 * The embedded store in the data folder, or PostgreSQL at `databaseUrl`. A store of an earlier schema is upgraded: `log` says so before that
 * begins, and the embedded one is copied first.
 */
export async function openStore(dataFolder: string, databaseUrl = "", log: UpgradeLog = UNHEARD): Promise<SqlStore> {
  const isEmbedded = databaseUrl === "";
  const database = await openMigrated(dataFolder, databaseUrl, log);
  try {
    await refuseMoves(database);
    return new SqlStore(database, isEmbedded ? await earlierLeases(database) : undefined);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A store of an earlier schema has the current one then. */
export async function openMigrated(
  dataFolder: string,
  databaseUrl: string,
  log: UpgradeLog = UNHEARD,
): Promise<Database> {
  const isEmbedded = databaseUrl === "";
  if (isEmbedded) finishRestore(dataFolder);
  const database = isEmbedded
    ? new OneConnection(await openSqlite(sqliteFile(dataFolder)), (error) =>
        explainDamage(error, sqliteFile(dataFolder)),
      )
    : await openPostgres(databaseUrl);
  try {
    const copy = (schema: number): Promise<string> => copyOf(database, dataFolder, schema);
    const shared = { lock: lockForMigrations, earlier: new EarlierNodes() };
    await migrate(database, { log, ...(isEmbedded ? { copy } : shared) });
    if (isEmbedded) await database.transaction(ensureStatistics);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** On the connection that has the file locked: a second one would be refused. */
function copyOf(database: Database, dataFolder: string, schema: number): Promise<string> {
  return database.run(async (sql) => {
    const copy = new CopyBeforeUpgrade({ dataFolder, store: "parley", schema, bytes: await usedBytes(sql) });
    try {
      await sql.unsafe("VACUUM INTO ?", [copy.path]);
      return copy.finish();
    } catch (error) {
      copy.abandon();
      throw error;
    }
  });
}

/** How large a copy is, which has no free pages. */
export async function usedBytes(sql: SQL): Promise<number> {
  const number = async (pragma: string): Promise<number> => {
    const [row] = await sql.unsafe<Record<string, number>[]>(`PRAGMA ${pragma}`);
    return Object.values(row ?? {})[0] ?? 0;
  };
  return ((await number("page_count")) - (await number("freelist_count"))) * (await number("page_size"));
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
