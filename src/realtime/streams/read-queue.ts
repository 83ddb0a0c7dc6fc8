/**
 * Long reads of the store, for those who come back and for pages of history: a few at the same time, one for each reader, in turns
 * between the readers, so that a client that asks for much does not hold up the others.
 *
 * The embedded store answers within the call. Without a pause, the reads of a thousand clients that come back would follow each other
 * in one turn of the process, for many seconds: once they have taken some of a turn, the rest waits for the next.
 */
import type { Clock } from "../clock.ts";
import { LONG_READS_MAX, LONG_READS_TURN_MS } from "./limits.ts";

/** A connection; for calls over REST, the application. */
export type Reader = object | string;

export interface ReadQueueParts {
  readonly clock: Clock;
  /** Runs a callback after other events of this process had their turn. */
  readonly defer: (callback: () => void) => void;
}

export class ReadQueue {
  /** In the order of their turns. Bound: one per connection and application, each with its subscriptions that begin and one page. */
  private readonly waiting = new Map<Reader, (() => Promise<void>)[]>();
  /** Bound: LONG_READS_MAX. */
  private readonly reading = new Set<Reader>();
  private turnBeganMs: number | undefined;

  constructor(private readonly parts: ReadQueueParts) {}

  /** Calls `read` when it is its turn. */
  run<T>(reader: Reader, read: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job = (): Promise<void> => read().then(resolve, reject);
      const jobs = this.waiting.get(reader);
      if (jobs) jobs.push(job);
      else this.waiting.set(reader, [job]);
      this.next();
    });
  }

  private next(): void {
    while (this.waiting.size > 0 && this.reading.size < LONG_READS_MAX && !this.isTurnOver()) {
      const reader = this.nextReader();
      const jobs = reader === undefined ? undefined : this.waiting.get(reader);
      const job = jobs?.shift();
      if (reader === undefined || !jobs || !job) return;
      this.waiting.delete(reader);
      if (jobs.length > 0) this.waiting.set(reader, jobs);
      this.reading.add(reader);
      void job().finally(() => {
        this.reading.delete(reader);
        this.next();
      });
    }
  }

  private nextReader(): Reader | undefined {
    for (const reader of this.waiting.keys()) if (!this.reading.has(reader)) return reader;
    return undefined;
  }

  private isTurnOver(): boolean {
    const { clock, defer } = this.parts;
    const nowMs = clock.monotonicMs();
    if (this.turnBeganMs === undefined) {
      this.turnBeganMs = nowMs;
      defer(() => {
        this.turnBeganMs = undefined;
        this.next();
      });
    }
    return nowMs - this.turnBeganMs >= LONG_READS_TURN_MS;
  }
}
