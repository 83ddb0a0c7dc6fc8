/**
 * Long reads of the store, for those who come back and for pages of history: a few at the same time, one for each reader, in turns
 * between the readers, so that a client that asks for much does not hold up the others.
 *
 * The embedded store answers within the call. Without a pause, the reads of a thousand clients that come back would follow each other
 * in one turn of the process, for many seconds: once they have taken some of a turn, the rest waits for the next.
 */
import { LONG_READS_MAX } from "./limits.ts";
import { LoopShare, type LoopShareParts } from "./loop-share.ts";

/** A connection; for calls over REST, the application. */
export type Reader = object | string;

export class ReadQueue {
  /** In the order of their turns. Bound: one per connection and application, each with its subscriptions that begin and one page. */
  private readonly waiting = new Map<Reader, (() => Promise<void>)[]>();
  /** Bound: LONG_READS_MAX. */
  private readonly reading = new Set<Reader>();
  private readonly share: LoopShare;

  constructor(parts: LoopShareParts) {
    this.share = new LoopShare(parts, () => this.next());
  }

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
    while (this.waiting.size > 0 && this.reading.size < LONG_READS_MAX && !this.share.isOver()) {
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
}
