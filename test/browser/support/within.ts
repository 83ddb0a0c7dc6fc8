/** Longer than anything here takes on a busy machine; a test that waits this long has failed. */
export const DEADLINE_MS = 30_000;

/** `explain` is called only on a timeout. */
export async function within<T>(
  what: string,
  work: Promise<T>,
  explain: () => Promise<string> = async () => "",
): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<symbol>();
  const LATE = Symbol();
  const timer = setTimeout(() => resolve(LATE), DEADLINE_MS);
  try {
    const first = await Promise.race([work, late]);
    if (first !== LATE) return first as T;
    // A rejection after the timeout must not be unhandled.
    work.catch(() => undefined);
    throw new Error(`${what}: not within ${DEADLINE_MS / 1000} s. ${await explain().catch(String)}`);
  } finally {
    clearTimeout(timer);
  }
}
