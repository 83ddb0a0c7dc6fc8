/** Who calls: what the credential of a request permits, and whether it still does. */
import type { Blocks } from "../../access/admission/blocks.ts";
import { covers, type Permissions, permits } from "../../access/admission/permissions.ts";
import { isLive, type Key, type Keyring } from "../../access/keys/keyring.ts";
import type { AppId } from "../../base/ids.ts";
import { type Action, bitOf } from "../../protocol/actions.ts";
import { type Code, Problem } from "../../protocol/codes.ts";
import { originAllowed } from "../../protocol/origin.ts";
import type { Author } from "../../realtime/streams/created.ts";

export interface Caller {
  /** `open`: with a publishable key. */
  readonly kind: "secret" | "token" | "open";
  readonly app: AppId;
  /** As it was when the request came. */
  readonly key: Key;
  readonly permissions: Permissions;
  /** As whom it writes. */
  readonly author: Author;
  /** Whose producers are its own: those of its key or of its peer. */
  readonly owner: string;
  /** When its token expires; null: it has none. */
  readonly expiresAtMs: number | null;
  /** Which secret of the key was sent, or has signed the token. */
  readonly secretSeq: number | undefined;
  /** Where the page is from that sends a publishable key; null: it is none, or there is no key. */
  readonly origin: string | null;
}

export interface CallerChecks {
  readonly keyring: Pick<Keyring, "key">;
  readonly blocks: Pick<Blocks, "isBlocked">;
  readonly nowMs: () => number;
}

/** Pages of any origin may use it. */
export const isPublic = ({ kind, key }: Caller): boolean =>
  kind === "open" && key.type === "publishable" && key.origins.includes("*");

/** The caller as it is now; `undefined`: its credential is not valid any more. */
export function callerNow(caller: Caller, { keyring, blocks, nowMs }: CallerChecks): Caller | undefined {
  const { app, kind, expiresAtMs, author, origin, permissions } = caller;
  const now = nowMs();
  if (expiresAtMs !== null && expiresAtMs <= now) return undefined;
  if (kind === "token" && blocks.isBlocked(app, author.from, now)) return undefined;
  const key = keyring.key(caller.key.id);
  if (!key) return undefined;
  if (key.type !== "publishable") {
    if (!isSecretLive(caller, key, now)) return undefined;
  } else if (origin !== null && !originAllowed(origin, key.origins)) return undefined;
  if (key === caller.key) return caller;
  const { tokenActions } = permissions;
  const actions = tokenActions === undefined ? key.actions : tokenActions & key.actions;
  return { ...caller, key, permissions: { ...permissions, keyScope: key.scope, actions } };
}

/** Why it is not valid any more: what its next request is answered. */
export function refusedNow(
  { app, kind, key, expiresAtMs, author }: Caller,
  { keyring, blocks, nowMs }: CallerChecks,
): Code {
  const isKeyThere = keyring.key(key.id) !== undefined;
  // A secret key whose secret was rotated, or a publishable key whose origins have changed.
  if (kind !== "token") return kind === "open" && isKeyThere ? "origin_not_allowed" : "unauthorized";
  const now = nowMs();
  if (expiresAtMs !== null && expiresAtMs <= now) return "token_expired";
  if (!isKeyThere) return "invalid_token";
  // Otherwise, the secret that has signed it is not valid any more.
  return blocks.isBlocked(app, author.from, now) ? "unauthorized" : "token_expired";
}

/** A secret in its grace period verifies tokens, and opens nothing itself. */
function isSecretLive({ kind, secretSeq }: Caller, key: Exclude<Key, { type: "publishable" }>, nowMs: number): boolean {
  return key.secrets.some(
    (one) => one.seq === secretSeq && isLive(one, nowMs) && (kind === "token" || one.ends === null),
  );
}

export function permit({ permissions }: Caller, channel: string, action: Action): void {
  if (!covers(permissions, channel)) throw new Problem("channel_not_authorized");
  if (!permits(permissions, bitOf(action)))
    throw new Problem("action_not_permitted", `The credential does not permit ${action}.`);
}

/** For what only backends do. */
export function permitManaging(caller: Caller, channel: string): void {
  permit(caller, channel, "publish");
  if (caller.kind !== "secret")
    throw new Problem("action_not_permitted", "Streams are created, closed and deleted with a secret key.");
}
