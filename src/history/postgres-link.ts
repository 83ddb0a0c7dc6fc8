/**
 * Connections to PostgreSQL for one purpose. A statement that the server does not answer in time is given up together with the
 * connections, because everything behind it would wait until the network gives up.
 */
import { SQL } from "bun";
import { HistoryUnavailable } from "./history.ts";

/** Longer than the server's own timeout of a statement, which tells more. */
const ANSWER_MS = 2500;

export class PostgresLink {
  private sql: SQL;
  private isClosed = false;

  constructor(
    private readonly options: SQL.PostgresOrMySQLOptions,
    private readonly connections: number,
    private readonly answerMs = ANSWER_MS,
  ) {
    this.sql = this.connect();
  }

  /** Rejects with HistoryUnavailable if the server refuses the work or does not answer. */
  async run<T>(work: (sql: SQL) => Promise<T>, maxMs = this.answerMs): Promise<T> {
    if (this.isClosed) throw new HistoryUnavailable("the history is closed");
    const { sql } = this;
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new HistoryUnavailable(`PostgreSQL has not answered for ${maxMs / 1000} seconds`));
      if (sql === this.sql) this.replace();
    }, maxMs);
    try {
      return await Promise.race([work(sql), timeout]);
    } catch (error) {
      if (error instanceof SQL.PostgresError) throw new HistoryUnavailable(error.message, { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Gives up the connections and whatever waits on them; the next work opens new ones. */
  replace(): void {
    if (this.isClosed) return;
    const old = this.sql;
    this.sql = this.connect();
    old.close({ timeout: 0 }).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.sql.close({ timeout: 0 });
  }

  private connect(): SQL {
    return new SQL({ ...this.options, max: this.connections });
  }
}
