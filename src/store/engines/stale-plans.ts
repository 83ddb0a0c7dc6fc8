/**
 * A node that starts with a newer version changes tables while others run. Statements that the others have prepared then fail once
 * on each connection: what they return has other columns than when they were planned. Nothing was done, so the work is repeated.
 */
import { SQL } from "bun";
import type { Work } from "./database.ts";

/** SQLSTATE of "cached plan must not change result type". */
const STALE_PLAN = "0A000";

const isStale = (error: unknown): boolean => error instanceof SQL.PostgresError && String(error.errno) === STALE_PLAN;

/**
 * Repeats work once that has met a stale plan, on new connections: each of the old ones has stale plans of its own.
 * `work` MUST be one transaction, or not change anything before its last statement.
 */
export async function withoutStalePlans<T>(current: () => SQL, replace: () => void, work: Work<T>): Promise<T> {
  const sql = current();
  try {
    return await work(sql);
  } catch (error) {
    if (!isStale(error)) throw error;
    // Otherwise other work has replaced them already.
    if (sql === current()) replace();
    return work(current());
  }
}
