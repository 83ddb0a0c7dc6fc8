/** Holds the files of a service that is not running, so that none is started on them meanwhile. */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { HoldStill, StillFiles } from "../../store/contract/still-files.ts";
import { StoreError, StoreInUse } from "../../store/contract/store.ts";
import { whyNotStarted } from "../../store/moves.ts";
import { STORE_ENTRY } from "./manifest.ts";

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
      for (const path of present) {
        const db = lock(path);
        open.push(db);
        if (basename(path) === STORE_ENTRY) refuseMoved(db, path);
      }
      const files = present.map((path) => ({ name: basename(path), path, bytes: statSync(path).size }));
      return { atMs: nowMs(), files, release } satisfies StillFiles;
    } catch (error) {
      await release();
      throw error;
    }
  };

/** No server starts on it, so none would start on what is restored from its backup; and it is not what is in use. */
function refuseMoved(db: Database, path: string): void {
  if (!db.query("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get()) return;
  const value = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?");
  const why = whyNotStarted((name) => value.get(name)?.value);
  if (why !== undefined) throw new StoreError(`cannot back up the store in ${dirname(path)}: ${why}`);
}

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
      throw new StoreInUse(dirname(path), "its server does not answer as expected, or has just started; try again");
    throw new StoreError(`${path} cannot be read: ${(error as Error).message}`);
  }
}
