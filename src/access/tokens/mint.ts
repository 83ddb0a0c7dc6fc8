/**
 * Minting: the rules by which a secret key's holder gets a connect token from us. A backend that signs its own tokens follows the
 * rules of token.ts alone; a minted token always satisfies those.
 */
import {
  ACTIONS,
  type Action,
  type ActionSet,
  actionList,
  actionSet,
  isAction,
  isSubset,
} from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import { isReserved } from "../../protocol/names.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { firstUncovered, type KeyRate, TOO_COMPLEX } from "../keys/coverage.ts";
import { type Credential, canSign } from "../keys/credential.ts";
import { TOKEN_CONNECT_MARGIN_MS, TOKEN_DEFAULT_SECONDS, TOKEN_MAX_SECONDS, TOKEN_MIN_LEFT_MS } from "../limits.ts";
import { type RawClaims, signToken } from "./token.ts";

/** Shapes and sizes are validated; which actions exist, and what the key allows, is decided here. */
export interface MintRequest {
  readonly peerId: string;
  /** Names or patterns. If undefined, the token gets all channels of the key. */
  readonly channels: readonly string[] | undefined;
  /** If undefined, the token gets all actions of the key. */
  readonly permissions: readonly string[] | undefined;
  /** If undefined, TOKEN_DEFAULT_SECONDS applies. */
  readonly expiresInSec: number | undefined;
  /** `metadata` and `peerMetadata`, each as its JSON text. */
  readonly raw: RawClaims;
}

export interface MintedToken {
  readonly token: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly channels: string[];
  readonly permissions: Action[];
}

/** Throws a Problem where the key does not allow what is asked for. */
export function mintToken(credential: Credential, request: MintRequest, rate: KeyRate, nowMs: number): MintedToken {
  const { key } = credential;
  const { peerId, channels, raw } = request;
  const exp = expiry(request.expiresInSec, credential.secret.ends, nowMs);
  if (channels) checkChannels(channels, key, rate);
  const permissions = request.permissions && permitted(request.permissions, key.actions);
  if (!canSign(credential)) throw new Problem("internal_error", "The key has no usable signing secret right now.");
  const claims = {
    sub: peerId,
    exp,
    iat: Math.floor(nowMs / 1000),
    ...(channels && { channels }),
    ...(permissions && { permissions }),
  };
  return {
    token: signToken(claims, key.id, credential.secret, raw),
    expiresAt: exp,
    channels: [...(channels ?? key.scope.patterns)],
    permissions: permissions ?? actionList(key.actions),
  };
}

/**
 * In whole Unix seconds, rounded up. A connect needs TOKEN_MIN_LEFT_MS of its token, so the shortest ones get a margin: otherwise
 * they could expire before their first use. Never more than TOKEN_MAX_SECONDS after `iat`.
 *
 * A token signed by a previous secret expires no later than that secret's grace period ends: a longer lifetime is refused if it was
 * requested, and the default is shortened. If that leaves too little for a connect, nothing is minted.
 */
function expiry(requestedSeconds: number | undefined, secretEndsMs: number | null, nowMs: number): number {
  const seconds = requestedSeconds ?? TOKEN_DEFAULT_SECONDS;
  const lifetimeMs = Math.max(seconds * 1000, TOKEN_MIN_LEFT_MS + TOKEN_CONNECT_MARGIN_MS);
  const exp = Math.min(Math.ceil((nowMs + lifetimeMs) / 1000), Math.floor(nowMs / 1000) + TOKEN_MAX_SECONDS);
  if (secretEndsMs === null) return exp;
  const left = Math.floor((secretEndsMs - nowMs) / 1000);
  const shortened = Math.min(exp, Math.floor(secretEndsMs / 1000));
  const isUsable = shortened * 1000 - nowMs >= TOKEN_MIN_LEFT_MS + TOKEN_CONNECT_MARGIN_MS;
  if (isUsable && (requestedSeconds === undefined || requestedSeconds <= left)) return shortened;
  throw new Problem(
    "invalid_request",
    `expiresInSec: this secret was rotated and expires in ${left} s; use the new secret.`,
  );
}

/** Errors name the position instead of the value, because people put secrets into the wrong field. */
function checkChannels(channels: readonly string[], key: Credential["key"], rate: KeyRate): void {
  const globs = channels.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
  const reserved = globs.findIndex((glob) => isReserved(glob.source));
  if (reserved >= 0)
    throw new Problem("channel_not_authorized", `channels.${reserved}: this name is reserved for the service.`);
  const { uncovered } = firstUncovered(globs, key, rate);
  if (!uncovered) return;
  if (uncovered.why === "in debt") throw new Problem("rate_limited", undefined, uncovered.retryAfterSeconds);
  const field = `channels.${globs.indexOf(uncovered.glob)}`;
  if (uncovered.why === "undecided") throw new Problem("invalid_request", `${field}: ${TOO_COMPLEX}.`);
  throw new Problem("channel_not_authorized", `${field}: the key does not cover it.`);
}

const ALL_ACTIONS = `${ACTIONS.slice(0, -1).join(", ")} or ${ACTIONS.at(-1)}`;

function permitted(permissions: readonly string[], allowed: ActionSet): Action[] {
  const unknown = permissions.findIndex((one) => !isAction(one));
  if (unknown >= 0)
    throw new Problem("action_not_permitted", `permissions.${unknown}: not an action; use ${ALL_ACTIONS}.`);
  const actions = permissions.filter(isAction);
  const refused = actions.findIndex((one) => !isSubset(actionSet([one]), allowed));
  if (refused < 0) return actions;
  throw new Problem("action_not_permitted", `permissions.${refused}: the key does not permit it.`);
}
