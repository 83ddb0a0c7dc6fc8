/** Assertions for every runtime. */
import type { ParleyError } from "../../../client/src/index.ts";

/** Equal as JSON. */
export function same(actual: unknown, expected: unknown, what = "values"): void {
  const [is, ought] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== ought) throw new Error(`${what}: ${is} instead of ${ought}`);
}

/** Each the same number of times, in any order. */
export const sameSet = (actual: readonly string[], expected: readonly string[], what?: string): void =>
  same([...actual].sort(), [...expected].sort(), what);

export function holds(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}

/** The code with which it is rejected; "resolved" if it is not. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "resolved",
    (error: ParleyError) => error.code,
  );
