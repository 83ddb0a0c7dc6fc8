/** Guards of the realtime API: a secret key. Those of the control plane are in operator.ts. */
import { authenticate, type Credential, isPrevious } from "../../access/keys/credential.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import type { Guard } from "../server/endpoint.ts";
import { type OperatorGuardParts, type OperatorGuards, operatorGuards } from "./operator.ts";
import { afterLatestChanges, refuseOverRate } from "./refusals.ts";

export interface GuardParts extends OperatorGuardParts {
  readonly keyring: Keyring;
  readonly nowMs: () => number;
  /** Rate of requests per key. */
  readonly requests: Throttle;
}

export interface Guards extends OperatorGuards {
  /** Also admits a previous secret during its grace period, which may only mint. */
  readonly minting: Guard<Credential>;
  readonly secret: Guard<Credential>;
}

export function makeGuards(parts: GuardParts): Guards {
  const credentialOf = (call: Call): Credential | undefined =>
    authenticate(call.request.headers.get("authorization"), parts.keyring, parts.nowMs());
  const latestCredentialOf = (call: Call): Credential | undefined | Promise<Credential | undefined> =>
    credentialOf(call) ?? (parts.storeFollower && afterLatestChanges(parts.storeFollower, () => credentialOf(call)));
  const keyGuard = (isEnough: (credential: Credential) => boolean): Guard<Credential> => {
    const checked = (credential: Credential | undefined): Credential => {
      if (!credential || !isEnough(credential)) throw unauthorized();
      return credential;
    };
    const charge = (call: Call, credential: Credential | undefined): Credential => {
      const valid = checked(credential);
      call.isAuthenticated = true;
      refuseOverRate(parts.requests.take(valid.key.id));
      return valid;
    };
    return {
      security: "secretKey",
      admit: (call) => {
        const credential = latestCredentialOf(call);
        return credential instanceof Promise ? credential.then((one) => charge(call, one)) : charge(call, credential);
      },
      recheck: (call) => checked(credentialOf(call)),
    };
  };
  return {
    minting: keyGuard(() => true),
    secret: keyGuard((credential) => !isPrevious(credential)),
    ...operatorGuards(parts),
  };
}

const unauthorized = (): Problem =>
  new Problem("unauthorized", "The credential must be: Authorization: Bearer <sk_id>:<sk_secret>.");
