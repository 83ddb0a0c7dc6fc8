/** POST /v1/tokens: mint a connect token. The same thing as one the backend signs itself. */
import { z } from "zod";
import type { Credential } from "../access/credential.ts";
import {
  TOKEN_CHANNELS_MAX,
  TOKEN_CONNECT_MARGIN_MS,
  TOKEN_DEFAULT_SECONDS,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_MIN_LEFT_MS,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
} from "../access/limits.ts";
import {
  type Claims,
  firstUncovered,
  type KeyRate,
  type RawClaims,
  rawClaimsIn,
  signToken,
  TOO_MUCH_WORK,
} from "../access/token.ts";
import {
  ACTIONS,
  type Action,
  type ActionSet,
  actionList,
  actionSet,
  isAction,
  isSubset,
} from "../protocol/actions.ts";
import { Problem } from "../protocol/codes.ts";
import { type Glob, parseGlob } from "../protocol/glob.ts";
import { isReserved } from "../protocol/names.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { actions, bag, checkBagSize, kilobytes, pattern, peerId, unixSeconds } from "./schemas.ts";

const body = z.strictObject({
  peerId: peerId.describe("Becomes the peer's identity, the JWT's sub."),
  channels: z
    .array(pattern)
    .max(TOKEN_CHANNELS_MAX, `must have at most ${TOKEN_CHANNELS_MAX} entries`)
    .describe("Names or patterns, within the key's channelPatterns. Absent: all of the key's; []: none.")
    .optional(),
  permissions: z
    .array(z.string())
    .max(TOKEN_PERMISSIONS_MAX, `must have at most ${TOKEN_PERMISSIONS_MAX} entries`)
    .describe("Subset of publish, subscribe, presence, send, within the key's actions. Absent: all of the key's.")
    .optional(),
  expiresInSec: z
    .int(`must be a whole number from 1 to ${TOKEN_MAX_SECONDS}`)
    .min(1, `must be at least 1`)
    .max(TOKEN_MAX_SECONDS, `must be at most ${TOKEN_MAX_SECONDS}`)
    .describe(`Absent: ${TOKEN_DEFAULT_SECONDS}.`)
    .nullish(),
  metadata: bag
    .describe(
      `Connection-private; delivered once, in welcome. At most ${kilobytes(TOKEN_METADATA_MAX_BYTES)} as it is sent.`,
    )
    .nullish(),
  peerMetadata: bag
    .describe(
      `Shown to other peers as this peer's identity. At most ${kilobytes(TOKEN_PEER_METADATA_MAX_BYTES)} as it is sent.`,
    )
    .nullish(),
});

const answer = z
  .object({
    token: z.string().describe("A JWT signed with HS256."),
    expiresAt: unixSeconds,
    channels: z.array(z.string()).describe("What the token grants: those that were asked for, or the key's."),
    permissions: actions.describe("Likewise."),
  })
  .meta({ id: "MintedToken" });

export function tokenEndpoints(guard: Guard<Credential>, rate: KeyRate, nowMs: () => number): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/tokens",
      tag: "tokens",
      summary: "Mint a connect token",
      guard,
      body,
      answer,
      problems: ["channel_not_authorized", "action_not_permitted", "internal_error"],
      handle: (_call, { caller, body, text }) => mint(caller, body, text, rate, nowMs()),
    }),
  ];
}

function mint(
  credential: Credential,
  wanted: z.infer<typeof body>,
  text: string,
  rate: KeyRate,
  nowMs: number,
): z.infer<typeof answer> {
  const { key } = credential;
  const raw = givenBags(wanted, text);
  const exp = expiry(credential, wanted.expiresInSec ?? undefined, nowMs);
  if (wanted.channels) checkChannels(wanted.channels, key, rate);
  const permissions = wanted.permissions && permitted(wanted.permissions, key.actions);
  if (key.type === "sealed") throw new Problem("internal_error", "The key has no usable signing secret at the moment.");
  const claims: Claims = {
    sub: wanted.peerId,
    exp,
    iat: Math.floor(nowMs / 1000),
    ...(wanted.channels && { channels: wanted.channels }),
    ...(permissions && { permissions }),
  };
  const secret = key.secrets.find((one) => one.seq === credential.secret.seq);
  if (!secret) throw new Problem("internal_error", "The key has no usable signing secret at the moment.");
  return {
    token: signToken(claims, key.id, secret, raw),
    expiresAt: exp,
    channels: wanted.channels ?? [...key.scope.patterns],
    permissions: permissions ?? actionList(key.actions),
  };
}

/** null means that it is not there. */
function givenBags(wanted: z.infer<typeof body>, text: string): RawClaims {
  const given = rawClaimsIn(text);
  const metadata = wanted.metadata ? given.metadata : undefined;
  const peerMetadata = wanted.peerMetadata ? given.peerMetadata : undefined;
  checkBagSize("metadata", metadata, TOKEN_METADATA_MAX_BYTES);
  checkBagSize("peerMetadata", peerMetadata, TOKEN_PEER_METADATA_MAX_BYTES);
  return { metadata, peerMetadata };
}

/** A refusal names the place, not the value: people put secrets into the wrong field. */
function checkChannels(channels: readonly string[], key: Credential["key"], rate: KeyRate): void {
  const globs = channels.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
  const reserved = globs.findIndex((glob) => isReserved(glob.source));
  if (reserved >= 0)
    throw new Problem("channel_not_authorized", `channels.${reserved}: this name is reserved for the service.`);
  const { outside } = firstUncovered(globs, key, rate);
  if (!outside) return;
  if (outside.why === "owing") throw new Problem("rate_limited", undefined, outside.retryAfterSeconds);
  const field = `channels.${globs.indexOf(outside.glob)}`;
  if (outside.why === "undecided") throw new Problem("invalid_request", `${field}: ${TOO_MUCH_WORK}.`);
  throw new Problem("channel_not_authorized", `${field}: the key does not cover it.`);
}

/**
 * In whole seconds, rounded up. A connect needs a second of its token, so the shortest ones get a little more: otherwise
 * they could end before anyone has used them. Never more than 24 hours from `iat`.
 *
 * What a previous secret signs ends no later than its grace: asking for more is refused, the default is shortened.
 */
function expiry({ secret: { ends } }: Credential, wanted: number | undefined, nowMs: number): number {
  const seconds = wanted ?? TOKEN_DEFAULT_SECONDS;
  const lifetimeMs = Math.max(seconds * 1000, TOKEN_MIN_LEFT_MS + TOKEN_CONNECT_MARGIN_MS);
  const asked = Math.min(Math.ceil((nowMs + lifetimeMs) / 1000), Math.floor(nowMs / 1000) + TOKEN_MAX_SECONDS);
  if (ends === null) return asked;
  const left = Math.floor((ends - nowMs) / 1000);
  if (left >= 1 && (wanted === undefined || wanted <= left)) return Math.min(asked, Math.floor(ends / 1000));
  throw new Problem(
    "invalid_request",
    `expiresInSec: this secret was rotated and ends in ${left} s; mint with the new one.`,
  );
}

function permitted(permissions: readonly string[], allowed: ActionSet): Action[] {
  const unknown = permissions.findIndex((one) => !isAction(one));
  if (unknown >= 0)
    throw new Problem(
      "action_not_permitted",
      `permissions.${unknown}: this is no action; there are ${ACTIONS.join(", ")}.`,
    );
  const actions = permissions.filter(isAction);
  const refused = actions.findIndex((one) => !isSubset(actionSet([one]), allowed));
  if (refused < 0) return actions;
  throw new Problem("action_not_permitted", `permissions.${refused}: the key does not permit it.`);
}
