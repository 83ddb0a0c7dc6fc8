/**
 * Changes of one worker, on the server. The work of a change runs in the worker, and its calls arrive one by one while the server holds the
 * change open. Everything else waits for it, so it is undone when it takes too long, or when the worker is gone.
 */
import type { Change, Store } from "../store/contract/store.ts";
import { StoreUnreachable } from "../store/contract/store.ts";
import { CHANGE_MAX_MS } from "./limits.ts";
import { type AnyMethod, CHANGE_METHODS } from "./methods.ts";

interface OpenChange {
  readonly change: Readonly<Record<string, AnyMethod>>;
  /** Settled when the work is over; rejected: the change is undone. */
  readonly work: PromiseWithResolvers<void>;
  /** The calls that have arrived. */
  calls: Promise<unknown>;
  /** Resolves with the revision when the change is durable. */
  readonly result: Promise<number>;
}

/** The worker itself wants it undone. */
class Undone extends Error {}

export class OpenChanges {
  /** Bound: a worker has one change at a time. */
  private readonly open = new Map<number, OpenChange>();
  private lastNr = 0;
  private isGone = false;

  constructor(
    private readonly store: Pick<Store, "change">,
    private readonly maxMs = CHANGE_MAX_MS,
  ) {}

  begin(): Promise<number> {
    const nr = ++this.lastNr;
    const begun = Promise.withResolvers<number>();
    const kept = Promise.withResolvers<number>();
    // Whether there is a reader depends on the worker.
    kept.promise.catch(() => undefined);
    this.store
      .change(
        (change) => {
          if (this.isGone) throw new Undone();
          const work = this.hold(nr, change, kept.promise);
          begun.resolve(nr);
          return work;
        },
        (_, revision) => kept.resolve(revision),
      )
      .catch((error: unknown) => {
        kept.reject(error);
        begun.reject(error);
      });
    return begun.promise;
  }

  private async hold(nr: number, change: Change, result: Promise<number>): Promise<void> {
    const work = Promise.withResolvers<void>();
    const one: OpenChange = {
      change: change as unknown as OpenChange["change"],
      work,
      calls: Promise.resolve(),
      result,
    };
    this.open.set(nr, one);
    // No boundary: it rejects a promise.
    const timer = setTimeout(
      () =>
        work.reject(new StoreUnreachable(`the change took longer than ${this.maxMs / 1000} seconds, and was undone`)),
      this.maxMs,
    );
    try {
      await work.promise;
    } finally {
      clearTimeout(timer);
      this.open.delete(nr);
      // A call that the work did not wait for belongs to the change all the same; after it, it would write what no one undoes.
      await one.calls;
    }
  }

  async call(nr: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const one = this.find(nr);
    if (!CHANGE_METHODS.includes(method)) throw new TypeError(`changes have no method ${method}`);
    const call = (one.change[method] as AnyMethod)(...args);
    one.calls = Promise.allSettled([one.calls, call]);
    return call;
  }

  /** Rejects when the change is undone by the server. */
  async over(nr: number): Promise<void> {
    try {
      await this.find(nr).work.promise;
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
    }
  }

  /** The revision, when the change is durable; 0 when it is undone. */
  async end(nr: number, isKept: boolean): Promise<number> {
    const { work, result } = this.find(nr);
    if (isKept) work.resolve();
    else work.reject(new Undone());
    try {
      return await result;
    } catch (error) {
      if (error instanceof Undone) return 0;
      throw error;
    }
  }

  /** The worker is gone: what it has begun is undone. */
  endAll(): void {
    this.isGone = true;
    for (const { work } of this.open.values()) work.reject(new Undone());
  }

  private find(nr: number): OpenChange {
    const one = this.open.get(nr);
    if (!one) throw new StoreUnreachable("the change is over; it took too long, and was undone");
    return one;
  }
}
