/** Why a token is refused, and what was known of its holder by then. */
import type { AppId } from "../../base/ids.ts";
import { isPeerId } from "../../protocol/names.ts";
import type { TokenCheck } from "../checks.ts";
import type { Keyring, SecretKey } from "../keys/keyring.ts";

/** `reason` is for the holder of the key and the operator; a client that presents the token gets only the code. */
export class TokenRefusal {
  constructor(
    /** `internal_error`: the key's signing secret cannot be decrypted (token.ts); `known` is empty then. */
    readonly code: "invalid_token" | "token_expired" | "internal_error" | "rate_limited",
    readonly reason: string,
    readonly check: TokenCheck,
    /** This node's copy of the key may be stale: another node may have just changed it in a way that would let the token in. */
    readonly mayBeStale = false,
    /**
     * What the comparison with the key's patterns has cost, in requests beyond this one. They are charged to the key already; the
     * gateway charges as many connects to the address.
     */
    readonly extraRequests = 0,
    /** Only with the code `rate_limited`. */
    readonly retryAfterSeconds?: number,
    /** What the checks before had found out, for operators. */
    readonly known: KnownOfClient = {},
  ) {}

  /** The same refusal, of a client of which this is known. */
  with(known: KnownOfClient): TokenRefusal {
    const { code, reason, check, mayBeStale, extraRequests, retryAfterSeconds } = this;
    return new TokenRefusal(code, reason, check, mayBeStale, extraRequests, retryAfterSeconds, known);
  }

  /** The same refusal of a token that names this key. `sub` is given only if the token's signature is good. */
  of(key: SecretKey, sub?: unknown): TokenRefusal {
    return this.with({ app: key.app, keyId: key.id, ...(isPeerId(sub) && { peerId: sub }) });
  }
}

/** What is known of a client whose connect is refused. */
export interface KnownOfClient {
  readonly app?: AppId;
  readonly keyId?: string;
  readonly peerId?: string;
  /** The key is revoked. The client gets the same answer as for an unknown key. */
  readonly isRevoked?: true;
  /** What a client that belongs to no application has sent instead of a known key (tokens/offered.ts). */
  readonly offered?: string;
}

/** What is known of a client whose key is not live. `offered`: only for an unknown one. */
export function knownByKey(keyId: string, keyring: Keyring, offered: string): KnownOfClient {
  const app = keyring.revoked.appOf(keyId);
  return app === undefined ? { offered } : { app, keyId, isRevoked: true };
}

export const invalid = (check: TokenCheck, reason: string): TokenRefusal =>
  new TokenRefusal("invalid_token", reason, check);
export const possiblyStale = (check: TokenCheck, reason: string, extraRequests?: number): TokenRefusal =>
  new TokenRefusal("invalid_token", reason, check, true, extraRequests);
export const expired = (check: TokenCheck, reason: string): TokenRefusal =>
  new TokenRefusal("token_expired", reason, check);
export const inDebt = (seconds: number, extraRequests: number): TokenRefusal =>
  new TokenRefusal(
    "rate_limited",
    "checking earlier tokens has used up the key's rate limit",
    "scope",
    false,
    extraRequests,
    seconds,
  );
