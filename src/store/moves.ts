/**
 * Notes in a store about its move to another one (durable/move). A copy that is not complete, and a store that was moved away, must not be
 * started by accident: what is written to it would be missing in the other one.
 */
import { StoreError } from "./contract/store.ts";
import type { Database } from "./engines/database.ts";
import { LOCK_SPACE, MOVE_LOCK } from "./engines/postgres.ts";
import type { DbRow } from "./engines/rows.ts";

/** In `meta` of a copy, until it is complete. */
export const INCOMPLETE_NOTE = "move_incomplete";
/** In `meta` of a store that was moved away. */
export const MOVED_NOTE = "moved_to";
/** They say something about one of the two stores, so they are not moved. */
export const MOVE_NOTES: readonly string[] = [INCOMPLETE_NOTE, MOVED_NOTE];

export interface IncompleteNote {
  /** The id of the store that is copied. */
  readonly source: string;
  /** Where it is, for people. */
  readonly from: string;
  /** What completes the copy. */
  readonly command: string;
}

export interface MovedNote {
  /** Where to, for people. */
  readonly to: string;
  /** Unix ms. */
  readonly atMs: number;
}

/** Throws a StoreError if this store must not be used. */
export async function refuseMoves(database: Database): Promise<void> {
  const rows: DbRow[] = await database.run(
    (sql) => sql`SELECT name, value FROM meta WHERE name IN ${sql([...MOVE_NOTES])}`,
  );
  const why = whyNotStarted((name) => rows.find((row) => row.name === name)?.value);
  if (why !== undefined) throw new StoreError(why);
  if (database.isShared && (await isMoving(database)))
    throw new StoreError('"parley move" is working on this database: start when it has ended');
}

/** Why no server starts on the store that has these values in `meta`; undefined: one does. */
export function whyNotStarted(metaOf: (name: string) => unknown): string | undefined {
  const noteOf = (name: string): unknown => JSON.parse(String(metaOf(name) ?? "null"));
  const incomplete = noteOf(INCOMPLETE_NOTE) as IncompleteNote | null;
  if (incomplete) return incompleteText(incomplete);
  const moved = noteOf(MOVED_NOTE) as MovedNote | null;
  return moved ? movedText(moved) : undefined;
}

export const incompleteText = ({ from, command }: IncompleteNote): string =>
  `this store is an incomplete copy of ${from}: finish it with "${command}"`;

export const movedText = ({ to, atMs }: MovedNote): string =>
  `this store was moved to ${to} (${new Date(atMs).toISOString()}); anything written there since is missing here: start with that store, or run "parley move --reopen" to use this one as it was`;

async function isMoving(database: Database): Promise<boolean> {
  const rows: DbRow[] = await database.run(
    (sql) => sql`
      SELECT 1 AS held FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCK_SPACE}::BIGINT::OID AND objid = ${MOVE_LOCK}::BIGINT::OID
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows.length > 0;
}
