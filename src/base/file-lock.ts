/** A lock on a file. SQLite locks it, and the system frees the lock with the process, however it ends. A file that stays behind does no harm. */
import { Database, SQLiteError } from "bun:sqlite";
import { lstatSync, rmSync } from "node:fs";

export interface FileLock {
  release(): void;
}

/** undefined: another process, or this one, holds it. */
export function lockFile(path: string): FileLock | undefined {
  for (;;) {
    const db = new Database(path);
    try {
      const before = inodeOf(path);
      // Nothing is ever committed; without this, a killed process would leave a second file.
      db.run("PRAGMA journal_mode = MEMORY");
      db.run("BEGIN EXCLUSIVE");
      // A holder that ended meanwhile has removed the file that was opened here; others would lock a new one.
      if (before !== undefined && before === inodeOf(path))
        return {
          release: () => {
            rmSync(path, { force: true });
            db.close();
          },
        };
      db.close();
    } catch (error) {
      db.close();
      if (error instanceof SQLiteError && error.code === "SQLITE_BUSY") return undefined;
      throw error;
    }
  }
}

const inodeOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ino;
