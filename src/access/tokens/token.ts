/**
 * Connect tokens: JWTs with HS256, the only algorithm we accept, whatever the header says.
 *
 * Verification adds trust step by step, and the functions below are in that order. Each step runs only if the previous ones
 * succeeded: parse the token (text → parts; only `kid` is read, to look a key up) → find the key → verify the signature →
 * parse the payload → check the expiry → decode the claims → authorize them against the key.
 */
import { duration } from "../../base/duration.ts";
import { ACTIONS, type Action, type ActionSet, actionSet, isAction, isSubset } from "../../protocol/actions.ts";
import { isObject, type JsonObject, parseStrict } from "../../protocol/json.ts";
import { excessOf } from "../../protocol/json-size.ts";
import { PEER_ID_MAX_CHARS, REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import { isPeerId, utf8Bytes } from "../../protocol/names.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import { rawValue } from "../../protocol/scan.ts";
import { firstUncovered, type KeyRate, TOO_COMPLEX } from "../keys/coverage.ts";
import { isLive, type Keyring, type SecretKey, type SigningSecret } from "../keys/keyring.ts";
import {
  TOKEN_CHANNELS_MAX,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_MIN_LEFT_MS,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
  TOKEN_SKEW_SECONDS,
} from "../limits.ts";
import { isSignedBy, type ParsedJws, parseJws, payloadOf, signJws } from "./jws.ts";
import { offeredToken } from "./offered.ts";
import { expired, inDebt, invalid, knownByKey, possiblyStale, TokenRefusal } from "./token-refusal.ts";

export interface Claims {
  readonly sub: string;
  readonly exp: number;
  readonly iat?: number;
  readonly channels?: readonly string[];
  readonly permissions?: readonly Action[];
  readonly metadata?: JsonObject;
  readonly peerMetadata?: JsonObject;
}

/** Claims that are passed on as the text they came in: parsing would change 20-digit numbers and 1e400. */
export interface RawClaims {
  readonly metadata: string | undefined;
  readonly peerMetadata: string | undefined;
}

/** Finds them in the text of a JSON object, which must be valid. */
export const rawClaimsIn = (text: string): RawClaims => ({
  metadata: rawValue(text, "metadata"),
  peerMetadata: rawValue(text, "peerMetadata"),
});

export function signToken(
  claims: Claims,
  keyId: string,
  secret: Pick<SigningSecret, "hmacKey">,
  raw: Partial<RawClaims> = {},
): string {
  const texts = Object.entries(raw).flatMap(([name, json]) => (json === undefined ? [] : [`,"${name}":${json}`]));
  const payload = `${JSON.stringify(claims).slice(0, -1)}${texts.join("")}}`;
  return signJws({ kid: keyId }, payload, secret.hmacKey);
}

/** A token that may connect. */
export interface VerifiedToken {
  readonly key: SecretKey;
  /** The secret that verified it: the connection ends with this secret's grace period. */
  readonly secret: SigningSecret;
  readonly peerId: string;
  /** min(exp, min(iat, now) + TOKEN_MAX_SECONDS). */
  readonly expiresAtMs: number;
  /** undefined if the token names no channels: the key's own scope applies then. */
  readonly scope: Scope | undefined;
  readonly actions: ActionSet;
  /** Whether the token names its permissions; otherwise they follow the key's. */
  readonly restrictsActions: boolean;
  /** The claim's own text, passed on byte for byte. */
  readonly metadataJson: string | undefined;
  readonly peerMetadataJson: string | undefined;
  /** What the comparison with the key's patterns has cost, in requests beyond this one. */
  readonly extraRequests: number;
}

const UNDECRYPTABLE = new TokenRefusal(
  "internal_error",
  "the key's signing secret cannot be decrypted: it was encrypted with another master key",
  "signing secret",
);

/** Without `rate` the work is not charged. */
export function verifyToken(
  token: string,
  keyring: Keyring,
  nowMs: number,
  rate?: KeyRate,
): VerifiedToken | TokenRefusal {
  const parsed = parseToken(token);
  if (parsed instanceof TokenRefusal) return parsed.with({ offered: offeredToken(token) });
  const { kid } = parsed.header;
  const key = findKey(kid, keyring);
  if (key instanceof TokenRefusal) {
    // Anything but a text names no key; an object may even refuse to become one.
    const id = typeof kid === "string" ? kid : "";
    return key.with(knownByKey(id, keyring, offeredToken(token, kid)));
  }
  const secret = verifySignature(parsed, key, nowMs);
  if (secret instanceof TokenRefusal) return secret.of(key);
  const payload = parsePayload(payloadOf(parsed) ?? "");
  if (payload instanceof TokenRefusal) return payload.of(key);
  const verified = verifyPayload(payload, key, secret, nowMs, rate);
  return verified instanceof TokenRefusal ? verified.of(key, payload.claims.sub) : verified;
}

function verifyPayload(
  payload: Payload,
  key: SecretKey,
  secret: SigningSecret,
  nowMs: number,
  rate: KeyRate | undefined,
): VerifiedToken | TokenRefusal {
  const times = decodeTimes(payload.claims);
  if (times instanceof TokenRefusal) return times;
  const expiresAtMs = effectiveExpiry(times, nowMs);
  if (expiresAtMs instanceof TokenRefusal) return expiresAtMs;
  const claims = decodeClaims(payload, times, nowMs);
  if (claims instanceof TokenRefusal) return claims;
  return authorize(claims, key, secret, expiresAtMs, rate);
}

// Parse the token.

function parseToken(token: string): ParsedJws | TokenRefusal {
  const parsed = parseJws(token, REQUEST_HEAD_MAX_BYTES);
  return typeof parsed === "string" ? invalid("token", parsed) : parsed;
}

// Find the key.

function findKey(kid: unknown, keyring: Keyring): SecretKey | TokenRefusal {
  if (typeof kid !== "string") return invalid("token", "the header's kid must be the id of a secret key");
  const key = keyring.key(kid);
  if (!key || key.type === "publishable") return possiblyStale("token key", "kid does not name a live secret key");
  return key.type === "sealed" ? UNDECRYPTABLE : key;
}

// Verify the signature.

function verifySignature(token: ParsedJws, key: SecretKey, nowMs: number): SigningSecret | TokenRefusal {
  for (const one of key.secrets) if (isLive(one, nowMs) && isSignedBy(token, one.hmacKey)) return one;
  for (const one of key.secrets)
    if (!isLive(one, nowMs) && isSignedBy(token, one.hmacKey))
      return expired("signature", "it was signed with a secret that has since been retired");
  return possiblyStale("signature", "its signature matches no secret of that key");
}

// Parse the payload.

interface Payload {
  readonly text: string;
  readonly claims: JsonObject;
  /** `JSON.stringify` writes each claim as it is in the text. */
  readonly isCanonical: boolean;
}

/** Both metadata of a token have fewer, also if they are made of empty lists. */
const PAYLOAD_VALUES_MAX = 16_000;

function parsePayload(text: string): Payload | TokenRefusal {
  if (text.length > PAYLOAD_VALUES_MAX && excessOf(text, { values: PAYLOAD_VALUES_MAX }))
    return invalid("payload", `its payload has more than ${PAYLOAD_VALUES_MAX} values`);
  const parsed = parseStrict(text);
  if (!parsed.ok || !isObject(parsed.value))
    return invalid("payload", "its payload is not a JSON object, or has a duplicate key");
  return { text, claims: parsed.value, isCanonical: parsed.isCanonical };
}

// Check the expiry.

interface Times {
  readonly exp: number;
  readonly iat: number | undefined;
}

const isTime = (value: unknown): value is number =>
  typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Fractions are cut off: RFC 7519 allows them, and Python's time.time() makes them. */
function decodeTimes({ exp, iat }: JsonObject): Times | TokenRefusal {
  if (!isTime(exp)) return invalid("payload", "exp must be a number of Unix seconds");
  if (iat !== undefined && !isTime(iat)) return invalid("payload", "iat must be a number of Unix seconds");
  return { exp: Math.floor(exp), iat: iat === undefined ? undefined : Math.floor(iat) };
}

const MAX_HOURS = `${TOKEN_MAX_SECONDS / 3600} hours`;

function effectiveExpiry({ exp, iat }: Times, nowMs: number): number | TokenRefusal {
  const issuedMs = iat === undefined ? Number.POSITIVE_INFINITY : Math.min(iat * 1000, nowMs);
  const expiresAtMs = Math.min(exp * 1000, issuedMs + TOKEN_MAX_SECONDS * 1000);
  if (expiresAtMs - nowMs < TOKEN_MIN_LEFT_MS) return expired("expiry", expiryReason(exp * 1000, expiresAtMs, nowMs));
  return expiresAtMs;
}

function expiryReason(expMs: number, expiresAtMs: number, nowMs: number): string {
  if (expiresAtMs < expMs) return `${MAX_HOURS} have passed since its iat`;
  return nowMs < expMs ? "it has less than a second left" : `its exp passed ${duration(nowMs - expMs)} ago`;
}

// Decode the claims.

interface DecodedClaims {
  readonly sub: string;
  readonly channels: readonly Glob[] | undefined;
  readonly permissions: ActionSet | undefined;
  readonly metadata: string | undefined;
  readonly peerMetadata: string | undefined;
}

function decodeClaims(payload: Payload, { exp, iat }: Times, nowMs: number): DecodedClaims | TokenRefusal {
  const { sub, nbf, iss, channels, permissions } = payload.claims;
  if (!isPeerId(sub)) return invalid("claims", `sub must be 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters`);
  if (nbf !== undefined && !isTime(nbf)) return invalid("claims", "nbf must be a number of Unix seconds");
  if (nbf !== undefined && isInFuture(nbf, nowMs)) return invalid("claims", `nbf ${IN_FUTURE}`);
  if (iat !== undefined && isInFuture(iat, nowMs)) return invalid("claims", `iat ${IN_FUTURE}`);
  if (iat === undefined && exp * 1000 > nowMs + TOKEN_MAX_SECONDS * 1000)
    return invalid("claims", `without iat, exp must be within ${MAX_HOURS}`);
  if (iss !== undefined && typeof iss !== "string") return invalid("claims", "iss must be a string");
  const globs = decodeChannels(channels);
  if (typeof globs === "string") return invalid("claims", globs);
  if (permissions !== undefined && !isPermissions(permissions))
    return invalid("claims", `permissions must be a list of at most ${TOKEN_PERMISSIONS_MAX} of ${ACTIONS.join(", ")}`);
  const metadata = decodeMetadata(payload, "metadata", TOKEN_METADATA_MAX_BYTES);
  if (metadata instanceof TokenRefusal) return metadata;
  const peerMetadata = decodeMetadata(payload, "peerMetadata", TOKEN_PEER_METADATA_MAX_BYTES);
  if (peerMetadata instanceof TokenRefusal) return peerMetadata;
  return {
    sub,
    channels: globs,
    permissions: permissions && actionSet(permissions),
    metadata,
    peerMetadata,
  };
}

const IN_FUTURE = `is more than ${TOKEN_SKEW_SECONDS} s in the future`;

const isInFuture = (seconds: number, nowMs: number): boolean =>
  Math.floor(seconds) * 1000 > nowMs + TOKEN_SKEW_SECONDS * 1000;

/** Its JSON as it was sent; `undefined` if there is none. Its size is that of this text, spaces included. */
function decodeMetadata(
  { text, claims, isCanonical }: Payload,
  name: keyof RawClaims,
  maxBytes: number,
): string | undefined | TokenRefusal {
  const claim = claims[name];
  if (claim === undefined) return undefined;
  const raw = isCanonical ? JSON.stringify(claim) : copied(rawValue(text, name));
  return raw !== undefined && isObject(claim) && utf8Bytes(raw) <= maxBytes
    ? raw
    : invalid("claims", `${name} must be an object of at most ${maxBytes} bytes`);
}

/** Returns the globs, undefined if the claim is absent, or a text that says what is wrong with it. */
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

// Authorize.

/** A token that asks for more than its key allows is refused as a whole, not trimmed. */
function authorize(
  claims: DecodedClaims,
  key: SecretKey,
  secret: SigningSecret,
  expiresAtMs: number,
  rate: KeyRate | undefined,
): VerifiedToken | TokenRefusal {
  const { uncovered, requests } = firstUncovered(claims.channels ?? [], key, rate);
  if (uncovered) {
    const entry = `channels: ${JSON.stringify(uncovered.glob.source)}`;
    if (uncovered.why === "in debt") return inDebt(uncovered.retryAfterSeconds, requests);
    return uncovered.why === "undecided"
      ? possiblyStale("scope", `${entry}: ${TOO_COMPLEX}`, requests)
      : possiblyStale("scope", `${entry} is not covered by the key's patterns`, requests);
  }
  const actions = claims.permissions ?? key.actions;
  if (!isSubset(actions, key.actions)) return possiblyStale("scope", "permissions exceed the key's actions", requests);
  return {
    key,
    secret,
    peerId: claims.sub,
    expiresAtMs,
    scope: claims.channels && new Scope(claims.channels),
    actions,
    restrictsActions: claims.permissions !== undefined,
    metadataJson: claims.metadata,
    peerMetadataJson: claims.peerMetadata,
    extraRequests: requests,
  };
}

/** A slice keeps the whole text it was cut from in memory: what lives as long as the connection is copied. */
const copied = (text: string | undefined): string | undefined => text && Buffer.from(text).toString();
