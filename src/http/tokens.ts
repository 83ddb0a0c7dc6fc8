/** POST /v1/tokens: mint a connect token. The same thing as one the backend signs itself. */
import { z } from "zod";
import { type Credential, isPrevious } from "../access/credential.ts";
import { type Claims, firstUncovered, signToken } from "../access/token.ts";
import { type Action, actionSet, isAction, isSubset } from "../protocol/actions.ts";
import { Problem } from "../protocol/codes.ts";
import { type Glob, parseGlob } from "../protocol/glob.ts";
import {
  TOKEN_CHANNELS_MAX,
  TOKEN_DEFAULT_SECONDS,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
} from "../protocol/limits.ts";
import { isReserved } from "../protocol/names.ts";
import { type Endpoint, endpoint, type Guard } from "./endpoint.ts";
import { bag, pattern, peerId, unixSeconds } from "./schemas.ts";

const body = z.object({
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
    .optional(),
  metadata: bag(TOKEN_METADATA_MAX_BYTES).describe("Connection-private; delivered once, in welcome.").optional(),
  peerMetadata: bag(TOKEN_PEER_METADATA_MAX_BYTES).describe("Shown to other peers as this peer's identity.").optional(),
});

const answer = z
  .object({ token: z.string().describe("A JWT signed with HS256."), expiresAt: unixSeconds })
  .meta({ id: "MintedToken" });

export function tokenEndpoints(guard: Guard<Credential>, nowMs: () => number): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/tokens",
      tag: "tokens",
      summary: "Mint a connect token",
      guard,
      body,
      answer,
      problems: ["channel_reserved", "channel_not_authorized", "action_not_permitted", "internal_error"],
      handle: (_call, { who, body }) => mint(who, body, nowMs()),
    }),
  ];
}

function mint(credential: Credential, wanted: z.infer<typeof body>, nowMs: number): z.infer<typeof answer> {
  const { key } = credential;
  const expiresInSec = lifetime(credential, wanted.expiresInSec, nowMs);
  const globs = (wanted.channels ?? []).map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
  // A refusal names the place, not the value: people put secrets into the wrong field.
  const reserved = globs.findIndex((glob) => isReserved(glob.source));
  if (reserved >= 0) throw new Problem("channel_reserved", `channels.${reserved}: it is reserved for the service.`);
  const outside = firstUncovered(globs, key.scope);
  if (outside)
    throw new Problem("channel_not_authorized", `channels.${globs.indexOf(outside)}: the key does not cover it.`);
  const permissions = wanted.permissions && permitted(wanted.permissions, key.actions);
  if (key.type === "sealed") throw new Problem("internal_error", "The key has no usable signing secret at the moment.");
  const iat = Math.floor(nowMs / 1000);
  const claims: Claims = {
    sub: wanted.peerId,
    exp: iat + expiresInSec,
    iat,
    ...(wanted.channels && { channels: wanted.channels }),
    ...(permissions && { permissions }),
    ...(wanted.metadata && { metadata: wanted.metadata }),
    ...(wanted.peerMetadata && { peerMetadata: wanted.peerMetadata }),
  };
  const secret = key.secrets.find((one) => one.seq === credential.secret.seq);
  if (!secret) throw new Problem("internal_error", "The key has no usable signing secret at the moment.");
  return { token: signToken(claims, key.id, secret), expiresAt: claims.exp };
}

/** What a previous secret signs ends no later than its grace: asking for more is refused, the default is shortened. */
function lifetime(credential: Credential, wanted: number | undefined, nowMs: number): number {
  const { ends } = credential.secret;
  if (!isPrevious(credential) || ends === null) return wanted ?? TOKEN_DEFAULT_SECONDS;
  const left = Math.floor(ends / 1000) - Math.floor(nowMs / 1000);
  const seconds = wanted ?? Math.min(TOKEN_DEFAULT_SECONDS, left);
  if (seconds <= left && seconds >= 1) return seconds;
  throw new Problem(
    "invalid_request",
    `expiresInSec: this secret was rotated and ends in ${left} s; mint with the new one.`,
  );
}

function permitted(permissions: readonly string[], allowed: number): Action[] {
  const refused = permissions.findIndex((one) => !isAction(one) || !isSubset(actionSet([one]), allowed));
  if (refused < 0) return permissions.filter(isAction);
  throw new Problem("action_not_permitted", `permissions.${refused}: the key does not permit it.`);
}
