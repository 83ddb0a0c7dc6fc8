/** Whether a key's patterns cover what a token asks for. Deciding that can be costly, so the work is charged to the key. */
import { CONTAINMENT_STEPS_PER_REQUEST } from "../../protocol/limits.ts";
import { Effort, EffortExceeded } from "../../protocol/patterns/containment.ts";
import type { Glob } from "../../protocol/patterns/glob.ts";
import type { Scope } from "../../protocol/patterns/scope.ts";
import type { SecretKey } from "./keyring.ts";

/** The request rate of keys. Work beyond that of one request is charged to it, and a key in debt must wait before it gets more. */
export interface KeyRate {
  /** Seconds to wait; 0 if the key has no debt. */
  debt(keyId: string): number;
  charge(keyId: string, requests: number): void;
}

export const TOO_COMPLEX =
  "too complex to check against the key's patterns; use fewer '**' in it, or simpler patterns in the key";

/** Why a pattern is not granted. `in debt`: it was not decided, because the key's rate does not allow the work now. */
export type Uncovered = { readonly glob: Glob } & (
  | { readonly why: "outside" | "undecided" }
  | { readonly why: "in debt"; readonly retryAfterSeconds: number }
);

export interface Coverage {
  readonly uncovered: Uncovered | undefined;
  /** What the decision has cost, in requests beyond this one. */
  readonly requests: number;
}

/**
 * The first pattern that the key's patterns do not contain, or for which that could not be decided. A key in debt gets the work
 * of one request only; otherwise requests that were let in at the same time could all be costly. Without `rate` nothing is charged.
 */
export function firstUncovered(
  globs: readonly Glob[],
  { id, scope }: Pick<SecretKey, "id" | "scope">,
  rate: KeyRate | undefined,
): Coverage {
  if (globs.length === 0) return { uncovered: undefined, requests: 0 };
  const debtSeconds = rate?.debt(id) ?? 0;
  const effort = debtSeconds > 0 ? new Effort(CONTAINMENT_STEPS_PER_REQUEST) : new Effort();
  const uncovered = search(globs, scope, effort, debtSeconds);
  const { requests } = effort;
  if (requests > 0) rate?.charge(id, requests);
  return { uncovered, requests };
}

function search(globs: readonly Glob[], scope: Scope, effort: Effort, debtSeconds: number): Uncovered | undefined {
  for (const glob of globs) {
    try {
      const isCovered = scope.covers(glob, effort);
      if (!isCovered) return { glob, why: isCovered === undefined ? "undecided" : "outside" };
    } catch (error) {
      if (error instanceof EffortExceeded) return { glob, why: "in debt", retryAfterSeconds: debtSeconds };
      throw error;
    }
  }
  return undefined;
}
