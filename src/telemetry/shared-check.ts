/**
 * A check that many callers share. /readyz needs no credential and must not hang, so the cost of a check does not grow with requests, and
 * callers do not wait long for one that does.
 */
interface SharedCheckParts<T> {
  /** Never rejects. */
  readonly check: () => Promise<T>;
  /** How long a result is used. */
  readonly validMs: (result: T) => number;
  readonly isGood: (result: T) => boolean;
  /** The result of a check that takes longer than `afterMs`. It runs on, and no second one starts beside it. Absent: callers wait. */
  readonly late?: { readonly afterMs: number; readonly result: T };
  readonly monotonicMs: () => number;
}

/** What is known to be bad is answered after this long, instead of after another timeout. A recovery is usually found sooner. */
const BAD_WAIT_MS = 250;

/** Runs the check at most once at a time, and shares its result. */
export function sharedCheck<T>({ check, validMs, isGood, late, monotonicMs }: SharedCheckParts<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let last: { readonly result: T; readonly untilMs: number } | undefined;
  const run = async (): Promise<T> => {
    const result = await check();
    last = { result, untilMs: monotonicMs() + validMs(result) };
    running = undefined;
    return result;
  };
  return async () => {
    if (last && monotonicMs() < last.untilMs) return last.result;
    running ??= run();
    const isBad = last !== undefined && !isGood(last.result);
    if (!isBad && !late) return running;
    const found = await within(running, isBad ? BAD_WAIT_MS : (late?.afterMs ?? 0));
    if (found) return found.result;
    if (last && isBad) return last.result;
    if (!late) return running;
    // Callers that come while it still runs do not wait as long again.
    last = { result: late.result, untilMs: monotonicMs() };
    return late.result;
  };
}

/** undefined: it takes longer. */
async function within<T>(running: Promise<T>, maxMs: number): Promise<{ readonly result: T } | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), maxMs);
  const found = await Promise.race([running.then((result) => ({ result })), late]);
  clearTimeout(timer);
  return found;
}
