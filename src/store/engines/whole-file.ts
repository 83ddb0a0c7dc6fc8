/** Files that are complete under their name, or not there: written under a temporary name, synced, then renamed. */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Files that SQLite keeps beside a database; a new database of the same name must not find old ones. */
const SIDE_FILES: readonly string[] = ["-wal", "-shm", "-journal"];

/** How the names of files end that are not complete. */
export const PARTIAL = ".partial";

/** A file that only its owner can read, under a temporary name. It MUST end with `finish` or `abandon`. */
export class PartialFile {
  /** It is there, and empty. */
  readonly path: string;

  constructor(private readonly file: string) {
    this.path = `${file}.${randomBytes(4).toString("hex")}${PARTIAL}`;
    closeSync(openSync(this.path, "wx", 0o600));
  }

  /** What was written is on the disk, under the name of the file, before this returns. */
  finish(): void {
    sync(this.path);
    renameSync(this.path, this.file);
    sync(dirname(resolve(this.file)));
  }

  abandon(): void {
    for (const side of ["", ...SIDE_FILES]) rmSync(this.path + side, { force: true });
  }
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
