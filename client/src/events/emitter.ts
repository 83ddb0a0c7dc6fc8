/** Listeners by event. A listener that throws is reported and does not keep the others from being called. */
import { checkEvent, type Owner } from "./names.ts";

export type Listener<T> = (value: T) => void;

/** An object of its own for each registration, so that the same function can be added twice and removed once. */
interface Entry {
  readonly listener: Listener<never>;
  readonly isOnce: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: an interface of events has no index signature, and any is what both have in common.
export class Emitter<Events extends Record<keyof Events, any>> {
  readonly #owner: Owner;
  readonly #entries = new Map<keyof Events, Set<Entry>>();

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** Returns a function that removes the listener. */
  on<K extends keyof Events>(event: K, listener: Listener<Events[K]>): () => void {
    return this.#add(event, listener, false);
  }

  /** As `on`, for the next event only. */
  once<K extends keyof Events>(event: K, listener: Listener<Events[K]>): () => void {
    return this.#add(event, listener, true);
  }

  /** Removes a listener that `on` or `once` has added: if it was added several times, the last one. */
  off<K extends keyof Events>(event: K, listener: Listener<Events[K]>): void {
    const set = this.#entriesOf(event, listener);
    const entry = [...set].findLast((one) => one.listener === listener);
    if (entry) this.#remove(set, entry);
  }

  has(event: keyof Events): boolean {
    return (this.#entries.get(event)?.size ?? 0) > 0;
  }

  protected emit<K extends keyof Events>(event: K, value: Events[K]): void {
    const set = this.#entries.get(event) ?? new Set();
    for (const entry of [...set]) {
      if (!set.has(entry)) continue;
      if (entry.isOnce) this.#remove(set, entry);
      safely(() => (entry.listener as Listener<Events[K]>)(value));
    }
  }

  /** A listener was added or removed. */
  protected changed(): void {}

  #add(event: keyof Events, listener: Listener<never>, isOnce: boolean): () => void {
    const set = this.#entriesOf(event, listener);
    const entry = { listener, isOnce };
    set.add(entry);
    this.changed();
    return () => this.#remove(set, entry);
  }

  #remove(set: Set<Entry>, entry: Entry): void {
    set.delete(entry);
    this.changed();
  }

  #entriesOf(event: keyof Events, listener: unknown): Set<Entry> {
    checkEvent(this.#owner, event);
    if (typeof listener !== "function")
      throw new TypeError(`parley: the listener for "${String(event)}" is not a function`);
    const set = this.#entries.get(event) ?? new Set();
    this.#entries.set(event, set);
    return set;
  }
}

/** What the application's function throws becomes an unhandled exception of its own, so that the application sees it. */
export function safely(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
