/** Where a backup is read from. It is read twice: first as a whole, to see that it can be trusted, and then what is in it is used. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { StoreError } from "../../store/contract/store.ts";

export interface BackupSource {
  /** For messages. */
  readonly name: string;
  read(): AsyncIterable<Uint8Array>;
}

const SQLITE_MAGIC = Buffer.from("SQLite format 3\0");

/**
 * Whether it is the file of a store: a backup by 0.1.0, or the copy that an upgrade makes. It has no messages and no recordings.
 */
export function isStoreFile(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new StoreError(`there is no file ${path}`);
  if (!stats.isFile()) throw new StoreError(`${path} is not a file`);
  const start = Buffer.alloc(SQLITE_MAGIC.length);
  const handle = openSync(path, "r");
  try {
    readSync(handle, start);
  } finally {
    closeSync(handle);
  }
  return start.equals(SQLITE_MAGIC);
}
