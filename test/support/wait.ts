/** Waiting with a timeout. */
import { IS_EXACT } from "./slack.ts";

/** Longer than anything takes on a busy machine. */
export const TIMEOUT_MS = 30_000;

/** What takes about a second at most. Exact only for a suite that does not share the machine with others. */
export const SOON_MS = IS_EXACT ? 1500 : 10_000;

const LOOK_EVERY_MS = 15;

/** Polls until the condition holds; returns how long that took. `what` is the text of a timeout. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = TIMEOUT_MS,
): Promise<number> {
  const began = performance.now();
  while (!(await holds())) {
    if (performance.now() - began > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await Bun.sleep(LOOK_EVERY_MS);
  }
  return performance.now() - began;
}

/** Polls until there is something to find. `what` is the text of a timeout. */
export async function found<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  withinMs = TIMEOUT_MS,
): Promise<T> {
  let value: T | undefined;
  const isFound = async (): Promise<boolean> => {
    value = await look();
    return value !== undefined;
  };
  await until(what, isFound, withinMs);
  return value as T;
}

/** Tries until the work does not fail. A failure that is not `passing` is thrown at once. */
export function retried<T>(
  what: string,
  work: () => Promise<T>,
  passing: (error: unknown) => boolean = () => true,
  withinMs = TIMEOUT_MS,
): Promise<T> {
  return found(
    what,
    async () => {
      try {
        return { result: await work() };
      } catch (error) {
        if (!passing(error)) throw error;
        return undefined;
      }
    },
    withinMs,
  ).then(({ result }) => result);
}

/** One turn of the event loop: what is due now runs, with all that follows from it without waiting. */
export const nextTurn = (): Promise<void> => Bun.sleep(0);

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
