/**
 * How statements reach a database: through one connection to a file, or through a pool of connections to a server.
 *
 * - `run` is for statements that do not depend on each other.
 * - `transaction` MUST be all or nothing, and no other statement MUST see a part of it.
 * - `consistentRead` MUST give all its reads the same snapshot of the database.
 * - They MUST NOT be nested: on one connection the inner one would wait for the outer one without end.
 */
import type { SQL } from "bun";

export type Work<T> = (sql: SQL) => Promise<T>;
export type Run = <T>(work: Work<T>) => Promise<T>;

export interface Database {
  /** Other processes may write to it as well. */
  readonly isShared: boolean;
  readonly run: Run;
  readonly transaction: Run;
  readonly consistentRead: Run;
  /** Like `run`, but it does not queue behind long work and fails after a short timeout: it shows whether the database answers. */
  readonly probe: Run;
  /** Takes a lock of that name among all processes, until it is released or this process ends. */
  claim(name: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** One connection: all work is queued, so that no statement runs inside another's transaction. */
export class OneConnection implements Database {
  readonly isShared = false;
  private last: Promise<unknown> = Promise.resolve();

  /** `explain` turns an error of the driver into one that tells the operator what to do, where it can. */
  constructor(
    private readonly sql: SQL,
    private readonly explain: (error: unknown) => unknown = (error) => error,
  ) {}

  run = <T>(work: Work<T>): Promise<T> => this.inTurn(() => work(this.sql));
  transaction = <T>(work: Work<T>): Promise<T> => this.inTurn(() => this.sql.begin(work) as Promise<T>);
  consistentRead = this.transaction;
  probe = this.run;

  /** The file is locked, so there are no other processes. */
  async claim(): Promise<() => Promise<void>> {
    return async () => undefined;
  }

  async close(): Promise<void> {
    await this.last;
    await this.sql.close();
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work).catch((error: unknown) => {
      throw this.explain(error);
    });
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
