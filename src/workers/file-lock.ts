/**
 * Locks that services of one user share, and that no other user can take: files in a folder that only this user can enter. SQLite locks
 * the file, and the system frees the lock with the process, however it ends. A file that stays behind does no harm.
 */
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FileLock, lockFile } from "../base/file-lock.ts";

const userId = process.getuid?.() ?? 0;

/**
 * Where the folder of locks may be. The first ones are the same for all services of this user, whatever their environment. Another user
 * can take the name in /tmp; then the next place is used, and at last the data folder.
 */
export const lockPlaces = (dataFolder: string): string[] => ["/tmp", `/run/user/${userId}`, dataFolder];

/** undefined: another process of this user, or this one, holds the lock. Throws if there is no place for it. */
export function takeLock(name: string, places: readonly string[]): FileLock | undefined {
  const tried: string[] = [];
  for (const place of places) {
    const folder = join(place, `parley-locks-${userId}`);
    try {
      makePrivate(folder);
      return lockFile(join(folder, encodeURIComponent(name)));
    } catch (error) {
      tried.push((error as Error).message);
    }
  }
  throw new Error(`there is no folder for the lock of a port (${tried.join("; ")})`);
}

/** Throws unless it is a folder of this user that no one else can write to. */
function makePrivate(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // Not followed if it is a link: one that another user has made could lead anywhere.
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o022) !== 0)
    throw new Error(`${folder} is not a folder that only this user can write to`);
}
