/** Turns a connect request into a grant or a refusal: checks 4 to 13 of the connect (protocol, section 1), in their order. */
import { randomUUID } from "node:crypto";
import { roomSpaceOf, type SpaceId, spaceOf } from "../../base/ids.ts";
import { hasMoreFields } from "../../base/query-fields.ts";
import type { ActionSet } from "../../protocol/actions.ts";
import type { Code } from "../../protocol/codes.ts";
import { originAllowed } from "../../protocol/origin.ts";
import type { Scope } from "../../protocol/patterns/scope.ts";
import { type AdmitCheck, BLOCK_CHECK } from "../checks.ts";
import { isLiveRoomToken } from "../keys/app-secret.ts";
import type { KeyRate } from "../keys/coverage.ts";
import type { Keyring, PublishableKey, SecretKey } from "../keys/keyring.ts";
import { NO_CREDENTIAL, offeredKey } from "../tokens/offered.ts";
import { isRoomToken, type RoomSeat, type RoomTokens, seatMetadata, seatOf } from "../tokens/room-token.ts";
import { verifyToken } from "../tokens/token.ts";
import { type KnownOfClient, knownByKey, TokenRefusal } from "../tokens/token-refusal.ts";
import type { Blocks } from "./blocks.ts";

/** The result of admission; it lives as long as the connection. `seat` tells the two kinds apart. */
export type Grant = KeyGrant | RoomGrant;

interface AnyGrant {
  /** The space that the connection lives in: that of the application, or that of its rooms (base/ids.ts). */
  readonly spaceId: SpaceId;
  readonly peerId: string;
  readonly expiresAtMs: number | null;
  /** Sent once, in `welcome`. */
  readonly metadataJson: string | undefined;
  /** What the check has cost, in connects beyond this one. */
  readonly extraConnects: number;
}

/** The client has connected with a publishable key, or with a token that a secret key has signed. */
export interface KeyGrant extends AnyGrant {
  readonly key: PublishableKey | SecretKey;
  /** The token's own claims; undefined where the key's apply. */
  readonly tokenScope: Scope | undefined;
  readonly tokenActions: ActionSet | undefined;
  /** Which of the key's secrets verified the token, and until when that secret is valid. */
  readonly secretSeq: number | undefined;
  readonly secretEndsMs: number | null;
  readonly peerMetadataJson: string | undefined;
  readonly seat: undefined;
}

/** The client has connected with a token of a room, which no key has signed. */
export interface RoomGrant extends AnyGrant {
  /** The place in the room: it alone decides what the connection may do. */
  readonly seat: RoomSeat;
}

/** Stands for the id of a key where there is none: connections of rooms, between nodes, in the notes of a node and in what operators see. */
export const NO_KEY = "";

export class Refusal {
  constructor(
    readonly code: Code,
    /** For the log. */
    readonly reason: string,
    readonly check: AdmitCheck,
    /** This node's copy of the key may be stale: another node may have just changed it in a way that would let the client in. */
    readonly mayBeStale = false,
    /** What the check has cost, in connects beyond this one. */
    readonly extraConnects = 0,
    /** Only with the code `rate_limited`. */
    readonly retryAfterSeconds?: number,
    /** What the checks before had found out, for operators. */
    readonly known: KnownOfClient = {},
  ) {}
}

export interface ConnectRequest {
  /** Without the question mark. */
  readonly query: string;
  readonly origin: string | null;
}

export interface AdmitParts {
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  /** Charged for tokens that are costly to check. */
  readonly keyRate: KeyRate;
  /** Absent where there are no rooms: their tokens are refused. */
  readonly roomTokens?: Pick<RoomTokens, "verify"> | undefined;
}

/** A token and nothing else, as almost every connect sends it: nothing in it is encoded. */
const ONLY_TOKEN = /^token=[\w.-]+$/;
const TOKEN_AT = "token=".length;

/** A client needs one, and may send some that are ignored. */
const QUERY_FIELDS_MAX = 64;

export function admit(request: ConnectRequest, parts: AdmitParts, nowMs: number): Grant | Refusal {
  const text = request.query;
  if (ONLY_TOKEN.test(text)) return admitToken(text.slice(TOKEN_AT), parts, nowMs);
  if (hasMoreFields(text, QUERY_FIELDS_MAX)) return noCredential(`more than ${QUERY_FIELDS_MAX} parameters`);
  const query = new URLSearchParams(text);
  const keys = query.getAll("key");
  const tokens = query.getAll("token");
  if (keys.length + tokens.length !== 1) return noCredential("send exactly one of key and token");
  return keys[0] === undefined
    ? admitToken(tokens[0] ?? "", parts, nowMs)
    : withKey(keys[0], request.origin, parts.keyring);
}

const noCredential = (reason: string): Refusal =>
  new Refusal("unauthorized", reason, "credential", false, 0, undefined, { offered: NO_CREDENTIAL });

function withKey(id: string, origin: string | null, keyring: Keyring): Grant | Refusal {
  const key = keyring.key(id);
  if (key?.type !== "publishable")
    return new Refusal(
      "unauthorized",
      "no live publishable key has this id",
      "key",
      true,
      0,
      undefined,
      knownByKey(id, keyring, offeredKey(id)),
    );
  // Only browsers send an Origin, and the rule protects only them: without one there is nothing to check.
  if (origin !== null && !originAllowed(origin, key.origins))
    return new Refusal("origin_not_allowed", "origin not allowed", "origin", true, 0, undefined, {
      app: key.app,
      keyId: id,
    });
  return {
    spaceId: spaceOf(key.app),
    key,
    peerId: randomUUID(),
    tokenScope: undefined,
    tokenActions: undefined,
    secretSeq: undefined,
    secretEndsMs: null,
    expiresAtMs: null,
    peerMetadataJson: undefined,
    metadataJson: undefined,
    extraConnects: 0,
    seat: undefined,
  };
}

/** Checks 7 to 13, of a connect or of a renewal. */
export function admitToken(token: string, parts: AdmitParts, nowMs: number): Grant | Refusal {
  const { keyring, blocks, keyRate, roomTokens } = parts;
  if (isRoomToken(token)) return withRoomToken(token, roomTokens, keyring, nowMs);
  const verified = verifyToken(token, keyring, nowMs, keyRate);
  const { extraRequests } = verified;
  if (verified instanceof TokenRefusal) {
    const { code, reason, check, mayBeStale, retryAfterSeconds, known } = verified;
    return new Refusal(code, reason, check, mayBeStale, extraRequests, retryAfterSeconds, known);
  }
  const { key, secret, peerId } = verified;
  if (blocks.isBlocked(key.app, peerId, nowMs))
    return new Refusal("unauthorized", "the peer is blocked", BLOCK_CHECK, false, extraRequests, undefined, {
      app: key.app,
      keyId: key.id,
      peerId,
    });
  return {
    spaceId: spaceOf(key.app),
    key,
    peerId,
    tokenScope: verified.scope,
    tokenActions: verified.restrictsActions ? verified.actions : undefined,
    secretSeq: secret.seq,
    secretEndsMs: secret.ends,
    expiresAtMs: verified.expiresAtMs,
    peerMetadataJson: verified.peerMetadataJson,
    metadataJson: verified.metadataJson,
    extraConnects: extraRequests,
    seat: undefined,
  };
}

/** Whether its holder may be in the room now is decided by meetings, after this. */
function withRoomToken(
  token: string,
  roomTokens: AdmitParts["roomTokens"],
  keyring: Keyring,
  nowMs: number,
): Grant | Refusal {
  const claims = roomTokens?.verify(token, nowMs);
  if (claims === undefined)
    return new Refusal("invalid_token", "it is not a room token from this service", "signature");
  if (claims === "expired") return new Refusal("token_expired", "it has expired", "expiry");
  const { app, id: peerId } = claims;
  const row = keyring.app(app);
  if (!row) return new Refusal("invalid_token", "its application does not exist", "token key", true);
  if (!isLiveRoomToken(row, claims, nowMs))
    return new Refusal("token_expired", "the application's secret key was rotated", "expiry");
  return {
    spaceId: roomSpaceOf(app),
    peerId,
    expiresAtMs: claims.exp * 1000,
    metadataJson: undefined,
    extraConnects: 0,
    seat: seatOf(claims),
  };
}

export const keyIdOf = (grant: Grant): string => (grant.seat ? NO_KEY : grant.key.id);

/** Whether its welcome brings ICE servers: for keys with the field `turn`, and for people inside a room. */
export const bringsTurn = (grant: Grant): boolean => (grant.seat ? grant.seat.claims.kind === "stay" : grant.key.turn);

/** What the others are shown of a peer; read when it is needed, because the room decides about the name after admission, and a stay can be renamed. */
export const peerMetadataOf = (grant: Grant): string | undefined =>
  grant.seat ? seatMetadata(grant.seat) : grant.peerMetadataJson;
