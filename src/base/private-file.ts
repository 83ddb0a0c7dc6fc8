/**
 * Files that hold or decide about secrets, in folders where other users of the machine may have put something. A mode counts only for a
 * new file: what is written into a file or through a link of another user belongs to that user.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";

/** Writes a new file that only this user can read, and puts it in the place of any other. Throws what the system reports. */
export function writePrivateFile(path: string, text: string, { flush = false } = {}): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.partial`;
  const file = openSync(temporary, "wx", 0o600);
  try {
    try {
      // Into the opened file: in a folder of another user, the name may lead to another one by now.
      writeFileSync(file, text);
      if (flush) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

export interface FoundFile {
  readonly text: string;
  /** The id of the user whose file it is. */
  readonly owner: number;
  readonly modifiedMs: number;
}

/** undefined: there is none, or it is not a file, or it is longer than that. Throws what the system reports otherwise. */
export function readWithOwner(path: string, maxBytes: number): FoundFile | undefined {
  let opened: number | undefined;
  try {
    // Without waiting for a writer, should it be a pipe. Owner and text are of one file, also if another is put in its place.
    opened = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(opened);
    return found.isFile() && found.size <= maxBytes
      ? { text: readFileSync(opened, "utf8"), owner: found.uid, modifiedMs: found.mtimeMs }
      : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

/** False where users have no ids. The superuser is a user like others: what they have prepared is not meant for it. */
export const isOtherUser = (owner: number): boolean => {
  const caller = process.getuid?.();
  return caller !== undefined && owner !== caller;
};

/** Whether another user has made what is there, or the link to it. */
export const isOfOtherUser = (path: string): boolean =>
  [lstatSync, statSync].some((statOf) => {
    const found = statOf(path, { throwIfNoEntry: false });
    return found !== undefined && isOtherUser(found.uid);
  });

/** Others may neither list nor enter a folder of this mode. */
const FOR_OTHERS = 0o077;

/** Why this is not a folder that only this user can enter, as a clause behind its path; undefined: it is one. A link is none. */
export function whyNotPrivate(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return "does not exist";
  if (!found.isDirectory()) return "is not a folder";
  if (isOtherUser(found.uid)) return "belongs to another user";
  // Systems without users have no modes either.
  const isOpen = process.getuid !== undefined && (found.mode & FOR_OTHERS) !== 0;
  return isOpen ? "can be entered by other users (close it: chmod 700)" : undefined;
}

/** Makes a folder that only this user can enter. Throws if there is another one, and what the system reports. */
export function makePrivateFolder(path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path, { recursive: true, mode: 0o700 });
  const why = whyNotPrivate(path);
  if (why !== undefined) throw new Error(`${path} ${why}`);
}
