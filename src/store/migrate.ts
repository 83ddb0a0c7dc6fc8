/** Numbered migrations: each runs once, in order. Missing ones run in one transaction, and are announced before and after it. */
import type { SQL } from "bun";
import { assetsIn, readAsset } from "../base/assets.ts";
import { systemClock } from "../base/clock.ts";
import { duration } from "../base/duration.ts";
import { UNHEARD, type UpgradeLog } from "./before-upgrade.ts";
import { StoreError, StoreUnreachable } from "./contract/store.ts";
import type { Database } from "./engines/database.ts";
import type { EarlierNodes } from "./engines/earlier-nodes.ts";
import { stateOf } from "./engines/postgres.ts";

const FOLDER = "src/store/migrations";
/** SQLSTATE of "deadlock detected". */
const DEADLOCK = "40P01";
const ATTEMPTS_MAX = 10;

interface Migration {
  readonly version: number;
  readonly file: string;
}

const migrations = (): Migration[] =>
  assetsIn(FOLDER)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .map((file) => ({ version: Number(file.slice(0, 4)), file }));

/** The schema version that this version of Parley uses. */
export const schemaVersion = (): number => migrations().at(-1)?.version ?? 0;

/** Names of the migrations behind that schema, in their order: `0022_usage_writers`. */
export const migrationsAfter = (schema: number): string[] =>
  migrations()
    .filter(({ version }) => version > schema)
    .map(({ file }) => file.replace(/\.sql$/, ""));

export interface Migrating {
  /** Keeps other processes from migrating until the transaction ends. */
  readonly lock?: (tx: SQL) => Promise<void>;
  /** Copies a store of that schema before anything is changed; returns where to. The store is locked meanwhile. */
  readonly copy?: (schema: number) => Promise<string>;
  /** Others may have the store open. */
  readonly earlier?: Pick<EarlierNodes, "lock" | "closeRest">;
  readonly log?: UpgradeLog;
}

export async function migrate(
  database: Database,
  { lock, copy, earlier, log = UNHEARD }: Migrating = {},
): Promise<void> {
  const known = schemaVersion();
  const beganMs = performance.now();
  let from = 0;
  let copied: string | undefined;
  const begins = (present: number): void => {
    refuseNewer(present, known);
    const isSaid = from === present;
    from = present;
    if (isUpgrade(present, known) && !isSaid) log.info(`upgrading the store: schema ${present} → ${known}`);
  };
  try {
    if (copy) {
      begins(await database.run(schemaOf));
      if (isUpgrade(from, known)) copied = await copy(from);
    }
    await withoutDeadlocks(() =>
      database.transaction(async (tx) => {
        await lock?.(tx);
        const present = await schemaOf(tx);
        // With a copy, the store was locked before it was made.
        if (!copy) begins(present);
        if (isUpgrade(present, known)) await earlier?.lock(tx, tablesChangedAfter(present));
        await run(tx, present);
      }),
    );
  } catch (error) {
    throw isUpgrade(from, known) ? explained(error, from, known, copied) : error;
  }
  if (!isUpgrade(from, known)) return;
  await database.run(async (sql) => earlier?.closeRest(sql));
  const back = copied === undefined ? "" : `; a copy of the old store is in ${copied}`;
  log.info(`the store was upgraded to schema ${known}, in ${duration(performance.now() - beganMs)}${back}`);
}

/** Nodes that go on working lock the same tables in another order: PostgreSQL ends one of the two, and nothing of it was done. */
async function withoutDeadlocks(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      if (stateOf(error) !== DEADLOCK || attempt === ATTEMPTS_MAX) throw error;
    }
}

async function run(tx: SQL, present: number): Promise<void> {
  for (const { version, file } of migrations().filter((one) => one.version > present)) {
    await tx.unsafe(readAsset(`${FOLDER}/${file}`));
    await tx`INSERT INTO migrations (version, applied) VALUES (${version}, ${systemClock.wallMs()})`;
  }
}

/** Names of the tables that get other columns by the migrations behind that schema. */
const tablesChangedAfter = (schema: number): string[] => {
  const texts = migrations()
    .filter(({ version }) => version > schema)
    .map(({ file }) => readAsset(`${FOLDER}/${file}`));
  return [...new Set([...texts.join("\n").matchAll(/^ALTER TABLE (\w+)/gm)].map(([, table = ""]) => table))];
};

/** An empty store is new. */
const isUpgrade = (present: number, known: number): boolean => present > 0 && present < known;

async function schemaOf(sql: SQL): Promise<number> {
  await sql`CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
  const rows: { version: number | string | null }[] = await sql`SELECT MAX(version) AS version FROM migrations`;
  return Number(rows[0]?.version ?? 0);
}

function refuseNewer(present: number, known: number): void {
  if (present > known)
    throw new StoreError(
      `this store was written by a newer Parley (its schema is ${present}, this version knows ${known}): start that version, or restore a backup made by this one`,
    );
}

/** What a failed upgrade leaves, and what to do. An error that explains itself, and an outage of the database, stay as they are. */
function explained(error: unknown, from: number, known: number, copied: string | undefined): unknown {
  if (error instanceof StoreError || error instanceof StoreUnreachable) return error;
  const { message, code } = error as Error & { code?: unknown };
  const isFull = code === "SQLITE_FULL" || code === "ENOSPC" || code === "EDQUOT";
  const remedy = isFull ? "Free some space, and start again" : "Start again, and report the problem if it fails again";
  const copy =
    copied === undefined ? "" : ` It is also in ${copied}, which "parley restore FILE" of that version takes.`;
  return new StoreError(
    `the store could not be upgraded from schema ${from} to ${known}: ${message}. It is unchanged, and the version that wrote it can still start on it.${copy} ${remedy}`,
    { cause: error },
  );
}
