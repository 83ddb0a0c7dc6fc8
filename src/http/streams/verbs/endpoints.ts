/** `/v1/stream/<channel>`: streams over HTTP, by the Durable Streams protocol. */
import { z } from "zod";
import { lazily } from "../../../base/lazily.ts";
import type { Code } from "../../../protocol/codes.ts";
import type { CreatedStreams } from "../../../realtime/streams/created.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { KeyTraffic } from "../../../telemetry/key-traffic.ts";
import type { Call } from "../../request/call.ts";
import type { Endpoint, Method } from "../../server/endpoint.ts";
import type { AppAudit } from "../../shared/audit.ts";
import { pageAnswer } from "../answers.ts";
import { type Caller, permit, permitManaging } from "../caller.ts";
import type { Credentials } from "../credentials.ts";
import { preflight } from "../cross-origin.ts";
import type { Live } from "../live/live.ts";
import { STREAM_PATH, streamIn } from "../names.ts";
import { keptOf, type StreamPages } from "../pages.ts";
import { readQueryOf } from "../read-query.ts";
import { closes } from "../request-headers.ts";
import { append } from "./append.ts";
import { bodyIn } from "./body.ts";
import { createStream } from "./create.ts";
import { head } from "./head.ts";
import { removeStream } from "./remove.ts";

interface StreamParts {
  readonly created: CreatedStreams;
  readonly streams: Pick<Streams, "remove">;
  readonly credentials: Credentials;
  readonly pages: StreamPages;
  readonly live: Live;
  readonly keyTraffic: Pick<KeyTraffic, "of">;
  readonly audit: AppAudit;
  readonly nowMs: () => number;
}

/** What a stream holds is written by others: it is no page of this service, whatever its content type says. */
const HEADERS = {
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Content-Security-Policy": "default-src 'none'; sandbox",
};

const PROBLEMS = [
  "invalid_request",
  "channel_reserved",
  "channel_not_authorized",
  "action_not_permitted",
  "not_found",
  "stream_not_found",
  "stream_gone",
  "backend_error",
] as const satisfies readonly Code[];

const query = lazily(() =>
  z.object({
    offset: z.string().describe("Where to begin: `-1` (the start), `now`, or a `Stream-Next-Offset`.").optional(),
    live: z.enum(["long-poll", "sse"]).describe("Waits for what comes. Needs `offset`.").optional(),
    cursor: z.string().describe("The `Stream-Cursor` of the response before.").optional(),
    as: z.enum(["messages"]).describe("Messages as in pages of history instead of what was written.").optional(),
    token: z.string().describe("A connect token, for clients that cannot send headers.").optional(),
    key: z.string().describe("A publishable key.").optional(),
  }),
);

const nothing = lazily(() => z.unknown().meta({ description: "No body; the headers say where the stream ends." }));
const content = lazily(() => z.unknown().meta({ description: "What was written, in the content type of the stream." }));

export function streamEndpoints(parts: StreamParts): Endpoint[] {
  const { created, pages, live, keyTraffic } = parts;
  /** Not before the caller is admitted; afterwards the credential is checked again. */
  const bodyOf = async (call: Call, caller: Caller): Promise<{ body: Uint8Array; caller: Caller }> => {
    const body = await bodyIn(call);
    return { body, caller: parts.credentials.recheck(caller) };
  };
  const count = ({ app, key }: Caller, messages: number): void => {
    keyTraffic.of(app, key.id).messages += messages;
  };

  const put = async (call: Call, first: Caller, channel: string): Promise<Response> => {
    permitManaging(first, channel);
    const { body, caller } = await bodyOf(call, first);
    return createStream(created, call, caller, channel, keptOf(created, caller, channel), body);
  };
  const post = async (call: Call, first: Caller, channel: string): Promise<Response> => {
    const permitWrite = closes(call.request.headers) ? permitManaging : permitPublish;
    permitWrite(first, channel);
    const { body, caller } = await bodyOf(call, first);
    permitWrite(caller, channel);
    const { response, messages } = await append(created, call, caller, channel, keptOf(created, caller, channel), body);
    count(caller, messages);
    return response;
  };
  const get = async (call: Call, caller: Caller, channel: string): Promise<Response> => {
    permit(caller, channel, "subscribe");
    const kept = keptOf(created, caller, channel);
    if (call.request.method === "HEAD") return head(created, caller, channel, kept);
    const asked = readQueryOf(call);
    const page = await pages.read(caller, channel, kept, asked.from, asked.isWhole);
    // The read has waited for the store.
    parts.credentials.recheck(caller);
    use(caller, channel, page.stream);
    if (asked.live === "long-poll") return live.longPoll(call, caller, channel, kept, asked, page);
    if (asked.live === "sse") return live.events(call, caller, channel, kept, asked, page);
    return pageAnswer(call.request, caller, page, asked);
  };
  const use = ({ app }: Caller, channel: string, stream: Parameters<CreatedStreams["used"]>[2] | undefined): void => {
    if (stream) created.used(app, channel, stream, parts.nowMs());
  };
  const remove = async (call: Call, caller: Caller, channel: string): Promise<Response> => {
    permitManaging(caller, channel);
    return removeStream(parts, call, caller, channel, keptOf(created, caller, channel));
  };

  const endpoint = (
    method: Method,
    summary: string,
    handle: (call: Call, caller: Caller, channel: string) => Promise<Response>,
    more: Partial<Endpoint> = {},
  ): Endpoint => ({
    method,
    path: STREAM_PATH,
    tag: "streams",
    summary,
    security: "secretKey",
    scope: undefined,
    body: undefined,
    query: undefined,
    response: nothing,
    responseType: "application/json",
    otherStatuses: [],
    bodyType: undefined,
    hasRawSlashes: true,
    origins: undefined,
    preflight,
    run: async (call) => {
      Object.assign(call.headers, HEADERS);
      const caller = await parts.credentials.admit(call);
      return handle(call, caller, streamIn(call));
    },
    ...more,
    problems: [...PROBLEMS, ...(more.problems ?? [])],
  });
  return [
    endpoint("GET", "Read a stream, or wait for what comes", get, {
      query,
      response: content,
      responseType: "*/*",
      otherStatuses: [204, 304],
      problems: ["offset_gone"],
    }),
    endpoint("PUT", "Create a stream, or a fork of one", put, {
      bodyType: "*/*",
      otherStatuses: [201],
      problems: ["conflict", "content_type_mismatch", "stream_full", "over_message_quota", "body_too_large"],
    }),
    endpoint("POST", "Append to a stream, close it, or both", post, {
      bodyType: "*/*",
      otherStatuses: [204],
      problems: [
        "conflict",
        "content_type_mismatch",
        "producer_gap",
        "stale_producer",
        "stream_closed",
        "stream_full",
        "over_message_quota",
        "body_too_large",
      ],
    }),
    endpoint("DELETE", "Delete a stream, or the stored messages of a channel with history", remove, {
      otherStatuses: [204],
    }),
  ];
}

const permitPublish = (caller: Caller, channel: string): void => permit(caller, channel, "publish");
