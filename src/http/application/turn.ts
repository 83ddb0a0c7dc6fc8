/** TURN credentials over HTTP, as existing clients call for them: a backend makes an API key, and its pages get ICE servers with that. */
import { z } from "zod";
import type { Follower } from "../../access/admission/store-follower.ts";
import { lazily } from "../../base/lazily.ts";
import { TURN_CREDENTIAL_MAX_SEC, TURN_CREDENTIAL_SEC, TURN_LABEL_MAX_CHARS } from "../../meetings/contract/limits.ts";
import type { TurnKey, TurnKeys } from "../../meetings/turn/keys.ts";
import type { Turn } from "../../meetings/turn/turn.ts";
import { Problem } from "../../protocol/codes.ts";
import { hasControl, isWellFormed } from "../../protocol/names.ts";
import type { ApplicationGuards } from "../guards/application.ts";
import { afterLatestChanges } from "../guards/refusals.ts";
import type { Origins } from "../request/cors.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";

const SECONDS_RULE = `must be a whole number from 1 to ${TURN_CREDENTIAL_MAX_SEC}`;

const credentialRequest = lazily(() =>
  z
    .object({
      expiryInSeconds: z
        .int(SECONDS_RULE)
        .min(1, SECONDS_RULE)
        .max(TURN_CREDENTIAL_MAX_SEC, SECONDS_RULE)
        .optional()
        .describe(
          `When the credential and its API key end. Absent: the credential after ${TURN_CREDENTIAL_SEC}, the API key when the secret key is rotated.`,
        ),
      label: z
        .string("must be text")
        .max(TURN_LABEL_MAX_CHARS, `must have at most ${TURN_LABEL_MAX_CHARS} characters`)
        .refine((text) => !hasControl(text) && isWellFormed(text), "must be text without control characters")
        .optional()
        .describe("A note to yourself, which the API key carries"),
    })
    .meta({ examples: [{ expiryInSeconds: 14_400, label: "web" }] }),
);

const credential = lazily(() =>
  z
    .object({
      username: z.string(),
      password: z.string(),
      expiryInSeconds: z.int(),
      label: z.string(),
      apiKey: z.string().describe("Can only get ICE servers, so pages may contain it"),
    })
    .meta({ id: "TurnCredential" }),
);

const iceServers = lazily(() =>
  z
    .array(z.object({ urls: z.string(), username: z.string().optional(), credential: z.string().optional() }))
    .meta({ id: "IceServers" }),
);

interface TurnParts {
  readonly turn: Turn;
  readonly turnKeys: TurnKeys;
  readonly nowMs: () => number;
  /** Present if other nodes can change applications. */
  readonly storeFollower?: Follower | undefined;
}

const everyOrigin: Origins = () => ["*"];

export function turnEndpoints(guards: ApplicationGuards, parts: TurnParts): Endpoint[] {
  const { turn, turnKeys, nowMs, storeFollower } = parts;
  const nowSec = (): number => Math.floor(nowMs() / 1000);
  const refuseWithoutRelays = (): void => {
    if (!turn.hasRelays) throw new Problem("turn_not_configured");
  };
  return [
    endpoint({
      method: "POST",
      path: "/api/v1/turn/credential",
      tag: "turn",
      summary: "Create a TURN credential, and an API key that pages can use to get their own",
      guard: guards.minting,
      body: credentialRequest,
      response: credential,
      problems: ["turn_not_configured"],
      handle: (_call, { caller: { app, generation }, body }) => {
        refuseWithoutRelays();
        const { expiryInSeconds = TURN_CREDENTIAL_SEC, label = "" } = body;
        const expiresAt = nowSec() + expiryInSeconds;
        const exp = body.expiryInSeconds === undefined ? undefined : expiresAt;
        const { claims, apiKey } = turnKeys.create({ app: app.id, label, gen: generation, exp });
        const { username, credential: password } = turn.credential(nameOf(claims), expiresAt);
        return { username, password, expiryInSeconds, label, apiKey };
      },
    }),
    endpoint({
      method: "GET",
      path: "/api/v1/turn/credentials",
      tag: "turn",
      summary: "ICE servers with fresh TURN credentials; needs an API key, no secret key",
      guard: guards.open,
      origins: everyOrigin,
      query: () => z.object({ apiKey: z.string().describe("From POST /api/v1/turn/credential") }),
      response: iceServers,
      problems: ["invalid_api_key", "turn_not_configured", "internal_error"],
      handle: async (_call, { query: { apiKey }, recheck }) => {
        refuseWithoutRelays();
        const find = (): TurnKey | undefined => turnKeys.verify(recheck(), apiKey, nowMs());
        // Another node may have rotated the secret key a moment ago.
        const claims = find() ?? (storeFollower && (await afterLatestChanges(storeFollower, find)));
        if (!claims) throw new Problem("invalid_api_key");
        const expiresAt = Math.min(nowSec() + TURN_CREDENTIAL_SEC, claims.exp ?? Number.POSITIVE_INFINITY);
        const servers = turn.iceServers(nameOf(claims), expiresAt);
        // One entry per address: existing clients expect a text in `urls`.
        return servers.flatMap(({ urls, ...rest }) => urls.map((url) => ({ urls: url, ...rest })));
      },
    }),
  ];
}

const nameOf = ({ app, id }: TurnKey): string => `${app}.${id}`;
