/**
 * The tables and functions of history in PostgreSQL. They have numbered migrations of their own, because the embedded store has no
 * use for them. Functions that change get a new name, so that nodes of the previous version keep working during an upgrade.
 */
import type { SQL } from "bun";
import { assetsIn, readAsset } from "../../base/assets.ts";
import { systemClock } from "../../base/clock.ts";
import { StoreError } from "../../store/contract/store.ts";
import { lockForMigrations } from "../../store/engines/postgres.ts";

const FOLDER = "src/history/postgres/migrations";

export async function migrateHistory(sql: SQL): Promise<void> {
  const files = assetsIn(FOLDER).filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  const known = files.length;
  await sql.begin(async (tx) => {
    await lockForMigrations(tx);
    await tx`CREATE TABLE IF NOT EXISTS history_migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
    const rows: { version: string | null }[] = await tx`SELECT MAX(version) AS version FROM history_migrations`;
    const present = Number(rows[0]?.version ?? 0);
    if (present > known)
      throw new StoreError(
        `the histories were written by a newer Parley (their schema is ${present}, this version knows ${known}): start that version, or restore a backup made by this one`,
      );
    for (const [index, file] of files.entries()) {
      if (index < present) continue;
      await tx.unsafe(readAsset(`${FOLDER}/${file}`));
      await tx`INSERT INTO history_migrations (version, applied) VALUES (${index + 1}, ${systemClock.wallMs()})`;
    }
  });
}
