/**
 * Gives what the superuser has made in the folder of another user to that user. A service runs as a user of its own, and commands on its
 * data folder are often run as root: what they leave there, the service could not open.
 */
import { closeSync, constants, existsSync, fchownSync, fstatSync, openSync, readdirSync } from "node:fs";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const ROOT = 0;
/** Names of open files: by them, a folder that its owner replaces with a link meanwhile leads nowhere else. */
const OPENED = "/proc/self/fd";
/** What a service makes is not deeper; each level takes an open file. */
const DEPTH_MAX = 10;
const AS_IT_IS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * `folder` and all below it, if it is `dataFolder` or is in it. Closing a file ends all locks that a process has on it, so nothing in `folder` may be
 * locked by this process. Does nothing for any other user than the superuser, and where the system has no names of open files.
 */
export function giveToOwner(dataFolder: string, folder = dataFolder): void {
  if (process.getuid?.() !== ROOT || !existsSync(OPENED) || !existsSync(folder)) return;
  const owner = withOpen(dataFolder, constants.O_RDONLY, (handle) => fstatSync(handle));
  if (owner.uid === ROOT) return;
  withOpen(folder, constants.O_RDONLY, (handle) => give(handle, owner, 0));
}

function give(handle: number, owner: Owner, depth: number): void {
  const found = fstatSync(handle);
  if (found.isDirectory() && depth < DEPTH_MAX)
    for (const name of readdirSync(`${OPENED}/${handle}`)) giveEntry(`${OPENED}/${handle}/${name}`, owner, depth + 1);
  // A second name may be that of a file that is none of the service's.
  const isOurs = found.isDirectory() || (found.isFile() && found.nlink === 1);
  if (isOurs && found.uid === ROOT) fchownSync(handle, owner.uid, owner.gid);
}

function giveEntry(path: string, owner: Owner, depth: number): void {
  try {
    withOpen(path, AS_IT_IS, (handle) => give(handle, owner, depth));
  } catch (error) {
    // A link, a socket, or it was removed meanwhile.
    if (!["ELOOP", "ENXIO", "ENOENT"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  }
}

function withOpen<T>(path: string, flags: number, work: (handle: number) => T): T {
  const handle = openSync(path, flags);
  try {
    return work(handle);
  } finally {
    closeSync(handle);
  }
}
