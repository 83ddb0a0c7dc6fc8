/**
 * Nodes of 0.1.0 that go on working while a node of this version changes their tables. Statements that they have prepared would fail once on each
 * connection (stale-plans.ts), and they do not repeat them: their callers would get errors. So their connections are closed as soon as the tables
 * are locked. They make new ones at once, and what they prepare there waits for the lock and is planned with the changed tables.
 */
import type { SQL } from "bun";
import { systemClock } from "../../base/clock.ts";

/** How 0.1.0 names the connections of its store. Later versions have another name (postgres.ts), and repeat what has failed. */
const THEIR_NAME = "parley";
/** How long connections that were busy are waited for. Statements end within their timeout, and nearly all within milliseconds. */
const WAIT_MAX_MS = 3000;
const LOOK_EVERY_MS = 50;

export class EarlierNodes {
  /** When the tables were locked, by the clock of the server. */
  private lockedAt = "";

  /** Before tables are changed, in the transaction that changes them. */
  async lock(tx: SQL, tables: readonly string[]): Promise<void> {
    const found: { name: string }[] = await tx`
      SELECT name FROM unnest(string_to_array(${tables.join(",")}, ',')) AS name WHERE to_regclass(name) IS NOT NULL`;
    if (found.length === 0) return;
    // All at once, and before the first connection is closed: what is prepared on a new one waits.
    await tx.unsafe(`LOCK TABLE ${found.map(({ name }) => name).join(", ")} IN ACCESS EXCLUSIVE MODE`);
    const [row] = await tx`SELECT clock_timestamp()::TEXT AS now`;
    this.lockedAt = String(row?.now);
    await this.close(tx);
  }

  /** After the commit: closes those that were busy. It does its best: what it does not close fails once, and nothing else. */
  async closeRest(sql: SQL): Promise<void> {
    const untilMs = systemClock.monotonicMs() + WAIT_MAX_MS;
    while (this.lockedAt !== "" && (await this.close(sql)) > 0 && systemClock.monotonicMs() < untilMs)
      await Bun.sleep(LOOK_EVERY_MS);
  }

  /**
   * Returns how many of that time there were. Only idle ones are closed: a statement that is under way ends as usual. One with an advisory lock is not
   * for statements, and its lock would be lost.
   */
  private async close(sql: SQL): Promise<number> {
    const rows = await sql`
      SELECT CASE WHEN state = 'idle' THEN pg_terminate_backend(pid) END FROM pg_stat_activity AS one
        WHERE datname = current_database() AND usename = current_user AND application_name = ${THEIR_NAME}
          AND backend_start < ${this.lockedAt}::TIMESTAMPTZ
          AND NOT EXISTS (SELECT 1 FROM pg_locks WHERE pg_locks.pid = one.pid AND locktype = 'advisory')`;
    return rows.length;
  }
}
