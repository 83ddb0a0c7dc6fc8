/**
 * Connect tokens: JWTs signed with HS256, because we say so and not because a header does.
 *
 * A token gains trust step by step, in this order, and each step takes only what the one before it gave:
 * parse (text → parts; only `kid` is looked at, as a name to look up) → find the key → verify the signature → expiry →
 * decode the claims → authorize them against the key.
 */
import { type Action, type ActionSet, actionSet, isAction, isSubset } from "../protocol/actions.ts";
import { containmentBudget, type Glob, parseGlob, Scope } from "../protocol/glob.ts";
import { isObject, type JsonObject, jsonBytes } from "../protocol/json.ts";
import {
  REQUEST_HEAD_MAX_BYTES,
  TOKEN_CHANNELS_MAX,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_MIN_LEFT_MS,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
  TOKEN_SKEW_SECONDS,
} from "../protocol/limits.ts";
import { isPeerId } from "../protocol/names.ts";
import { rawValue } from "../protocol/scan.ts";
import { isSignedBy, type ParsedJws, parseJws, parseUtf8Json, signJws, UTF8 } from "./jws.ts";
import { isLive, type Keyring, type SecretKey, type SigningSecret } from "./keyring.ts";

export interface Claims {
  readonly sub: string;
  readonly exp: number;
  readonly iat?: number;
  readonly channels?: readonly string[];
  readonly permissions?: readonly Action[];
  readonly metadata?: JsonObject;
  readonly peerMetadata?: JsonObject;
}

/** A token that may connect. */
export interface VerifiedToken {
  readonly key: SecretKey;
  /** The secret that verified it: when its grace ends, so does the connection. */
  readonly secret: SigningSecret;
  readonly peerId: string;
  /** min(exp, min(iat, now) + 24 h). */
  readonly expiresAtMs: number;
  /** undefined: the token names none, so the key's own scope holds. */
  readonly scope: Scope | undefined;
  readonly actions: ActionSet;
  /** The token names its permissions; otherwise they are whatever the key has. */
  readonly hasActions: boolean;
  /** The claims' own text: they are handed on byte for byte. */
  readonly metadataJson: string | undefined;
  readonly peerMetadataJson: string | undefined;
}

/** `reason` is for the holder of the key and the operator; somebody who merely shows a token learns the code only. */
export class TokenRefusal {
  constructor(
    readonly code: "invalid_token" | "token_expired" | "internal_error",
    readonly reason: string,
    /** The key as another node may have changed it just now could let it in. */
    readonly isPerhapsEarly = false,
  ) {}
}

const invalid = (reason: string): TokenRefusal => new TokenRefusal("invalid_token", reason);
const early = (reason: string): TokenRefusal => new TokenRefusal("invalid_token", reason, true);
const expired = (reason: string): TokenRefusal => new TokenRefusal("token_expired", reason);

const SEALED = new TokenRefusal(
  "internal_error",
  "the key's signing secret cannot be decrypted: the master key does not fit",
);

export const signToken = (claims: Claims, keyId: string, secret: Pick<SigningSecret, "hmacKey">): string =>
  signJws({ kid: keyId }, claims, secret.hmacKey);

export function verifyToken(token: string, keyring: Keyring, nowMs: number): VerifiedToken | TokenRefusal {
  const parsed = parseToken(token);
  if (parsed instanceof TokenRefusal) return parsed;
  const key = keyring.key(parsed.kid);
  if (!key || key.type === "publishable") return early("kid does not name a live secret key");
  if (key.type === "sealed") return SEALED;
  const signed = verifySignature(parsed, key, nowMs);
  if (signed instanceof TokenRefusal) return signed;
  const payload = parsePayload(parsed.payload);
  if (payload instanceof TokenRefusal) return payload;
  const expiresAtMs = effectiveExpiry(payload, nowMs);
  if (expiresAtMs instanceof TokenRefusal) return expiresAtMs;
  const claims = decodeClaims(payload, nowMs);
  if (claims instanceof TokenRefusal) return claims;
  return authorize(claims, signed.key, signed.secret, expiresAtMs, UTF8.decode(parsed.payload));
}

interface ParsedToken extends ParsedJws {
  readonly kid: string;
}

function parseToken(token: string): ParsedToken | TokenRefusal {
  const parsed = parseJws(token, REQUEST_HEAD_MAX_BYTES);
  if (typeof parsed === "string") return invalid(parsed);
  const { kid } = parsed.header;
  return typeof kid === "string" ? { ...parsed, kid } : invalid("the header's kid must be the id of a secret key");
}

function verifySignature(
  token: ParsedToken,
  key: SecretKey,
  nowMs: number,
): { key: SecretKey; secret: SigningSecret } | TokenRefusal {
  const signedBy = (secret: SigningSecret): boolean => isSignedBy(token, secret.hmacKey);
  const secret = key.secrets.find((one) => isLive(one, nowMs) && signedBy(one));
  if (secret) return { key, secret };
  return key.secrets.some((one) => !isLive(one, nowMs) && signedBy(one))
    ? expired("it was signed with a secret that has been retired since")
    : early("its signature does not fit any secret of that key");
}

const parsePayload = (bytes: Buffer): JsonObject | TokenRefusal => {
  const payload = parseUtf8Json(bytes);
  return isObject(payload) ? payload : invalid("its payload is not a JSON object, or has a key twice");
};

const isTime = (value: unknown): value is number => Number.isSafeInteger(value);

function effectiveExpiry(payload: JsonObject, nowMs: number): number | TokenRefusal {
  const { exp, iat } = payload;
  if (!isTime(exp)) return invalid("exp must be a whole number of Unix seconds");
  if (iat !== undefined && !isTime(iat)) return invalid("iat must be a whole number of Unix seconds");
  const issuedMs = iat === undefined ? Number.POSITIVE_INFINITY : Math.min(iat * 1000, nowMs);
  const expiresAtMs = Math.min(exp * 1000, issuedMs + TOKEN_MAX_SECONDS * 1000);
  if (expiresAtMs - nowMs < TOKEN_MIN_LEFT_MS)
    return expired(expiresAtMs < exp * 1000 ? "24 hours have passed since its iat" : "its exp has passed");
  return expiresAtMs;
}

interface DecodedClaims {
  readonly sub: string;
  readonly channels: readonly Glob[] | undefined;
  readonly permissions: ActionSet | undefined;
}

function decodeClaims(payload: JsonObject, nowMs: number): DecodedClaims | TokenRefusal {
  const { sub, exp, iat, nbf, iss, channels, permissions, metadata, peerMetadata } = payload;
  if (!isPeerId(sub)) return invalid("sub must be 1 to 128 printable ASCII characters");
  for (const [name, time] of Object.entries({ nbf, iat })) {
    if (time === undefined) continue;
    if (!isTime(time)) return invalid(`${name} must be a whole number of Unix seconds`);
    if (time * 1000 > nowMs + TOKEN_SKEW_SECONDS * 1000)
      return invalid(`${name} lies more than ${TOKEN_SKEW_SECONDS} s ahead`);
  }
  if (iat === undefined && (exp as number) * 1000 > nowMs + TOKEN_MAX_SECONDS * 1000)
    return invalid("without iat, exp must lie at most 24 hours ahead");
  if (iss !== undefined && typeof iss !== "string") return invalid("iss must be a string");
  const globs = decodeChannels(channels);
  if (typeof globs === "string") return invalid(globs);
  if (permissions !== undefined && !isPermissions(permissions))
    return invalid(
      `permissions must be a list of at most ${TOKEN_PERMISSIONS_MAX} of publish, subscribe, presence, send`,
    );
  if (!isBag(metadata, TOKEN_METADATA_MAX_BYTES))
    return invalid(`metadata must be an object of at most ${TOKEN_METADATA_MAX_BYTES} bytes`);
  if (!isBag(peerMetadata, TOKEN_PEER_METADATA_MAX_BYTES))
    return invalid(`peerMetadata must be an object of at most ${TOKEN_PEER_METADATA_MAX_BYTES} bytes`);
  return { sub, channels: globs, permissions: permissions && actionSet(permissions) };
}

/** Globs, undefined if the claim is absent, or what is wrong with it. */
function decodeChannels(channels: unknown): Glob[] | undefined | string {
  if (channels === undefined) return undefined;
  if (!Array.isArray(channels) || channels.length > TOKEN_CHANNELS_MAX)
    return `channels must be a list of at most ${TOKEN_CHANNELS_MAX} names or patterns`;
  const globs: Glob[] = [];
  for (const channel of channels) {
    const glob = typeof channel === "string" ? parseGlob(channel) : "each must be a string";
    if (typeof glob === "string") return `channels: ${glob}`;
    globs.push(glob);
  }
  return globs;
}

const isPermissions = (value: unknown): value is Action[] =>
  Array.isArray(value) && value.length <= TOKEN_PERMISSIONS_MAX && value.every(isAction);

const isBag = (value: unknown, maxBytes: number): value is JsonObject | undefined =>
  value === undefined || (isObject(value) && jsonBytes(value) <= maxBytes);

/** Elevation is refused whole, not trimmed. */
function authorize(
  claims: DecodedClaims,
  key: SecretKey,
  secret: SigningSecret,
  expiresAtMs: number,
  payloadText: string,
): VerifiedToken | TokenRefusal {
  const outside = firstUncovered(claims.channels ?? [], key.scope);
  if (outside) return early(`channels: ${JSON.stringify(outside.source)} is not covered by the key's patterns`);
  const actions = claims.permissions ?? key.actions;
  if (!isSubset(actions, key.actions)) return early("permissions exceed the key's actions");
  return {
    key,
    secret,
    peerId: claims.sub,
    expiresAtMs,
    scope: claims.channels && new Scope(claims.channels),
    actions,
    hasActions: claims.permissions !== undefined,
    metadataJson: rawValue(payloadText, "metadata"),
    peerMetadataJson: copied(rawValue(payloadText, "peerMetadata")),
  };
}

/** A slice keeps the text it was cut from alive: what lives as long as a connection gets a text of its own. */
const copied = (text: string | undefined): string | undefined => text && Buffer.from(text).toString();

/** The first pattern that a scope does not contain. One budget for all of them: a token is one piece of work. */
export function firstUncovered(globs: readonly Glob[], scope: Scope): Glob | undefined {
  const budget = containmentBudget();
  return globs.find((glob) => !scope.covers(glob, budget));
}
