/**
 * What a change takes away. The node that made the change names it to the others, so that they refuse it before they have read the
 * store, and also if they cannot. It names ids only, never a secret, and grants nothing: what is new is read from the store.
 */
import { isObject, parseStrict } from "../../protocol/json.ts";
import type { KeyRow } from "../../store/contract/store.ts";
import { PREVIOUS_SECRETS_MAX } from "../limits.ts";

export type Withdrawn =
  /** A deleted application, with its keys and rooms. */
  | { readonly kind: "app"; readonly id: string }
  /** A revoked key. */
  | { readonly kind: "key"; readonly id: string }
  /** A key that now allows less; how much less only the store says. */
  | {
      readonly kind: "narrowed key";
      readonly id: string;
      /** Tells this edit from others of the key: an announcement may be repeated after it was read. Earlier releases have none. */
      readonly edit?: string;
    }
  /** A key or an application whose secret was rotated. */
  | { readonly kind: "key secrets" | "app secrets"; readonly id: string; readonly left: readonly SecretLeft[] }
  /** A revoked operator, with all sessions. */
  | { readonly kind: "operator"; readonly id: string }
  /** A session of the dashboard that was signed out; the id is its digest. */
  | { readonly kind: "session"; readonly id: string };

/** A secret that is still valid after a rotation. */
export interface SecretLeft {
  readonly seq: number;
  /** Unix ms; null for the current one. */
  readonly ends: number | null;
}

/** Longer than every id and digest of this service. */
const ID_MAX_CHARS = 128;
const LEFT_MAX = PREVIOUS_SECRETS_MAX + 1;

export const encodeWithdrawn = (one: Withdrawn): string => JSON.stringify(one);

/** The engine bounds the text. undefined: it is something else, or of a later version. The node then follows as soon as it can read the store. */
export function decodeWithdrawn(text: string): Withdrawn | undefined {
  const parsed = parseStrict(text);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { kind, id, left: listed, edit } = parsed.value;
  if (typeof id !== "string" || id.length > ID_MAX_CHARS) return undefined;
  switch (kind) {
    case "narrowed key":
      return { kind, id, ...(typeof edit === "string" && edit.length <= ID_MAX_CHARS && { edit }) };
    case "app":
    case "key":
    case "operator":
    case "session":
      return { kind, id };
    case "key secrets":
    case "app secrets": {
      const left = leftOf(listed);
      return left && { kind, id, left };
    }
    default:
      return undefined;
  }
}

function leftOf(value: unknown): SecretLeft[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > LEFT_MAX) return undefined;
  const left = value.flatMap((one): SecretLeft[] => {
    const { seq, ends } = isObject(one) ? one : {};
    return typeof seq === "number" && (ends === null || typeof ends === "number") ? [{ seq, ends }] : [];
  });
  return left.length === value.length ? left : undefined;
}

/** Whether an edit of a key may allow less. Patterns are compared by their text: what they cover is costly to compare. */
export function isNarrower(before: KeyRow, after: KeyRow): boolean {
  const lacks = (was: readonly string[], is: readonly string[], all?: string): boolean =>
    !(all !== undefined && is.includes(all)) && was.some((one) => !is.includes(one));
  return (
    lacks(before.actions, after.actions) ||
    lacks(before.channelPatterns, after.channelPatterns, "**") ||
    lacks(before.allowedOrigins ?? [], after.allowedOrigins ?? [], "*") ||
    (before.turn && !after.turn)
  );
}

/**
 * Until when a secret that this node holds is valid, 0 if it is not any more. Never longer than before, in whatever order rotations
 * become known; a secret that is newer than the rotation is not affected by it.
 */
export function endAfterRotation(known: SecretLeft, left: readonly SecretLeft[]): number | null {
  if (left.every(({ seq }) => seq < known.seq)) return known.ends;
  const found = left.find(({ seq }) => seq === known.seq);
  if (!found) return 0;
  if (found.ends === null || known.ends === null) return found.ends ?? known.ends;
  return Math.min(found.ends, known.ends);
}
