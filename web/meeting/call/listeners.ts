/** Listeners by event, for events with any number of arguments. */
type Arguments<Events, E extends keyof Events> = Events[E] extends readonly unknown[] ? Events[E] : never;

export class Listeners<Events> {
  readonly #byEvent = new Map<keyof Events, Set<(...args: never) => void>>();

  on<E extends keyof Events>(event: E, listener: (...args: Arguments<Events, E>) => void): () => void {
    const set = this.#byEvent.get(event) ?? new Set();
    this.#byEvent.set(event, set);
    set.add(listener);
    return () => set.delete(listener);
  }

  /** A listener that throws does not keep the others from being called. */
  emit<E extends keyof Events>(event: E, ...args: Arguments<Events, E>): void {
    for (const listener of [...(this.#byEvent.get(event) ?? [])])
      try {
        (listener as (...args: Arguments<Events, E>) => void)(...args);
      } catch (error) {
        reportError(error);
      }
  }
}
