/** Guards of the realtime API and the control plane: a secret key, the admin token, or a request from this machine. */
import { rateKey } from "../access/address.ts";
import { authenticate, bearer, type Credential, isPrevious } from "../access/credential.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Operator } from "../access/operator.ts";
import type { Follower } from "../access/store-follower.ts";
import type { Throttle } from "../access/throttle.ts";
import { fits } from "../access/vault.ts";
import { Problem } from "../protocol/codes.ts";
import type { Call } from "./call.ts";
import type { Guard } from "./endpoint.ts";

export interface GuardParts {
  readonly keyring: Keyring;
  readonly nowMs: () => number;
  /** Rate of requests per key. */
  readonly requests: Throttle;
  /** Rate of wrong admin tokens per address. */
  readonly wrongTries: Throttle;
  readonly adminTokenDigest: () => string;
  /** Whether the request names the service by one of its own addresses (own-host.ts). */
  readonly isOwnHost: (call: Call) => boolean;
  /** Present if other nodes can change keys. */
  readonly storeFollower?: Follower | undefined;
}

export interface Guards {
  /** Also admits a previous secret during its grace period, which may only mint. */
  readonly minting: Guard<Credential>;
  readonly secret: Guard<Credential>;
  /** An operator who may change things and see secrets. */
  readonly admin: Guard<Operator>;
  /** Every operator: for what shows neither secrets nor payloads, and changes nothing. */
  readonly operator: Guard<Operator>;
  /** As `operator`, for what a browser loads without our own headers: the tail and files. */
  readonly stream: Guard<Operator>;
  /** For metrics: this machine, or the admin token. */
  readonly observer: Guard<Operator>;
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
  const isAdmin = (call: Call): boolean => {
    const token = bearer(call.request.headers.get("authorization"));
    return token !== undefined && fits(token, parts.adminTokenDigest());
  };
  /** The host is checked too: any web page can make a browser on this machine send requests here under a name of its own. */
  const isObserver = (call: Call): boolean => call.isLocal && parts.isOwnHost(call);
  const ADMIN: Operator = { name: "admin", role: "admin", revoked: new AbortController().signal };
  const adminGuard = (isEnough: (call: Call) => boolean): Guard<Operator> => ({
    security: "admin",
    admit: (call) => {
      // Before the rate: wrong tries of others behind the same address must not lock the operator out (protocol 8).
      if (isEnough(call)) {
        call.isAuthenticated = true;
        return ADMIN;
      }
      const isTry = bearer(call.request.headers.get("authorization")) !== undefined;
      if (isTry) refuseOverRate(parts.wrongTries.take(rateKey(call.client)));
      if (!parts.isOwnHost(call)) throw new Problem("wrong_host");
      throw notAdmin(isTry);
    },
    recheck: (call) => {
      if (!isEnough(call)) throw notAdmin(true);
      return ADMIN;
    },
  });
  return {
    minting: keyGuard(() => true),
    secret: keyGuard((credential) => !isPrevious(credential)),
    admin: adminGuard(isAdmin),
    operator: adminGuard(isAdmin),
    stream: adminGuard(isAdmin),
    observer: adminGuard((call) => isObserver(call) || isAdmin(call)),
  };
}

/** Looks a credential up after the store's latest changes were read: another node may have created it a moment ago. */
export async function afterLatestChanges<T>(
  storeFollower: Follower,
  find: () => T | undefined,
): Promise<T | undefined> {
  const isUpToDate = await storeFollower.catchUp();
  const found = find();
  if (found === undefined && !isUpToDate)
    throw new Problem("internal_error", "This credential cannot be checked at the moment; try again.", 1);
  return found;
}

const unauthorized = (): Problem =>
  new Problem("unauthorized", "The credential must be: Authorization: Bearer <sk_id>:<sk_secret>.");

const notAdmin = (isTry: boolean): Problem =>
  new Problem(
    "unauthorized",
    isTry ? "This is not the admin token." : "The credential must be: Authorization: Bearer <admin token>.",
  );

function refuseOverRate(seconds: number): void {
  if (seconds > 0) throw new Problem("rate_limited", undefined, seconds);
}
