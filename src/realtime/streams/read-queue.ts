/**
 * Long reads of the store, for those who come back and for pages of history: a few at the same time, one for each requester, in rotation
 * between applications and then between their requesters, so that neither an application nor a client that asks for much holds up the
 * others.
 *
 * The embedded store answers within the call. Without a pause, the reads of a thousand clients that come back would follow each other
 * in one turn of the event loop, for many seconds: once they have taken some of a turn, the rest waits for the next.
 */
import type { AppId } from "../../base/ids.ts";
import { LONG_READS_MAX } from "./limits.ts";
import { LoopShare, type LoopShareParts } from "./loop-share.ts";
import { firstOf, RoundRobin } from "./round-robin.ts";

/** A connection; for calls over REST, the application. */
export type Requester = object | string;

type Job = () => Promise<void>;

export class ReadQueue {
  /** Bound: one per connection and application, each with its subscriptions that begin and one page. */
  private readonly waiting = new RoundRobin<Requester, Job>();
  /** Bound: LONG_READS_MAX. */
  private readonly reading = new Set<Requester>();
  private readonly share: LoopShare;

  constructor(parts: LoopShareParts) {
    this.share = new LoopShare(parts, () => this.next());
  }

  /** Calls `read` when it is next. */
  run<T>(app: AppId, requester: Requester, read: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.add(app, requester, (): Promise<void> => read().then(resolve, reject));
      this.next();
    });
  }

  private next(): void {
    while (!this.waiting.isEmpty && this.reading.size < LONG_READS_MAX && !this.share.isOver()) {
      const next = this.waiting.next((requester) => !this.reading.has(requester));
      if (!next) return;
      const job = firstOf(next);
      this.waiting.putBack(next);
      if (job) this.begin(next.owner, job);
    }
  }

  private begin(requester: Requester, job: Job): void {
    this.reading.add(requester);
    void job().finally(() => {
      this.reading.delete(requester);
      this.next();
    });
  }
}
