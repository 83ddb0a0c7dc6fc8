/**
 * How statements reach a database: the one difference between a file with one connection and a server with a pool of them.
 *
 * - `run` is for statements of which each stands by itself.
 * - `transaction` MUST be all or nothing, and nobody MUST see half of it.
 * - `moment` MUST show all its reads the same moment.
 * - None of them MUST be used inside another: on one connection it would wait for itself.
 */
import type { SQL } from "bun";

export type Work<T> = (sql: SQL) => Promise<T>;
export type Run = <T>(work: Work<T>) => Promise<T>;

export interface Database {
  /** Other processes may write to it too. */
  readonly isShared: boolean;
  readonly run: Run;
  readonly transaction: Run;
  readonly moment: Run;
  /** Like `run`, but never behind long work, and given up soon: it tells whether the database answers. */
  readonly pulse: Run;
  /** Alone among all processes, by name, until it is released or this process ends. */
  claim(name: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** One connection: everything waits for its turn, so that nothing slips into another's transaction, or sees half of one. */
export class OneConnection implements Database {
  readonly isShared = false;
  private last: Promise<unknown> = Promise.resolve();

  /** `explain` turns an error of the driver into one that names the cure, where there is one. */
  constructor(
    private readonly sql: SQL,
    private readonly explain: (error: unknown) => unknown = (error) => error,
  ) {}

  run = <T>(work: Work<T>): Promise<T> => this.inTurn(() => work(this.sql));
  transaction = <T>(work: Work<T>): Promise<T> => this.inTurn(() => this.sql.begin(work) as Promise<T>);
  moment = this.transaction;
  pulse = this.run;

  /** The file is locked: there are no others. */
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
