/** Control plane: recent refusals over all nodes. */
import { z } from "zod";
import type { Operator } from "../../../access/operators/operator.ts";
import type { AppId } from "../../../base/ids.ts";
import { lazily } from "../../../base/lazily.ts";
import { Problem } from "../../../protocol/codes.ts";
import { ORIGIN_MAX_CHARS, PEER_ID_MAX_CHARS } from "../../../protocol/limits.ts";
import { LIVE_PAGE_MAX } from "../../../realtime/operators/live/limits.ts";
import { type LiveRefusals, REFUSAL_KINDS } from "../../../realtime/operators/live/refusals.ts";
import { type Endpoint, endpoint, type Guard } from "../../server/endpoint.ts";
import { limit, toSeconds, unixSeconds } from "../../shared/schemas.ts";

const PAGE_DEFAULT = 100;
const TEXT_MAX_CHARS = 256;

const query = lazily(() =>
  z.strictObject({
    app: z.string().max(TEXT_MAX_CHARS).describe("Id or name of an application. Absent: all").optional(),
    credentials: z
      .enum(["unknown"])
      .describe("Only connects that belong to no application, because their key or token is not known.")
      .optional(),
    kind: z.enum(REFUSAL_KINDS).describe("refuse: only connects; error: only frames.").optional(),
    code: z.string().max(TEXT_MAX_CHARS).describe("Only with this error code, such as token_expired.").optional(),
    peer: z
      .string()
      .max(PEER_ID_MAX_CHARS)
      .describe("Only of peers with this in their id, in upper or lower case.")
      .optional(),
    from: z
      .string()
      .max(ORIGIN_MAX_CHARS)
      .describe("Only connects with this in their origin or address, in upper or lower case.")
      .optional(),
    limit: limit(LIVE_PAGE_MAX, PAGE_DEFAULT),
    after: z.string().max(TEXT_MAX_CHARS).describe("`next` of the previous page.").optional(),
  }),
);

const refusal = lazily(() =>
  z
    .object({
      kind: z.enum(REFUSAL_KINDS).describe("As in the tail: refuse is a connect, error a frame"),
      code: z
        .string()
        .describe(
          "The error code; over_concurrent; or key_revoked, for which the client gets unauthorized, or invalid_token with a token",
        ),
      count: z.int().describe("How often the same was refused on this node"),
      first: unixSeconds(),
      last: unixSeconds(),
      app: z.string().optional().describe("The application's id; absent: the key or token is not known"),
      appName: z.string().optional().describe("Its name; absent for a deleted application"),
      keyId: z.string().optional(),
      peerId: z.string().optional(),
      offered: z
        .string()
        .optional()
        .describe(
          "Only without app: what the client sent instead of a known key or token. Of an id its beginning, of anything else only its kind and length",
        ),
      channel: z.string().optional().describe("Only of frames"),
      origin: z.string().optional().describe("The origin of the web page, only of connects"),
      address: z.string().optional().describe("The client's, only of connects"),
      nodeId: z.string(),
    })
    .meta({ id: "Refusal" }),
);

interface RefusalParts {
  readonly refusals: LiveRefusals;
  /** An application, given its id or name. */
  readonly appOf: (idOrName: string) => { readonly id: AppId; readonly name: string } | undefined;
}

export const refusalsEndpoint = (guard: Guard<Operator>, { refusals, appOf }: RefusalParts): Endpoint =>
  endpoint({
    method: "GET",
    path: "/api/internal/v1/refusals",
    tag: "operations",
    summary: "Recently refused connects and frames on all nodes, newest first; kept in memory for 24 hours",
    guard,
    scope: "app",
    query,
    response: () =>
      z.object({
        data: z.array(refusal()),
        next: z.string().nullable(),
        isComplete: z.boolean().describe("false: a node has not responded, and its part is missing"),
      }),
    problems: ["not_found"],
    handle: async (_call, { query: { app, credentials, ...filters } }) => {
      if (app !== undefined && credentials !== undefined)
        throw new Problem("invalid_request", "credentials: only without app");
      const id = app === undefined ? undefined : appOf(app)?.id;
      if (app !== undefined && id === undefined)
        throw new Problem("not_found", "app: there is no application with this id or name");
      const page = await refusals.page({ ...filters, app: credentials === undefined ? id : null });
      if (!page) throw new Problem("invalid_request", "after: must be the `next` of the previous page.");
      const data = page.data.map(({ firstMs, lastMs, ...shown }) => ({
        ...shown,
        first: toSeconds(firstMs),
        last: toSeconds(lastMs),
        appName: shown.app === undefined ? undefined : appOf(shown.app)?.name,
      }));
      return { ...page, data };
    },
  });
