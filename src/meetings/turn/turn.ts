/**
 * Credentials for TURN servers that share a secret with the service (coturn's `use-auth-secret`): the username says until when it is good,
 * and the credential is computed from it. Nothing is stored, and the TURN server is not asked.
 */
import { createHash, createHmac } from "node:crypto";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import type { IceServer } from "../contract/contract.ts";
import { TURN_CREDENTIAL_SEC, TURN_JOIN_SEC, TURN_NAME_CHARS } from "../contract/limits.ts";

export interface TurnSettings {
  /** PARLEY_TURN_URLS. */
  readonly urls: readonly string[];
  /** PARLEY_TURN_SECRET: the first signs; another one is there only while secrets are changed. */
  readonly secrets: readonly string[];
}

export interface TurnCredential {
  readonly username: string;
  readonly credential: string;
}

export class Turn {
  private readonly secret: string | undefined;
  private readonly relays: readonly string[];
  private readonly stuns: readonly string[];

  constructor({ urls, secrets }: TurnSettings) {
    this.secret = secrets[0];
    this.relays = urls.filter(isRelay);
    this.stuns = urls.filter((url) => !isRelay(url));
  }

  /** Whether there are TURN servers to make credentials for; without them there may still be STUN servers. */
  get hasRelays(): boolean {
    return this.secret !== undefined && this.relays.length > 0;
  }

  /** `expiresAt`: Unix seconds. Only if there are TURN servers. */
  credential(name: string, expiresAt: number): TurnCredential {
    if (this.secret === undefined) throw new Error("there is no secret of TURN servers");
    return credentialOf(this.secret, name, expiresAt);
  }

  /** For RTCPeerConnection: STUN servers first, which need no credential. */
  iceServers(name: string, expiresAt: number): readonly IceServer[] {
    return [
      ...(this.stuns.length > 0 ? [{ urls: this.stuns }] : []),
      ...(this.hasRelays ? [{ urls: this.relays, ...this.credential(name, expiresAt) }] : []),
    ];
  }

  /** For one peer of an application, good for a day. */
  iceServersFor(app: AppId, peer: string, nowMs: number): readonly IceServer[] {
    return this.named(app, peer, Math.floor(nowMs / 1000) + TURN_CREDENTIAL_SEC);
  }

  /** For a person who has joined and may never connect. `address`: a digest of the client's, of IPv6 of its site (/48). */
  iceServersOfJoin(claims: RoomClaims, address: string, nowMs: number): readonly IceServer[] {
    return this.named(claims.app, holderOf(claims, address), Math.floor(nowMs / 1000) + TURN_JOIN_SEC);
  }

  /** For a person who is inside, as long as its connect token is good. */
  iceServersOfStay(claims: RoomClaims, address: string): readonly IceServer[] {
    return this.named(claims.app, holderOf(claims, address), claims.exp);
  }

  private named(app: AppId, who: string, expiresAt: number): readonly IceServer[] {
    return this.hasRelays ? this.iceServers(turnName(app, who), expiresAt) : this.iceServers("", 0);
  }
}

/** How coturn computes it from its `static-auth-secret` and the username. */
export function credentialOf(secret: string, name: string, expiresAt: number): TurnCredential {
  const username = `${expiresAt}:${name}`;
  return { username, credential: createHmac("sha1", secret).update(username, "utf8").digest("base64") };
}

/**
 * Who uses a TURN server, as its quotas and its log see it. A digest, because usernames travel unencrypted and a peer id may be a mail
 * address.
 */
export const turnName = (app: AppId, peer: string): string =>
  `${app}.${createHash("sha256").update(`${app} ${peer}`, "utf8").digest("hex").slice(0, TURN_NAME_CHARS)}`;

/**
 * Whom the quota of a TURN server counts. Each join makes another participantSession, so that cannot be it: a person is known by what the access token says,
 * and a guest by nothing but its address, of IPv6 by its site.
 */
function holderOf({ externalUserId, accessToken }: RoomClaims, address: string): string {
  if (externalUserId !== undefined) return `user ${externalUserId}`;
  return accessToken !== undefined ? `token ${accessToken}` : `guest ${address}`;
}

const isRelay = (url: string): boolean => /^turns?:/.test(url);
