/** POST /v1/tokens: mints a connect token, equal to one that the backend signs itself. */
import { z } from "zod";
import type { KeyRate } from "../../access/keys/coverage.ts";
import type { Credential } from "../../access/keys/credential.ts";
import {
  TOKEN_CHANNELS_MAX,
  TOKEN_DEFAULT_SECONDS,
  TOKEN_MAX_SECONDS,
  TOKEN_METADATA_MAX_BYTES,
  TOKEN_PEER_METADATA_MAX_BYTES,
  TOKEN_PERMISSIONS_MAX,
} from "../../access/limits.ts";
import { mintToken } from "../../access/tokens/mint.ts";
import { type RawClaims, rawClaimsIn } from "../../access/tokens/token.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import { actions, bag, checkBagSize, kilobytes, pattern, peerId, unixSeconds } from "../shared/schemas.ts";

const body = lazily(() =>
  z.strictObject({
    peerId: peerId().describe("Becomes the peer's identity, the JWT's sub."),
    channels: z
      .array(pattern())
      .max(TOKEN_CHANNELS_MAX, `must have at most ${TOKEN_CHANNELS_MAX} entries`)
      .describe("Names or patterns, within the key's channelPatterns. Absent: all of the key's; []: none.")
      .optional(),
    permissions: z
      .array(z.string())
      .max(TOKEN_PERMISSIONS_MAX, `must have at most ${TOKEN_PERMISSIONS_MAX} entries`)
      .describe(`Subset of ${ACTIONS.join(", ")}, within the key's actions. Absent: all of the key's.`)
      .optional(),
    expiresInSec: z
      .int(`must be a whole number from 1 to ${TOKEN_MAX_SECONDS}`)
      .min(1, `must be at least 1`)
      .max(TOKEN_MAX_SECONDS, `must be at most ${TOKEN_MAX_SECONDS}`)
      .describe(`Absent: ${TOKEN_DEFAULT_SECONDS}.`)
      .nullish(),
    metadata: bag()
      .describe(
        `Connection-private; delivered once, in welcome. At most ${kilobytes(TOKEN_METADATA_MAX_BYTES)} as it is sent.`,
      )
      .nullish(),
    peerMetadata: bag()
      .describe(
        `Shown to other peers as this peer's identity. At most ${kilobytes(TOKEN_PEER_METADATA_MAX_BYTES)} as it is sent.`,
      )
      .nullish(),
  }),
);

const response = lazily(() =>
  z
    .object({
      token: z.string().describe("A JWT signed with HS256."),
      expiresAt: unixSeconds(),
      channels: z.array(z.string()).describe("What the token grants: the requested channels, or the key's."),
      permissions: actions().describe("The requested permissions, or the key's."),
    })
    .meta({ id: "MintedToken" }),
);

export function tokenEndpoints(guard: Guard<Credential>, rate: KeyRate, nowMs: () => number): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v1/tokens",
      tag: "tokens",
      summary: "Mint a connect token",
      guard,
      body,
      response,
      problems: ["channel_not_authorized", "action_not_permitted", "internal_error"],
      handle: (_call, { caller, body, text }) => {
        const { peerId, channels, permissions, expiresInSec } = body;
        const raw = rawMetadata(body, text);
        const wanted = { peerId, channels, permissions, expiresInSec: expiresInSec ?? undefined, raw };
        return mintToken(caller, wanted, rate, nowMs());
      },
    }),
  ];
}

/** Sizes are those of the text as it was sent, spaces included; null means absent. */
function rawMetadata(wanted: Infer<typeof body>, text: string): RawClaims {
  const sent = rawClaimsIn(text);
  const metadata = wanted.metadata ? sent.metadata : undefined;
  const peerMetadata = wanted.peerMetadata ? sent.peerMetadata : undefined;
  checkBagSize("metadata", metadata, TOKEN_METADATA_MAX_BYTES);
  checkBagSize("peerMetadata", peerMetadata, TOKEN_PEER_METADATA_MAX_BYTES);
  return { metadata, peerMetadata };
}
