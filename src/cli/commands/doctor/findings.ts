/** What `parley doctor` finds. */

/**
 * - `serious`: unauthenticated clients get access they must not have, or clients are not served correctly. The exit code is 1.
 * - `attention`: needs a change or a decision.
 * - `unchecked`: cannot be checked over HTTP, but belongs to the list.
 */
export type Verdict = "ok" | "attention" | "serious" | "unchecked";

export interface Finding {
  /** The same name as in docs/production.md. */
  readonly check: string;
  readonly verdict: Verdict;
  readonly found: string;
  /** What to do about it; absent with the verdict `ok`. */
  readonly todo?: string;
}

export type Outcome = Omit<Finding, "check">;

export const ok = (found: string): Outcome => ({ verdict: "ok", found });
export const attention = (found: string, todo: string): Outcome => ({ verdict: "attention", found, todo });
export const serious = (found: string, todo: string): Outcome => ({ verdict: "serious", found, todo });
export const unchecked = (found: string, todo: string): Outcome => ({ verdict: "unchecked", found, todo });
