/**
 * Connect tokens: JWTs signed with HS256, because we say so and not because a header does.
 *
 * A token gains trust step by step, in this order, and each step takes only what the one before it gave:
 * parse (text → parts; only `kid` is looked at, as a name to look up) → find the key → verify the signature → expiry →
 * decode the claims → authorize them against the key.
 */
import { type Action, type ActionSet, actionSet, isAction, isSubset } from "../protocol/actions.ts";
import { Effort, EffortExceeded } from "../protocol/containment.ts";
import { type Glob, parseGlob, Scope } from "../protocol/glob.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { CONTAINMENT_STEPS_PER_REQUEST, REQUEST_HEAD_MAX_BYTES } from "../protocol/limits.ts";
import { isPeerId, utf8Bytes } from "../protocol/names.ts";
import { rawValue } from "../protocol/scan.ts";
import { isSignedBy, type ParsedJws, parseJws, parseUtf8Json, signJws, UTF8 } from "./jws.ts";
import { isLive, type Keyring, type SecretKey, type SigningSecret } from "./keyring.ts";
import {
  TOKEN_CHANNELS_MAX,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_MIN_LEFT_MS,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
  TOKEN_SKEW_SECONDS,
} from "./limits.ts";

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
  /** What the comparison with the key's patterns has cost, in requests beyond this one. */
  readonly extraRequests: number;
}

/** `reason` is for the holder of the key and the operator; somebody who merely shows a token learns the code only. */
export class TokenRefusal {
  constructor(
    readonly code: "invalid_token" | "token_expired" | "internal_error" | "rate_limited",
    readonly reason: string,
    /** The key as another node may have changed it just now could let it in. */
    readonly isPerhapsEarly = false,
    /** What the comparison with the key's patterns has cost, in requests beyond this one. */
    readonly extraRequests = 0,
    /** Of `rate_limited`. */
    readonly retryAfterSeconds?: number,
  ) {}
}

/** The rate of keys. Work beyond a request's is charged to it, and a key that owes must wait before it gets more. */
export interface KeyRate {
  /** Seconds to wait; 0 if the key owes nothing. */
  debt(keyId: string): number;
  charge(keyId: string, requests: number): void;
}

const invalid = (reason: string): TokenRefusal => new TokenRefusal("invalid_token", reason);
const early = (reason: string, extraRequests?: number): TokenRefusal =>
  new TokenRefusal("invalid_token", reason, true, extraRequests);
const owing = (seconds: number, extraRequests: number): TokenRefusal =>
  new TokenRefusal("rate_limited", "its key owes for the work of earlier tokens", false, extraRequests, seconds);
const expired = (reason: string): TokenRefusal => new TokenRefusal("token_expired", reason);

const SEALED = new TokenRefusal(
  "internal_error",
  "the key's signing secret cannot be decrypted: the master key does not fit",
);

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

/** Without `rate` the work is not charged. */
export function verifyToken(
  token: string,
  keyring: Keyring,
  nowMs: number,
  rate?: KeyRate,
): VerifiedToken | TokenRefusal {
  const parsed = parseToken(token);
  if (parsed instanceof TokenRefusal) return parsed;
  const key = keyring.key(parsed.kid);
  if (!key || key.type === "publishable") return early("kid does not name a live secret key");
  if (key.type === "sealed") return SEALED;
  const signed = verifySignature(parsed, key, nowMs);
  if (signed instanceof TokenRefusal) return signed;
  const payload = parsePayload(parsed.payload);
  if (payload instanceof TokenRefusal) return payload;
  const times = decodeTimes(payload);
  if (times instanceof TokenRefusal) return times;
  const expiresAtMs = effectiveExpiry(times, nowMs);
  if (expiresAtMs instanceof TokenRefusal) return expiresAtMs;
  const claims = decodeClaims(payload, times, rawClaimsIn(UTF8.decode(parsed.payload)), nowMs);
  if (claims instanceof TokenRefusal) return claims;
  return authorize(claims, signed.key, signed.secret, expiresAtMs, rate);
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

interface Times {
  readonly exp: number;
  readonly iat: number | undefined;
}

const isTime = (value: unknown): value is number =>
  typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Fractions are cut off: RFC 7519 allows them, and Python's time.time() makes them. */
function decodeTimes({ exp, iat }: JsonObject): Times | TokenRefusal {
  if (!isTime(exp)) return invalid("exp must be a number of Unix seconds");
  if (iat !== undefined && !isTime(iat)) return invalid("iat must be a number of Unix seconds");
  return { exp: Math.floor(exp), iat: iat === undefined ? undefined : Math.floor(iat) };
}

function effectiveExpiry({ exp, iat }: Times, nowMs: number): number | TokenRefusal {
  const issuedMs = iat === undefined ? Number.POSITIVE_INFINITY : Math.min(iat * 1000, nowMs);
  const expiresAtMs = Math.min(exp * 1000, issuedMs + TOKEN_MAX_SECONDS * 1000);
  if (expiresAtMs - nowMs < TOKEN_MIN_LEFT_MS)
    return expired(expiresAtMs < exp * 1000 ? "24 hours have passed since its iat" : "its exp has passed");
  return expiresAtMs;
}

/** Of the valid JSON of an object. */
export const rawClaimsIn = (text: string): RawClaims => ({
  metadata: rawValue(text, "metadata"),
  peerMetadata: rawValue(text, "peerMetadata"),
});

interface DecodedClaims {
  readonly sub: string;
  readonly channels: readonly Glob[] | undefined;
  readonly permissions: ActionSet | undefined;
  readonly raw: RawClaims;
}

function decodeClaims(
  payload: JsonObject,
  { exp, iat }: Times,
  raw: RawClaims,
  nowMs: number,
): DecodedClaims | TokenRefusal {
  const { sub, nbf, iss, channels, permissions } = payload;
  if (!isPeerId(sub)) return invalid("sub must be 1 to 128 printable ASCII characters");
  if (nbf !== undefined && !isTime(nbf)) return invalid("nbf must be a number of Unix seconds");
  for (const [name, time] of Object.entries({ nbf, iat }))
    if (time !== undefined && Math.floor(time) * 1000 > nowMs + TOKEN_SKEW_SECONDS * 1000)
      return invalid(`${name} lies more than ${TOKEN_SKEW_SECONDS} s ahead`);
  if (iat === undefined && exp * 1000 > nowMs + TOKEN_MAX_SECONDS * 1000)
    return invalid("without iat, exp must lie at most 24 hours ahead");
  if (iss !== undefined && typeof iss !== "string") return invalid("iss must be a string");
  const globs = decodeChannels(channels);
  if (typeof globs === "string") return invalid(globs);
  if (permissions !== undefined && !isPermissions(permissions))
    return invalid(
      `permissions must be a list of at most ${TOKEN_PERMISSIONS_MAX} of publish, subscribe, presence, send`,
    );
  for (const [name, maxBytes] of BAGS)
    if (payload[name] !== undefined && !(isObject(payload[name]) && utf8Bytes(raw[name] ?? "") <= maxBytes))
      return invalid(`${name} must be an object of at most ${maxBytes} bytes`);
  return { sub, channels: globs, permissions: permissions && actionSet(permissions), raw };
}

/** Sizes are those of the text as it travels, spaces included. */
const BAGS = [
  ["metadata", TOKEN_METADATA_MAX_BYTES],
  ["peerMetadata", TOKEN_PEER_METADATA_MAX_BYTES],
] as const;

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

/** Elevation is refused whole, not trimmed. */
function authorize(
  claims: DecodedClaims,
  key: SecretKey,
  secret: SigningSecret,
  expiresAtMs: number,
  rate: KeyRate | undefined,
): VerifiedToken | TokenRefusal {
  const { outside, requests } = firstUncovered(claims.channels ?? [], key, rate);
  if (outside) {
    const entry = `channels: ${JSON.stringify(outside.glob.source)}`;
    if (outside.why === "owing") return owing(outside.retryAfterSeconds, requests);
    return outside.why === "undecided"
      ? early(`${entry}: ${TOO_MUCH_WORK}`, requests)
      : early(`${entry} is not covered by the key's patterns`, requests);
  }
  const actions = claims.permissions ?? key.actions;
  if (!isSubset(actions, key.actions)) return early("permissions exceed the key's actions", requests);
  return {
    key,
    secret,
    peerId: claims.sub,
    expiresAtMs,
    scope: claims.channels && new Scope(claims.channels),
    actions,
    hasActions: claims.permissions !== undefined,
    metadataJson: claims.raw.metadata,
    peerMetadataJson: copied(claims.raw.peerMetadata),
    extraRequests: requests,
  };
}

/** A slice keeps the text it was cut from alive: what lives as long as a connection gets a text of its own. */
const copied = (text: string | undefined): string | undefined => text && Buffer.from(text).toString();

export const TOO_MUCH_WORK =
  "whether the key's patterns cover it takes too much work to find out; use fewer '**' in it, or simpler patterns in the key";

/** Why a pattern is not granted. `owing`: that was not found out, because the key's rate does not allow the work now. */
type Uncovered = { readonly glob: Glob } & (
  | { readonly why: "outside" | "undecided" }
  | { readonly why: "owing"; readonly retryAfterSeconds: number }
);

/**
 * The first pattern that the key's do not contain, or of which that could not be found out. What is more work than a
 * request's is charged to the key, as `requests`. A key that owes gets no more than one request's work, so that requests
 * which were let in together cannot all be costly.
 */
export function firstUncovered(
  globs: readonly Glob[],
  { id, scope }: Pick<SecretKey, "id" | "scope">,
  rate: KeyRate | undefined,
): { readonly outside: Uncovered | undefined; readonly requests: number } {
  if (globs.length === 0) return { outside: undefined, requests: 0 };
  const debtSeconds = rate?.debt(id) ?? 0;
  const effort = debtSeconds > 0 ? new Effort(CONTAINMENT_STEPS_PER_REQUEST) : new Effort();
  const outside = search(globs, scope, effort, debtSeconds);
  const { requests } = effort;
  if (requests > 0) rate?.charge(id, requests);
  return { outside, requests };
}

function search(globs: readonly Glob[], scope: Scope, effort: Effort, debtSeconds: number): Uncovered | undefined {
  for (const glob of globs) {
    try {
      const isCovered = scope.covers(glob, effort);
      if (!isCovered) return { glob, why: isCovered === undefined ? "undecided" : "outside" };
    } catch (error) {
      if (error instanceof EffortExceeded) return { glob, why: "owing", retryAfterSeconds: debtSeconds };
      throw error;
    }
  }
  return undefined;
}
