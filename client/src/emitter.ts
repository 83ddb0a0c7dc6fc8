/** Listeners by event. A listener that throws is reported and does not keep the others from being called. */
export type Listener<T> = (value: T) => void;

// biome-ignore lint/suspicious/noExplicitAny: an interface of events has no index signature, and any is what both have in common.
export class Emitter<Events extends Record<keyof Events, any>> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Returns a function that removes the listener. */
  on<K extends keyof Events>(event: K, listener: Listener<Events[K]>): () => void {
    const set = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, set);
    // Wrapped, so that the same function can be added twice and removed once.
    const own: Listener<Events[K]> = (value) => listener(value);
    set.add(own);
    this.changed();
    return () => {
      set.delete(own);
      this.changed();
    };
  }

  has(event: keyof Events): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0;
  }

  protected emit<K extends keyof Events>(event: K, value: Events[K]): void {
    const set = this.#listeners.get(event);
    for (const listener of [...(set ?? [])])
      try {
        if (set?.has(listener)) (listener as Listener<Events[K]>)(value);
      } catch (error) {
        // As an unhandled exception of its own, so that the application sees it.
        queueMicrotask(() => {
          throw error;
        });
      }
  }

  /** A listener was added or removed. */
  protected changed(): void {}
}
