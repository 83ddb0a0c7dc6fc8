/**
 * Copies of the embedded files, in a folder beside them, until they are in the archive. They make the time short for which the originals have to be
 * still. Its name tells that it is no data of the service; what a killed process has left is removed by the next backup.
 */
import { Database } from "bun:sqlite";
import { constants, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { isRunning } from "../../base/running-process.ts";
import type { StillFile } from "../../store/contract/still-files.ts";
import { StoreError } from "../../store/contract/store.ts";

const PREFIX = "backup-in-progress-";
/** Older folders are those of processes that were killed: a backup ends its own. */
const LEFT_AFTER_MS = 24 * 3_600_000;

/** Makes the folder, and removes those that were left. */
export function makeStaging(dataFolder: string, nowMs: number): string {
  for (const name of readdirSync(dataFolder)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(dataFolder, name);
    const pid = Number(name.slice(PREFIX.length));
    const isLeft =
      !isRunning(pid) || nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) > LEFT_AFTER_MS;
    if (isLeft) rmSync(path, { recursive: true, force: true });
  }
  const folder = stagingOf(dataFolder, process.pid);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** That of a process. */
export const stagingOf = (dataFolder: string, pid: number): string => join(dataFolder, `${PREFIX}${pid}`);

/** Throws unless the copies fit and leave `freeBytes`. */
export function requireSpace(folder: string, files: readonly StillFile[], freeBytes: number): void {
  const needed = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= needed + freeBytes) return;
  throw new StoreError(
    `${folder} has too little free space: a backup temporarily needs ${needed} bytes there, and ${freeBytes} must stay free (PARLEY_MIN_FREE_DISK_BYTES)`,
  );
}

/** Copies no bytes where the file system can share them. */
export async function copyStill(files: readonly StillFile[], folder: string): Promise<void> {
  for (const { path, name } of files) {
    await copyFile(path, join(folder, name), constants.COPYFILE_FICLONE);
    await chmod(join(folder, name), 0o600);
  }
}

/** Throws if a copy is damaged: that must be noticed now, not when the backup is needed. */
export function checkCopy(path: string, name: string): void {
  let flaw: string | undefined;
  try {
    using db = new Database(path, { readwrite: true, create: false });
    // The copy has no log, and gets none.
    db.run("PRAGMA journal_mode = DELETE");
    flaw = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
  } catch (error) {
    flaw = (error as Error).message;
  }
  if (flaw !== "ok")
    throw new StoreError(`${name} is damaged: ${flaw ?? "it cannot be checked"}; there is no backup of it`);
}
