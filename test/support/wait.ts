/** Waiting with a timeout. */

/** Longer than anything takes on a busy machine. */
export const TIMEOUT_MS = 30_000;

/** What takes about a second at most. Exact only in full runs: otherwise several suites share the machine. */
export const SOON_MS = process.env.PARLEY_TEST_FULL === "1" ? 1500 : 10_000;

/** Polls until the condition holds; returns how long that took. `what` is the text of a timeout. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = TIMEOUT_MS,
): Promise<number> {
  const began = performance.now();
  while (!(await holds())) {
    if (performance.now() - began > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await Bun.sleep(15);
  }
  return performance.now() - began;
}

/** The result of `work`; throws if it takes longer. `explain` is called only on a timeout. */
export async function within<T>(
  what: string,
  work: Promise<T>,
  ms = TIMEOUT_MS,
  explain: () => Promise<string> = async () => "",
): Promise<T> {
  const LATE = Symbol();
  const { promise: late, resolve } = Promise.withResolvers<symbol>();
  const timer = setTimeout(() => resolve(LATE), ms);
  try {
    const first = await Promise.race([work, late]);
    if (first !== LATE) return first as T;
    // A rejection after the timeout must not be unhandled.
    work.catch(() => undefined);
    throw new Error(`not within ${ms} ms: ${what}. ${await explain().catch(String)}`.trimEnd());
  } finally {
    clearTimeout(timer);
  }
}
