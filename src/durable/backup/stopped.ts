/** Holds the files of a service that is not running, so that none is started on them meanwhile. */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { HoldStill, StillFiles } from "../../store/contract/still-files.ts";
import { StoreError, StoreInUse } from "../../store/contract/store.ts";

/** It does not migrate: a backup that is made before an upgrade stays readable for the earlier version. Throws StoreInUse. */
export const holdStopped =
  (paths: readonly string[], nowMs: () => number): HoldStill =>
  async () => {
    const open: Database[] = [];
    const release = async (): Promise<boolean> => {
      for (const db of open.splice(0)) db.close();
      return true;
    };
    try {
      const present = paths.filter((path) => existsSync(path));
      for (const path of present) open.push(lock(path));
      const files = present.map((path) => ({ name: basename(path), path, bytes: statSync(path).size }));
      return { atMs: nowMs(), files, release } satisfies StillFiles;
    } catch (error) {
      await release();
      throw error;
    }
  };

/** Afterwards the file has everything that its log had. */
function lock(path: string): Database {
  let db: Database | undefined;
  try {
    db = new Database(path, { readwrite: true, create: false });
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("BEGIN EXCLUSIVE");
    db.run("COMMIT");
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY"))
      throw new StoreInUse(
        dirname(path),
        "its server does not answer as expected, or has just been started; try again",
      );
    throw new StoreError(`${path} cannot be read: ${(error as Error).message}`);
  }
}
