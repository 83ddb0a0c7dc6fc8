/** Transactions of nodes that have changed something which no reader sees yet. */
import type { SQL } from "bun";

/** With which the application names of all connections of a history begin. */
export const APPLICATION_NAME = "parley-history";
/** A transaction that is open for longer is not waited for: each read of what has changed would be of everything since. */
const OPEN_TRANSACTION_MAX_MS = 600_000;

/**
 * For how long the oldest transaction of any node has been open. A server that waits for its disk or for a standby can take longer to
 * commit than anything here waits, and shows the transaction's changes only then: with the time at which they were made.
 */
export async function openTransactionsMs(sql: SQL): Promise<number> {
  const rows: { ms: string | null }[] = await sql`
    SELECT floor(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000)::BIGINT AS ms FROM pg_stat_activity
      WHERE application_name LIKE ${`${APPLICATION_NAME}%`} AND usename = current_user AND datname = current_database()
        AND pid <> pg_backend_pid()`;
  return Math.min(Math.max(Number(rows[0]?.ms ?? 0), 0), OPEN_TRANSACTION_MAX_MS);
}
