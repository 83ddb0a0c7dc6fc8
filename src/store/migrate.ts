/** Numbered migrations: each runs once, in order. Missing ones run in one transaction. */
import type { SQL } from "bun";
import { assetsIn, readAsset } from "../base/assets.ts";
import { systemClock } from "../base/clock.ts";
import { StoreError } from "./contract/store.ts";
import type { Database } from "./engines/database.ts";

const FOLDER = "src/store/migrations";

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

/** `lock` keeps other processes from migrating until the transaction ends. */
export function migrate(database: Database, lock: (tx: SQL) => Promise<void> = async () => undefined): Promise<void> {
  return database.transaction(async (tx) => {
    await lock(tx);
    await tx`CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
    const rows: { version: number | string | null }[] = await tx`SELECT MAX(version) AS version FROM migrations`;
    const present = Number(rows[0]?.version ?? 0);
    const known = schemaVersion();
    if (present > known) {
      throw new StoreError(
        `this store was written by a newer Parley (its schema is ${present}, this version knows ${known}): start that version, or restore a backup made by this one`,
      );
    }
    for (const { version, file } of migrations().filter((one) => one.version > present)) {
      await tx.unsafe(readAsset(`${FOLDER}/${file}`));
      await tx`INSERT INTO migrations (version, applied) VALUES (${version}, ${systemClock.wallMs()})`;
    }
  });
}
