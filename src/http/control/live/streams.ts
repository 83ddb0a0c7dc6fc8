/** Control plane: the streams of an application, who writes and reads them, and how to delete one. */
import { z } from "zod";
import { type AppId, spaceOf, streamSpaceOf } from "../../../base/ids.ts";
import { type Infer, lazily } from "../../../base/lazily.ts";
import type { CreatedStream, CreatedStreamStore } from "../../../history/contract/created-streams.ts";
import { HistoryUnavailable } from "../../../history/contract/history.ts";
import { Problem } from "../../../protocol/codes.ts";
import { CHANNEL_MAX_BYTES } from "../../../protocol/limits.ts";
import { positionText } from "../../../protocol/position.ts";
import type { LiveStreams } from "../../../realtime/operators/live/streams.ts";
import type { CreatedStreams } from "../../../realtime/streams/created.ts";
import type { StoreCalls } from "../../../realtime/streams/store-calls.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { ListGuards } from "../../guards/operator.ts";
import { channelIn } from "../../request/path-names.ts";
import { type Endpoint, endpoint } from "../../server/endpoint.ts";
import type { Audit } from "../../shared/audit.ts";
import { noStream } from "../../shared/history-pages.ts";
import { limit, toSeconds, unixSeconds } from "../../shared/schemas.ts";
import type { AppIn } from "../app-in.ts";
import { pageOf } from "../paging.ts";

const PAGE_DEFAULT = 100;
/** Each is read by itself. */
const PAGE_MAX = 200;
/** Producers that one stream is shown with: those used last. */
const PRODUCERS_SHOWN_MAX = 100;
const RETRY_SECONDS = 1;

const described = lazily(() =>
  z.object({
    channel: z.string(),
    contentType: z.string().describe("As it was created, in lower case"),
    created: unixSeconds(),
    closed: z.boolean().describe("It takes no more messages"),
    messages: z.int(),
    bytes: z.int().describe("What its messages take, with an overhead for each"),
    pos: z.string().describe("Where it ends"),
    ttlSec: z.int().optional().describe("How long it stays after its last read or write, as it was created"),
    expiresAt: unixSeconds().optional().describe("When it expires however it is used, as it was created"),
    endsAt: unixSeconds().describe("When it is deleted if it is neither read nor written before"),
  }),
);
const listed = lazily(() =>
  described()
    .extend({ producers: z.int().describe("Producers that have written to it with a number") })
    .meta({ id: "ListedStream" }),
);
const producer = lazily(() =>
  z
    .object({
      keyId: z.string().optional().describe("The key that it writes with"),
      peerId: z.string().optional().describe("The peer that it is: it writes with a token"),
      id: z.string().describe("The `Producer-Id` that it sends"),
      epoch: z.int().describe("The newest `Producer-Epoch`; earlier ones are refused"),
      seq: z.int().describe("The number of its last write"),
      used: unixSeconds(),
    })
    .meta({ id: "StreamProducer" }),
);
const one = lazily(() =>
  described()
    .extend({
      maxBytes: z.int().describe("What it may hold"),
      idleSec: z.int().describe("How long it may be unused, by its channel rule"),
      producers: z.array(producer()).describe(`Those used last, at most ${PRODUCERS_SHOWN_MAX}`),
      readers: z.int().describe("Open readers over HTTP, on all nodes"),
      subscribers: z.int().describe("Subscriptions over WebSocket, on all nodes"),
      isComplete: z.boolean().describe("false: a node has not responded, and its readers are missing"),
    })
    .meta({ id: "StreamDetails" }),
);

interface AdminStreamParts {
  readonly store: Pick<CreatedStreamStore, "list" | "producers">;
  readonly calls: Pick<StoreCalls, "run">;
  readonly created: Pick<CreatedStreams, "describe" | "delete">;
  readonly rules: Pick<Streams, "createdRuleOf">;
  readonly live: Pick<LiveStreams, "audience">;
  readonly appIn: AppIn;
  readonly audit: Audit;
}

export function adminStreamEndpoints(
  { admin, operator, lists }: Pick<ListGuards, "admin" | "operator" | "lists">,
  parts: AdminStreamParts,
): Endpoint[] {
  const { store, calls, created, appIn, audit } = parts;
  const root = "/api/internal/v1/apps/:app/streams";
  const base = { tag: "live", path: `${root}/:channel`, hasRawSlashes: true } as const;
  return [
    endpoint({
      tag: "live",
      guard: lists,
      scope: "app",
      method: "GET",
      path: root,
      summary: "The streams that exist, by name",
      query: () =>
        z.object({
          contains: z
            .string()
            .max(CHANNEL_MAX_BYTES)
            .describe("Only names with this in them, in upper or lower case.")
            .optional(),
          limit: limit(PAGE_MAX, PAGE_DEFAULT),
          after: z.string().max(CHANNEL_MAX_BYTES).describe("`next` of the previous page.").optional(),
        }),
      response: () => z.object({ data: z.array(listed()), next: z.string().nullable() }),
      problems: ["not_found", "backend_error"],
      handle: async (call, { query }) => {
        const { id } = await appIn(call);
        const { contains, after, limit } = query;
        const page = {
          limit: limit + 1,
          ...(contains !== undefined && { contains }),
          ...(after !== undefined && { after }),
        };
        const rows = await inStore(calls.run(store.list(streamSpaceOf(id), page)));
        return pageOf(
          rows,
          limit,
          ({ channel }) => channel,
          (row) => ({ ...shown(row.channel, row), producers: row.producers }),
        );
      },
    }),
    endpoint({
      ...base,
      guard: operator,
      scope: "app",
      method: "GET",
      summary: "One stream: its producers, and who reads it now on all nodes",
      response: one,
      problems: ["not_found", "channel_reserved", "backend_error"],
      handle: async (call) => {
        const channel = channelIn(call);
        return details(parts, (await appIn(call)).id, channel);
      },
    }),
    endpoint({
      ...base,
      guard: admin,
      scope: "app",
      method: "DELETE",
      summary: "Delete a stream with its messages; its readers end, and its subscribers reconnect",
      response: () => z.object({ channel: z.string(), deleted: z.literal(true) }),
      problems: ["not_found", "channel_reserved", "backend_error"],
      handle: async (call, { caller }) => {
        const channel = channelIn(call);
        const { id } = await appIn(call);
        if ((await inStore(created.delete(id, channel))) !== "deleted") throw noStream();
        await audit(call, caller, { what: "stream deleted", on: channel, app: id });
        return { channel, deleted: true };
      },
    }),
  ];
}

async function details(
  { store, calls, created, rules, live }: AdminStreamParts,
  app: AppId,
  channel: string,
): Promise<Infer<typeof one>> {
  const [stream, rule] = [await inStore(created.describe(app, channel)), rules.createdRuleOf(spaceOf(app), channel)];
  if (!stream || stream === "gone" || !rule) throw noStream();
  const name = { spaceId: streamSpaceOf(app), channel };
  const [producers, audience] = await Promise.all([
    inStore(calls.run(store.producers(name, PRODUCERS_SHOWN_MAX))),
    live.audience(spaceOf(app), channel),
  ]);
  return {
    ...shown(channel, stream),
    maxBytes: rule.bytes,
    idleSec: rule.seconds,
    producers: producers.map(({ owner, usedMs, ...one }) => ({
      ...ownerFields(owner),
      ...one,
      used: toSeconds(usedMs),
    })),
    ...audience,
  };
}

/** Producers of a peer are stored under its id with this before it, those of a key under the id of the key. */
const OF_PEER = "peer:";

const ownerFields = (owner: string): { readonly keyId: string } | { readonly peerId: string } =>
  owner.startsWith(OF_PEER) ? { peerId: owner.slice(OF_PEER.length) } : { keyId: owner };

function shown(channel: string, stream: CreatedStream): Infer<typeof described> {
  const { epoch, top, topCheck, first, bytes, config, isClosed, createdMs, endsMs } = stream;
  const { contentType, ttlSeconds, expiresAtMs } = config;
  return {
    channel,
    contentType,
    created: toSeconds(createdMs),
    closed: isClosed,
    messages: top - first + 1,
    bytes,
    pos: positionText({ epoch, offset: top, check: topCheck }),
    ...(ttlSeconds !== undefined && { ttlSec: ttlSeconds }),
    ...(expiresAtMs !== undefined && { expiresAt: toSeconds(expiresAtMs) }),
    endsAt: toSeconds(endsMs),
  };
}

async function inStore<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HistoryUnavailable)) throw error;
    throw new Problem("backend_error", "Streams cannot be read or changed at the moment. Try again.", RETRY_SECONDS);
  }
}
