/** POST /api/internal/v1/explain: every check of a connect and of a frame, and which one refuses. Nothing that is given is kept or logged. */
import { z } from "zod";
import type { AdmitParts } from "../../access/admission/admit.ts";
import type { Blocks } from "../../access/admission/blocks.ts";
import { explain, type Moment } from "../../access/admission/explain.ts";
import { namedKey, type Question } from "../../access/admission/explain-advice.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import type { KeyRate } from "../../access/keys/coverage.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import { lazily } from "../../base/lazily.ts";
import { ACTIONS } from "../../protocol/actions.ts";
import { ORIGIN_MAX_CHARS, REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import type { KeyRow, Store } from "../../store/contract/store.ts";
import type { TokenChecks } from "../guards/token-checks.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";

/** An empty text counts as not given, as in a form whose field was left empty. */
const pasted = (maxChars: number) =>
  z
    .string()
    .max(maxChars, `must have at most ${maxChars} characters`)
    .transform((text) => text.trim() || undefined)
    .optional();

const KEY_MAX_CHARS = 1024;
const CHANNEL_MAX_CHARS = 4096;

const body = lazily(() =>
  z.strictObject({
    key: pasted(KEY_MAX_CHARS).describe("Id of a publishable key; surrounding spaces are ignored."),
    token: pasted(REQUEST_HEAD_MAX_BYTES).describe("A connect token; surrounding spaces are ignored."),
    origin: pasted(ORIGIN_MAX_CHARS * 2).describe("Origin of the web page that connects. Absent: no browser."),
    channel: z
      .string()
      .max(CHANNEL_MAX_CHARS, `must have at most ${CHANNEL_MAX_CHARS} characters`)
      .transform((text) => (text === "" ? undefined : text))
      .optional()
      .describe("Absent: only the connect is explained, and the action if one is named."),
    action: z.enum(ACTIONS).optional().describe("Absent: whether the channel is covered at all."),
  }),
);

const response = lazily(() =>
  z
    .object({
      checks: z.array(
        z.object({
          name: z.string(),
          result: z.enum(["passes", "refuses", "not reached"]),
          why: z.string().optional(),
          hint: z.string().describe("What to change").optional(),
        }),
      ),
      allowed: z.boolean(),
    })
    .meta({ id: "Explanation" }),
);

interface ExplainParts {
  readonly keyring: Keyring;
  readonly store: Pick<Store, "key">;
  readonly blocks: Blocks;
  readonly keyRate: Pick<KeyRate, "debt">;
  readonly roomTokens: AdmitParts["roomTokens"];
  readonly nowMs: () => number;
  readonly moment: () => Moment;
  /** Present if other nodes can change keys. */
  readonly storeFollower?: Follower | undefined;
}

export function explainEndpoints(tokenChecks: TokenChecks, parts: ExplainParts): Endpoint[] {
  const { keyring, blocks, roomTokens, storeFollower } = parts;
  return [
    endpoint({
      tag: "keys",
      guard: tokenChecks.guard,
      scope: "app",
      method: "POST",
      path: "/api/internal/v1/explain",
      summary:
        "Explain why a connect, or an action on a channel, is allowed or refused: every check in order, and what to change",
      body,
      response,
      handle: async (_call, { caller, body: question }) => {
        // As for a connect: another node may have changed the key a moment ago.
        await storeFollower?.catchUp();
        const revoked = await revokedKey(question, parts);
        const charge = tokenChecks.begin(caller);
        // The debt of the key is part of the explanation: a connect of its clients would be refused for it.
        const keyRate: KeyRate = {
          debt: (keyId) => parts.keyRate.debt(keyId),
          charge: (_, requests) => charge(requests),
        };
        return explain(question, { keyring, blocks, keyRate, roomTokens, revoked }, parts.moment(), parts.nowMs());
      },
    }),
  ];
}

async function revokedKey(question: Question, { keyring, store }: ExplainParts): Promise<KeyRow | undefined> {
  const id = namedKey(question);
  if (id === undefined || keyring.key(id)) return undefined;
  const row = await store.key(id);
  return row?.revoked === null ? undefined : row;
}
