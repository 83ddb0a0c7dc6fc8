/** Who may call: the holder of a secret key, the operator, or a look from this machine. */
import { rateKey } from "../access/address.ts";
import { authenticate, bearer, type Credential, isPrevious } from "../access/credential.ts";
import type { News } from "../access/follow.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Throttle } from "../access/throttle.ts";
import { fits } from "../access/vault.ts";
import { Problem } from "../protocol/codes.ts";
import type { Call } from "./call.ts";
import type { Guard } from "./endpoint.ts";

export interface GuardParts {
  readonly keyring: Keyring;
  readonly nowMs: () => number;
  /** Per key. */
  readonly requests: Throttle;
  /** Wrong admin tokens, per address. */
  readonly wrongTries: Throttle;
  readonly adminTokenDigest: () => string;
  /** Where other nodes change keys too. */
  readonly news?: News | undefined;
}

export interface Guards {
  /** A previous secret in its grace may mint, and nothing else. */
  readonly minting: Guard<Credential>;
  readonly secret: Guard<Credential>;
  readonly admin: Guard<undefined>;
  /** For metrics: this machine, or the admin token. */
  readonly observer: Guard<undefined>;
}

export function makeGuards(parts: GuardParts): Guards {
  const shownBy = (call: Call): Credential | undefined =>
    authenticate(call.request.headers.get("authorization"), parts.keyring, parts.nowMs());
  const found = (call: Call): Credential | undefined | Promise<Credential | undefined> =>
    shownBy(call) ?? (parts.news && perhapsEarly(parts.news, () => shownBy(call)));
  const limitedBy = (credential: Credential | undefined, isEnough: (credential: Credential) => boolean): Credential => {
    if (!credential || !isEnough(credential)) throw unauthorized();
    limited(parts.requests.take(credential.key.id));
    return credential;
  };
  const admitting =
    (isEnough: (credential: Credential) => boolean) =>
    (call: Call): Credential | Promise<Credential> => {
      const credential = found(call);
      return credential instanceof Promise
        ? credential.then((one) => limitedBy(one, isEnough))
        : limitedBy(credential, isEnough);
    };
  const minting = admitting(() => true);
  const secret = admitting((credential) => !isPrevious(credential));
  const admin = (call: Call): undefined => {
    const shown = bearer(call.request.headers.get("authorization"));
    const from = rateKey(call.client);
    limited(parts.wrongTries.wait(from));
    if (shown === undefined)
      throw new Problem("unauthorized", "The credential must be: Authorization: Bearer <admin token>.");
    if (fits(shown, parts.adminTokenDigest())) return;
    parts.wrongTries.take(from);
    throw new Problem("unauthorized", "This is not the admin token.");
  };
  return {
    minting: { security: "secretKey", admit: minting },
    secret: { security: "secretKey", admit: secret },
    admin: { security: "admin", admit: admin },
    observer: { security: "admin", admit: (call) => (call.isLocal ? undefined : admin(call)) },
  };
}

/** Another node may have made or changed it a moment ago: it is looked at again when that is known. */
export async function perhapsEarly<T>(news: News, look: () => T | undefined): Promise<T | undefined> {
  const isKnown = await news.latest();
  const found = look();
  if (found === undefined && !isKnown)
    throw new Problem("internal_error", "Whether this credential is good cannot be found out now; try again.", 1);
  return found;
}

const unauthorized = (): Problem =>
  new Problem("unauthorized", "The credential must be: Authorization: Bearer <sk_id>:<sk_secret>.");

function limited(seconds: number): void {
  if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
}
