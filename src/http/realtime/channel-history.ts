/** The history of a channel over REST: read it by page, delete it. */
import { z } from "zod";
import type { Credential } from "../../access/keys/credential.ts";
import { spaceOf } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import { historyPageRequest } from "../../realtime/streams/page-request.ts";
import type { HistoryPages } from "../../realtime/streams/pages.ts";
import type { Streams } from "../../realtime/streams/streams.ts";
import { notHere } from "../../realtime/streams/texts.ts";
import type { Call } from "../request/call.ts";
import { channelIn } from "../request/path-names.ts";
import { jsonTextResponse } from "../response/json.ts";
import { type Endpoint, endpoint, type Guard } from "../server/endpoint.ts";
import type { AppAudit } from "../shared/audit.ts";
import { historyQuery, inHistory, noHistory } from "../shared/history-pages.ts";
import { permit } from "../shared/messages.ts";

const entry = lazily(() =>
  z
    .object({
      from: z.string(),
      fromMetadata: z.looseObject({}).optional(),
      data: z.unknown(),
      pos: z.string(),
      time: z.int().describe("Unix milliseconds"),
      id: z.string().optional().describe("With which it was published"),
    })
    .meta({ id: "ChannelHistoryMessage" }),
);

const page = lazily(() =>
  z
    .object({
      channel: z.string(),
      pos: z.string().describe("Where the history ends"),
      messages: z.array(entry()).describe("Newest first with `before` or neither, oldest first with `after`"),
      more: z.boolean().describe("More messages follow in the direction of reading"),
    })
    .meta({ id: "ChannelHistory" }),
);

interface ChannelHistoryParts {
  readonly pages: Pick<HistoryPages, "page">;
  readonly streams: Pick<Streams, "retentionOf" | "remove">;
  readonly audit: AppAudit;
}

export function channelHistoryEndpoints(
  guard: Guard<Credential>,
  { pages, streams, audit }: ChannelHistoryParts,
): Endpoint[] {
  const path = "/v1/channels/:channel/history";
  const base = { tag: "channels", guard, path, hasRawSlashes: true } as const;
  const problems = [
    "invalid_request",
    "channel_reserved",
    "channel_not_authorized",
    "action_not_permitted",
    "not_found",
    "backend_error",
  ] as const;
  return [
    endpoint({
      ...base,
      method: "GET",
      summary: "A channel's stored messages, newest first, or after a position",
      query: historyQuery,
      response: page,
      problems,
      handle: async (call, { caller, query }) => {
        const request = historyPageRequest(query);
        if (typeof request === "string") throw new Problem("invalid_request", request);
        const channel = channelOf(call, caller);
        permit(caller, "subscribe");
        const found = await inHistory(pages.page(spaceOf(caller.key.app), channel, request));
        if (found === "not here") throw new Problem("invalid_request", notHere(request));
        if (!found) throw noHistory();
        const json = `{"channel":${JSON.stringify(channel)},${found.fields}}`;
        return jsonTextResponse(`${json}\n`);
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      summary: "Delete a channel's stored messages; its subscribers reconnect",
      response: () => z.object({ channel: z.string(), deleted: z.literal(true) }),
      problems,
      handle: async (call, { caller }) => {
        const channel = channelOf(call, caller);
        permit(caller, "publish");
        const { app, id } = caller.key;
        if (!streams.retentionOf(spaceOf(app), channel)) throw noHistory();
        await inHistory(streams.remove(spaceOf(app), channel));
        audit(call, id, { what: "history deleted", on: channel, app });
        return { channel, deleted: true };
      },
    }),
  ];
}

function channelOf(call: Call, { key }: Credential): string {
  const name = channelIn(call);
  if (!key.scope.matches(name)) throw new Problem("channel_not_authorized");
  return name;
}
