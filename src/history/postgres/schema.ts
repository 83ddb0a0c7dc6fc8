/**
 * The tables and functions of history in PostgreSQL. They have numbered migrations of their own, because the embedded store has no
 * use for them. Functions that change get a new name, so that nodes of the previous version keep working during an upgrade.
 */
import type { SQL } from "bun";
import { assetsIn, readAsset } from "../../base/assets.ts";
import { systemClock } from "../../base/clock.ts";
import { duration } from "../../base/duration.ts";
import { UNHEARD, type UpgradeLog } from "../../store/before-upgrade.ts";
import { StoreError } from "../../store/contract/store.ts";
import { lockForMigrations } from "../../store/engines/postgres.ts";

const FOLDER = "src/history/postgres/migrations";

const migrations = (): string[] => assetsIn(FOLDER).filter((file) => /^\d{4}_\w+\.sql$/.test(file));

/** The schema version that this version of Parley uses. */
export const postgresHistorySchema = (): number => migrations().length;

export async function migrateHistory(sql: SQL, log: UpgradeLog = UNHEARD): Promise<void> {
  const files = migrations();
  const known = files.length;
  const beganMs = performance.now();
  const from = await sql.begin(async (tx) => {
    await lockForMigrations(tx);
    await tx`CREATE TABLE IF NOT EXISTS history_migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
    const rows: { version: string | null }[] = await tx`SELECT MAX(version) AS version FROM history_migrations`;
    const present = Number(rows[0]?.version ?? 0);
    if (present > known)
      throw new StoreError(
        `the histories were written by a newer Parley (their schema is ${present}, this version knows ${known}): start that version, or restore a backup made by this one`,
      );
    if (isUpgrade(present, known)) log.info(`upgrading the history: schema ${present} → ${known}`);
    for (const [index, file] of files.entries()) {
      if (index < present) continue;
      await tx.unsafe(readAsset(`${FOLDER}/${file}`));
      await tx`INSERT INTO history_migrations (version, applied) VALUES (${index + 1}, ${systemClock.wallMs()})`;
    }
    return present;
  });
  if (isUpgrade(from, known))
    log.info(`the history was upgraded to schema ${known}, in ${duration(performance.now() - beganMs)}`);
}

/** Without histories they are new. */
const isUpgrade = (present: number, known: number): boolean => present > 0 && present < known;
