/**
 * Admits requests for streams. Each carries one credential: a secret key or a connect token in the Authorization header, or, for clients
 * that cannot set headers, a token or a publishable key in the query.
 */
import { randomUUID } from "node:crypto";
import {
  type AdmitParts,
  admit,
  admitToken,
  type Grant,
  type KeyGrant,
  Refusal,
} from "../../access/admission/admit.ts";
import { permissionsOf } from "../../access/admission/permissions.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import { authenticate, bearer, type Credential, isPrevious } from "../../access/keys/credential.ts";
import { isRoomToken } from "../../access/tokens/room-token.ts";
import { rateKey } from "../../base/address.ts";
import { appOfSpace } from "../../base/ids.ts";
import { hasMoreFields } from "../../base/query-fields.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import { afterLatestChanges, refuseOverRate } from "../guards/refusals.ts";
import { QUERY_FIELDS_MAX } from "../limits.ts";
import type { Call } from "../request/call.ts";
import { type Caller, type CallerChecks, callerNow, refusedNow } from "./caller.ts";
import { allowKey, allowOrigins } from "./cross-origin.ts";

interface CredentialParts extends Omit<AdmitParts, "roomTokens" | "keyRate">, Pick<CallerChecks, "nowMs"> {
  /** Rate of requests per secret key, the same as for REST. */
  readonly keyRate: Throttle;
  /** Rate of requests with tokens, per peer, and with publishable keys, per address. */
  readonly callers: Throttle;
  /** Rate of connects per address, which pays for tokens that are costly to check. */
  readonly connects: Throttle;
  /** `undefined` if no other node can change keys. */
  readonly storeFollower: Follower | undefined;
}

type Sent =
  | { readonly kind: "secret"; readonly header: string }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "open"; readonly key: string };

const ONE_CREDENTIAL =
  "Send exactly one credential: Authorization: Bearer <sk_id>:<sk_secret>, Authorization: Bearer <connect token>, ?token= or ?key=.";

export class Credentials {
  constructor(private readonly parts: CredentialParts) {}

  admit(call: Call): Caller | Promise<Caller> {
    const sent = sentIn(call);
    if (sent.kind === "secret") return this.withSecret(call, sent.header);
    // Refusals too: a page could not tell its reader otherwise why nothing comes.
    allowOrigins(call, "*");
    return sent.kind === "token"
      ? this.granted(call, () => this.admitToken(call, sent.token))
      : this.granted(call, () => this.admitKey(call, sent.key));
  }

  /** Checks a credential again after an await. Throws if it is not valid any more. */
  recheck(caller: Caller): Caller {
    const now = callerNow(caller, this.parts);
    if (now) return now;
    throw new Problem(refusedNow(caller, this.parts));
  }

  private withSecret(call: Call, header: string): Caller | Promise<Caller> {
    const { keyring, nowMs, storeFollower, keyRate } = this.parts;
    const find = (): Credential | undefined => authenticate(header, keyring, nowMs());
    const charged = (credential: Credential | undefined): Caller => {
      if (!credential || isPrevious(credential))
        throw new Problem("unauthorized", "The credential must be: Authorization: Bearer <sk_id>:<sk_secret>.");
      call.isAuthenticated = true;
      refuseOverRate(keyRate.take(credential.key.id));
      return callerWithSecret(credential);
    };
    const credential = find();
    return credential || !storeFollower ? charged(credential) : afterLatestChanges(storeFollower, find).then(charged);
  }

  private granted(call: Call, find: () => Grant | Refusal): Caller | Promise<Caller> {
    const { storeFollower } = this.parts;
    const first = find();
    if (!(first instanceof Refusal && first.mayBeStale && storeFollower)) return this.charged(call, first);
    let last = first;
    const findLater = (): Grant | undefined => {
      const found = find();
      if (!(found instanceof Refusal)) return found;
      last = found;
      return undefined;
    };
    return afterLatestChanges(storeFollower, findLater).then((found) => this.charged(call, found ?? last));
  }

  private charged(call: Call, grant: Grant | Refusal): Caller {
    if (grant instanceof Refusal) throw new Problem(grant.code, undefined, grant.retryAfterSeconds);
    if (grant.seat) throw new Problem("invalid_token");
    call.isAuthenticated = true;
    const isToken = grant.key.type === "secret";
    if (!isToken) allowKey(call, grant.key.type === "publishable" ? grant.key.origins : []);
    const app = appOfSpace(grant.spaceId);
    refuseOverRate(this.parts.callers.take(isToken ? `${app} ${grant.peerId}` : rateKey(call.client)));
    return callerWithGrant(grant, isToken ? null : call.request.headers.get("origin"));
  }

  private admitToken(call: Call, token: string): Grant | Refusal {
    if (isRoomToken(token)) return new Refusal("invalid_token", "it is of a room", "signature");
    const admitted = admitToken(token, this.parts, this.parts.nowMs());
    if (admitted.extraConnects > 0) this.parts.connects.charge(rateKey(call.client), admitted.extraConnects);
    return admitted;
  }

  private admitKey(call: Call, key: string): Grant | Refusal {
    const origin = call.request.headers.get("origin");
    return admit({ query: `key=${encodeURIComponent(key)}`, origin }, this.parts, this.parts.nowMs());
  }
}

function sentIn({ request }: Call): Sent {
  const header = request.headers.get("authorization");
  const { url } = request;
  const from = url.indexOf("?") + 1;
  if (from > 0 && hasMoreFields(url, QUERY_FIELDS_MAX, from)) throw new Problem("unauthorized", ONE_CREDENTIAL);
  const query = new URLSearchParams(from === 0 ? "" : url.slice(from));
  const tokens = query.getAll("token");
  const keys = query.getAll("key");
  if (tokens.length + keys.length + Number(header !== null) !== 1) throw new Problem("unauthorized", ONE_CREDENTIAL);
  if (keys[0] !== undefined) return { kind: "open", key: keys[0] };
  const token = tokens[0] ?? bearer(header);
  return tokens[0] !== undefined || (token !== undefined && !token.includes(":"))
    ? { kind: "token", token: token ?? "" }
    : { kind: "secret", header: header ?? "" };
}

function callerWithSecret({ key, secret }: Credential): Caller {
  return {
    kind: "secret",
    app: key.app,
    key,
    permissions: {
      keyScope: key.scope,
      tokenScope: undefined,
      tokenActions: undefined,
      actions: key.actions,
      seat: undefined,
    },
    author: { from: "server", metadataJson: undefined },
    owner: key.id,
    expiresAtMs: null,
    secretSeq: secret.seq,
    origin: null,
  };
}

function callerWithGrant(grant: KeyGrant, origin: string | null): Caller {
  const { key, peerId, peerMetadataJson, expiresAtMs, secretSeq } = grant;
  const isToken = key.type === "secret";
  return {
    kind: isToken ? "token" : "open",
    app: key.app,
    key,
    permissions: permissionsOf(grant),
    author: { from: isToken ? peerId : randomUUID(), metadataJson: peerMetadataJson },
    // No id of a key begins like this.
    owner: isToken ? `peer:${peerId}` : key.id,
    expiresAtMs,
    secretSeq,
    origin,
  };
}
