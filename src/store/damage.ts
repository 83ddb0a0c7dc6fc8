/** A SQLite file that cannot be read as a database: any statement may be the first to meet the damage. */
import { StoreError } from "./store.ts";

/** Beside its own, SQLite has extended codes, such as SQLITE_CORRUPT_INDEX. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/** The error as an operator needs it, if damage is what it tells of; any other as it is. */
export function explained(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || !DAMAGE.test(String(error.code))) return error;
  return new StoreError(
    `${path} is not a readable database (${error.message}): move it away and restore a backup with "parley restore FILE"`,
    { cause: error },
  );
}
