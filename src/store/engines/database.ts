/**
 * How statements reach a database: through one connection to a file, or through a pool of connections to a server.
 *
 * - `run` is for statements that do not depend on each other.
 * - `transaction` MUST be all or nothing, and no other statement MUST see a part of it.
 * - `quickRun` and `quickTransaction` do not wait for the disk where waiting blocks everything else: what they write survives the end of the process, but
 *   maybe not a loss of power. What others write afterwards is never on the disk without it.
 * - `consistentRead` MUST give all its reads the same snapshot of the database.
 * - Work MAY be called a second time if nothing of it was done (stale-plans.ts). What it changes outside the database MUST allow that.
 * - They MUST NOT be nested: on one connection the inner one would wait for the outer one without end.
 */
import type { SQL } from "bun";

export type Work<T> = (sql: SQL) => Promise<T>;
export type Run = <T>(work: Work<T>) => Promise<T>;

/** Which of several servers answers. Their address may move from one to another, and connections to the earlier one may stay open. */
export interface Servers {
  /** Columns for a statement: each row then says which server it comes from. */
  readonly columns: string;
  /** Gets such a row. Returns what names that server until it restarts; throws StoreReadOnly if it takes no changes. */
  accept(row: Readonly<Record<string, unknown>> | undefined): string;
}

export interface Database {
  /** Other processes may write to it as well. */
  readonly isShared: boolean;
  /** Absent: it is a file. */
  readonly servers?: Servers;
  readonly run: Run;
  readonly transaction: Run;
  readonly quickRun: Run;
  /** `committed` is called when the transaction is committed; on one connection, before any other statement. */
  readonly quickTransaction: <T>(work: Work<T>, committed?: (result: T) => void) => Promise<T>;
  readonly consistentRead: Run;
  /** Like `run`, but it does not queue behind long work and fails after a short timeout: it shows whether the database answers. */
  readonly probe: Run;
  /** Takes a lock of that name among all processes, until it is released or this process ends. */
  lock(name: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** FULL syncs the log of SQLite at each commit, NORMAL when it is copied into the database. */
type Sync = "FULL" | "NORMAL";

/** Pages of 4 KiB that the log holds before they are copied into the file; the default of SQLite. */
const CHECKPOINT_PAGES = 1000;

/** One connection: all work is queued, so that no statement runs inside another's transaction. Bound: one per request in progress. */
export class OneConnection implements Database {
  readonly isShared = false;
  private last: Promise<unknown> = Promise.resolve();
  /** As openSqlite sets it. */
  private sync: Sync = "FULL";

  /** `explain` turns an error of the driver into one that tells the operator what to do, where it can. */
  constructor(
    private readonly sql: SQL,
    private readonly explain: (error: unknown) => unknown = (error) => error,
  ) {}

  run = <T>(work: Work<T>): Promise<T> => this.queued("FULL", () => work(this.sql));
  transaction = <T>(work: Work<T>): Promise<T> => this.queued("FULL", () => this.sql.begin(work) as Promise<T>);
  quickRun = <T>(work: Work<T>): Promise<T> => this.queued("NORMAL", () => work(this.sql));
  quickTransaction = <T>(work: Work<T>, committed?: (result: T) => void): Promise<T> =>
    this.queued("NORMAL", async () => {
      const result = (await this.sql.begin(work)) as T;
      committed?.(result);
      return result;
    });
  consistentRead = this.transaction;
  probe = this.run;

  /**
   * From the moment in which `then` is called, the file has every change and stays as it is: later changes are kept in the log until
   * `writeToFile`. So it can be copied while the store is used.
   */
  keepInLog(then: () => void): Promise<void> {
    return this.queued("FULL", async () => {
      await this.sql`PRAGMA wal_autocheckpoint = 0`;
      await this.sql`PRAGMA wal_checkpoint(TRUNCATE)`;
      then();
    });
  }

  /** Copies what the log has into the file, and goes on doing so. */
  writeToFile(): Promise<void> {
    return this.queued("FULL", async () => {
      await this.sql.unsafe(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      await this.sql`PRAGMA wal_checkpoint(TRUNCATE)`;
    });
  }

  /** The file is locked, so there are no other processes. */
  async lock(): Promise<() => Promise<void>> {
    return async () => undefined;
  }

  async close(): Promise<void> {
    await this.last;
    await this.sql.close();
  }

  private queued<T>(sync: Sync, work: () => Promise<T>): Promise<T> {
    const inMode = async (): Promise<T> => {
      if (sync !== this.sync) await this.sql.unsafe(`PRAGMA synchronous = ${sync}`);
      this.sync = sync;
      return work();
    };
    const done = this.last.then(inMode).catch((error: unknown) => {
      throw this.explain(error);
    });
    this.last = done.catch(() => undefined);
    return done;
  }
}
