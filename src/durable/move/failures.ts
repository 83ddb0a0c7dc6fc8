/** Errors in the middle of a move, as operators need them: what happened, and that running it again continues. */
import { SQLiteError } from "bun:sqlite";
import { SQL } from "bun";
import { StoreError } from "../../store/contract/store.ts";
import { isUnreachable, stateOf } from "../../store/engines/postgres.ts";
import { RowsCollide } from "./tables.ts";

const FORBIDDEN = "42501";
const READ_ONLY = "25006";
const FULL = "53100";
/** The cursor or its transaction is gone: the connection was lost, and there is a new one. */
const LOST = ["34000", "25P01", "25P02"];
/** A write that the system refuses: a full disk, a quota, a limit of the file's size. */
const SQLITE_FULL = /^SQLITE_(FULL|IOERR_WRITE|IOERR_FSYNC|IOERR_TRUNCATE|IOERR_SHMSIZE)/;

export const CONTINUE = "what was copied stays, and running the same command again continues";

/** Returns an unexpected error unchanged. `place` is the PostgreSQL. */
export function explained(error: unknown, place: string): unknown {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const failure = (text: string): StoreError => new StoreError(text, { cause: error });
  // Also in empty tables.
  if (error instanceof RowsCollide)
    return failure(
      `rows of the source collide in the target (${reason}): nothing was lost, but the copy is incomplete`,
    );
  if (error instanceof SQLiteError && SQLITE_FULL.test(error.code ?? ""))
    return failure(`the disk of the data folder is full (${reason}): free some space; ${CONTINUE}`);
  if (!(error instanceof SQL.PostgresError)) return error;
  const state = stateOf(error);
  if (state === FULL) return failure(`the disk of ${place} is full (${reason}): free some space; ${CONTINUE}`);
  if (state === FORBIDDEN)
    return failure(
      `${place} refuses it (${reason}): the user needs the rights to create and change tables, like the owner of the database`,
    );
  if (state === READ_ONLY) return failure(`${place} is read-only (${reason}): use the primary; ${CONTINUE}`);
  if (isUnreachable(error) || LOST.includes(state))
    return failure(`the connection to ${place} was lost (${reason}): ${CONTINUE}`);
  return failure(`${place}: ${reason} (${state || error.code}); ${CONTINUE}`);
}
