/**
 * Connections to PostgreSQL for one purpose. A statement that the server does not answer in time is given up together with the
 * connections, because everything behind it would wait until the network gives up. Connections to a server that takes no changes are
 * replaced: after a failover the address leads to another one.
 */
import { SQL } from "bun";
import { withoutStalePlans } from "../../../store/engines/stale-plans.ts";
import { HistoryUnavailable } from "../../contract/history.ts";

/** Longer than the server's own timeout of a statement, which tells more. */
const ANSWER_MS = 2500;
/** How often connections to a server that takes no changes are replaced, and how long statements on replaced ones may still take. */
const LEAVE_EVERY_MS = 1000;
const LEAVE_SECONDS = 3;
/** SQLSTATE of a change on such a server. */
const READ_ONLY = "25006";

/** A standby has answered: what it holds may be old, so that positions cannot be judged by it. */
export class StandbyAnswered extends HistoryUnavailable {}

export class PostgresConnections {
  private sql: SQL;
  private isClosed = false;
  private leftMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly options: SQL.PostgresOrMySQLOptions,
    private readonly connections: number,
    private readonly answerMs = ANSWER_MS,
    /** The server takes no changes: other connections to the same address should be left, too. */
    private readonly onReadOnly: () => void = () => this.leave(),
  ) {
    this.sql = this.connect();
  }

  /** Rejects with HistoryUnavailable if the server refuses the work or does not answer. */
  async run<T>(work: (sql: SQL) => Promise<T>, maxMs = this.answerMs): Promise<T> {
    if (this.isClosed) throw new HistoryUnavailable("the history is closed");
    let { sql } = this;
    const current = (): SQL => {
      sql = this.sql;
      return sql;
    };
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    // No boundary: it rejects a promise, and closes connections without throwing.
    const timer = setTimeout(() => {
      reject(new HistoryUnavailable(`PostgreSQL did not answer for ${maxMs / 1000} seconds`));
      if (sql === this.sql) this.replace();
    }, maxMs);
    try {
      const replace = (): void => this.replace(LEAVE_SECONDS);
      return await Promise.race([withoutStalePlans(current, replace, work), timeout]);
    } catch (error) {
      if (takesNoChanges(error) && sql === this.sql) this.onReadOnly();
      if (error instanceof SQL.PostgresError) throw new HistoryUnavailable(error.message, { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Gives up the connections and whatever waits on them; the next work opens new ones. */
  replace(afterSeconds = 0): void {
    if (this.isClosed) return;
    const old = this.sql;
    this.sql = this.connect();
    old.close({ timeout: afterSeconds }).catch(() => undefined);
  }

  /** The same, but what is under way may end; not too often, because many calls may ask for it. */
  leave(): void {
    if (performance.now() - this.leftMs < LEAVE_EVERY_MS) return;
    this.leftMs = performance.now();
    this.replace(LEAVE_SECONDS);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.sql.close({ timeout: 0 });
  }

  private connect(): SQL {
    return new SQL({ ...this.options, max: this.connections });
  }
}

const takesNoChanges = (error: unknown): boolean =>
  error instanceof StandbyAnswered || (error instanceof SQL.PostgresError && String(error.errno) === READ_ONLY);
