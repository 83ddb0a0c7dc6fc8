/**
 * Breaks in loops over the store. The embedded store answers within the call, so a loop that only awaits it runs to its end in one turn of
 * the process, and every connection waits for that.
 */

/** Resolves when other events of this process had their turn. */
export const otherWork = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** All entries, with a break after each `atOnce` of them. */
export async function* withBreaks<T>(all: Iterable<T>, atOnce: number): AsyncGenerator<T, undefined> {
  let count = 0;
  for (const one of all) {
    if (count > 0 && count % atOnce === 0) await otherWork();
    count++;
    yield one;
  }
}
