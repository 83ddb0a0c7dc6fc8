/** Keeps servers from starting on the files that a restore replaces. */
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { historyFile } from "../../history/sqlite/file.ts";
import { StoreInUse } from "../../store/contract/store.ts";
import { sqliteFile } from "../../store/open.ts";

const pathsIn = (dataFolder: string): string[] =>
  [sqliteFile(dataFolder), historyFile(dataFolder)].filter((path) => existsSync(path));

/** Throws StoreInUse if a server uses them. Changes nothing in them. */
export function refusePresentInUse(dataFolder: string): void {
  for (const path of pathsIn(dataFolder)) lock(path, dataFolder)?.close();
}

/** Throws StoreInUse if a server uses them. */
export function lockPresent(dataFolder: string): Disposable {
  const locked: Database[] = [];
  const release = (): void => {
    for (const db of locked.splice(0)) db.close();
  };
  try {
    for (const path of pathsIn(dataFolder)) {
      const db = lock(path, dataFolder);
      if (!db) continue;
      locked.push(db);
      // Leaves WAL mode: closing a file in WAL mode deletes the log by name, and by then that is the new file's log.
      db.run("PRAGMA journal_mode = DELETE");
    }
    return { [Symbol.dispose]: release };
  } catch (error) {
    release();
    throw error;
  }
}

/** undefined: it is too damaged to be locked, so no server can use it either. That may be why it is replaced. */
function lock(path: string, dataFolder: string): Database | undefined {
  let db: Database | undefined;
  try {
    db = new Database(path, { readwrite: true, create: false });
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("BEGIN EXCLUSIVE");
    db.run("COMMIT");
    return db;
  } catch (error) {
    db?.close();
    if (String((error as { code?: string }).code).startsWith("SQLITE_BUSY"))
      throw new StoreInUse(dataFolder, "stop it first");
    return undefined;
  }
}
