/**
 * Batches of all workers that have arrived in one turn are appended in one transaction: beginning and ending one costs as much as the
 * messages of a small batch. Each batch keeps its own check, so that `settle` tells them apart.
 */
import type { Appended, Batch } from "../history/contract/history.ts";
import { JOINED_MAX_MESSAGES } from "./limits.ts";

/** A worker's connection. */
export interface Appending {
  /** The outcome of a batch; several are followed by one `flushAnswers`. */
  answerAppend(nr: number, bytes: number, outcome: readonly Appended[] | { readonly error: unknown }): void;
  flushAnswers(): void;
}

interface Waiting {
  readonly worker: Appending;
  readonly nr: number;
  readonly batch: Batch;
  /** The length of its frame. */
  readonly bytes: number;
}

/** Throws; then none of the batches is stored, or all of them are. */
export type AppendAll = (batches: readonly Batch[]) => readonly (readonly Appended[])[];

export class JoinedAppends {
  /** Bound: JOINED_MAX_MESSAGES and one batch; what a worker has unanswered is limited by its connection. */
  private waiting: Waiting[] = [];
  private messages = 0;
  private isScheduled = false;

  constructor(private readonly appendAll: AppendAll) {}

  add(worker: Appending, nr: number, batch: Batch, bytes: number): void {
    this.waiting.push({ worker, nr, batch, bytes });
    this.messages += batch.messages.length;
    if (this.messages >= JOINED_MAX_MESSAGES) return this.run();
    if (this.isScheduled) return;
    this.isScheduled = true;
    // No boundary: it catches what appending throws. After all sockets that have something to read in this turn.
    setImmediate(() => {
      this.isScheduled = false;
      this.run();
    });
  }

  /** Appends what waits. Called before every other call of the history, so that it sees what came before it. */
  run(): void {
    const { waiting } = this;
    if (waiting.length === 0) return;
    this.waiting = [];
    this.messages = 0;
    let results: readonly (readonly Appended[])[] = [];
    let failure: { readonly error: unknown } | undefined;
    try {
      results = this.appendAll(waiting.map(({ batch }) => batch));
    } catch (error) {
      // Not repeated one by one: whether the transaction was committed is for `settle` to find out.
      failure = { error };
    }
    const workers = new Set<Appending>();
    for (const [at, { worker, nr, bytes }] of waiting.entries()) {
      worker.answerAppend(nr, bytes, failure ?? results[at] ?? []);
      workers.add(worker);
    }
    for (const worker of workers) worker.flushAnswers();
  }

  /** The connection of a worker has ended: what it has sent last is not stored any more. */
  drop(worker: Appending): void {
    this.waiting = this.waiting.filter((one) => one.worker !== worker);
    this.messages = this.waiting.reduce((sum, { batch }) => sum + batch.messages.length, 0);
  }
}
