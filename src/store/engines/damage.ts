/** A SQLite file that cannot be read as a database. Any statement can be the first to find the damage. */
import { StoreError } from "../contract/store.ts";

/** Also matches extended codes such as SQLITE_CORRUPT_INDEX. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/** Turns an error that damage causes into one that tells the operator what to do; returns any other unchanged. */
export function explainDamage(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || !DAMAGE.test(String(error.code))) return error;
  return new StoreError(
    `${path} is not a readable database (${error.message}): move it away and restore a backup with "parley restore FILE"`,
    { cause: error },
  );
}
