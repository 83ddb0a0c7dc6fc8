/** PUT: a stream begins, or a fork of one. A second PUT that asks for the same finds it. */

import type { CreatedStream, Creating, ForkPoint } from "../../../history/contract/created-streams.ts";
import { randomBase36 } from "../../../history/contract/random.ts";
import { type Code, Problem } from "../../../protocol/codes.ts";
import type { StreamRule } from "../../../protocol/patterns/channel-rules.ts";
import { dataFormOf, messagesOf } from "../../../protocol/streams/data.ts";
import type { CreatedStreams, Kept } from "../../../realtime/streams/created.ts";
import type { Call } from "../../request/call.ts";
import { inHistory } from "../../shared/history-pages.ts";
import { endHeaders } from "../answers.ts";
import { type Caller, permit } from "../caller.ts";
import { addressOf } from "../names.ts";
import { closes, contentTypeIn, forkIn, lifetimeIn } from "../request-headers.ts";
import { bodyProblem } from "./body-problems.ts";

const OCTETS = "application/octet-stream";
const JSON_TYPE = "application/json";

type Refused = Exclude<Creating, { readonly stream: CreatedStream }>["outcome"];

/** The source of a fork that is gone has a name that cannot be used either: the protocol calls both a conflict. */
const REFUSED: Readonly<Record<Refused, readonly [Code, string?]>> = {
  conflict: ["conflict", "There is a stream of this name that was created otherwise, or that has forks."],
  "too many streams": ["conflict", "The application has as many streams as it may have. Delete some first."],
  "stream full": ["stream_full"],
  "application full": ["stream_full"],
  "no source": ["stream_not_found", "There is no stream to fork from under that path."],
  "source gone": ["conflict", "The stream to fork from was deleted."],
  "bad fork point": ["invalid_request", "The stream to fork from has no such place."],
  "other type": ["content_type_mismatch"],
  "fork too large": ["stream_full", "A fork may copy at most 10,000 messages and 16 MiB."],
};

export async function createStream(
  created: CreatedStreams,
  call: Call,
  caller: Caller,
  channel: string,
  kept: Kept,
  body: Uint8Array,
): Promise<Response> {
  const { headers } = call.request;
  if (kept.kind === "history") return existing(created, call, caller, channel, kept, body);
  const contentType = contentTypeIn(headers);
  const fork = forkIn(headers);
  if (fork) permit(caller, fork.source, "subscribe");
  const { ttlSeconds, expiresAtMs } = lifetimeIn(headers);
  const data = await dataOf(created, caller, contentType, fork, body);
  return begin(created, call, caller, channel, kept.rule, {
    contentType,
    ttlSeconds,
    expiresAtMs,
    fork,
    isClosed: closes(headers),
    check: randomBase36(),
    author: caller.author,
    data,
  });
}

async function begin(
  created: CreatedStreams,
  call: Call,
  caller: Caller,
  channel: string,
  rule: StreamRule,
  request: Parameters<CreatedStreams["create"]>[3],
): Promise<Response> {
  const made = await inHistory(created.create(caller.app, channel, rule, request));
  if (made === "over_message_quota") throw new Problem(made);
  if (!("stream" in made)) {
    const [code, message] = REFUSED[made.outcome];
    throw new Problem(code, message);
  }
  const { stream, outcome } = made;
  const { epoch, top, topCheck, isClosed, config } = stream;
  return new Response(null, {
    status: outcome === "created" ? 201 : 200,
    headers: {
      ...endHeaders({ epoch, offset: top, check: topCheck }, isClosed),
      "Content-Type": config.contentType,
      Location: addressOf(call, channel),
    },
  });
}

/** What it begins with. An empty array is nothing. */
async function dataOf(
  created: CreatedStreams,
  { app }: Caller,
  contentType: string | undefined,
  fork: ForkPoint | undefined,
  body: Uint8Array,
): Promise<readonly string[]> {
  if (body.length === 0) return [];
  const source = contentType === undefined && fork ? await inHistory(created.describe(app, fork.source)) : undefined;
  const type = contentType ?? (typeof source === "object" ? source.config.contentType : OCTETS);
  const data = messagesOf(body, dataFormOf(type));
  if (typeof data !== "string") return data;
  if (data === "empty") return [];
  throw bodyProblem(data);
}

/** A channel with history is there, and is as its rule says. */
async function existing(
  created: CreatedStreams,
  call: Call,
  { app }: Caller,
  channel: string,
  kept: Kept,
  body: Uint8Array,
): Promise<Response> {
  const { headers } = call.request;
  const { ttlSeconds, expiresAtMs } = lifetimeIn(headers);
  const isPlain = ttlSeconds === undefined && expiresAtMs === undefined && !forkIn(headers) && !closes(headers);
  if (!isPlain || body.length > 0 || contentTypeIn(headers) !== JSON_TYPE)
    throw new Problem(
      "conflict",
      "This channel has history: it is always there, and its content type is application/json.",
    );
  const found = await inHistory(created.read(app, channel, kept, { limit: 0, maxBytes: 0 }));
  if (!found || found === "gone") throw new Problem("stream_not_found");
  const { epoch, top, topCheck } = found.page.state;
  return new Response(null, {
    headers: { ...endHeaders({ epoch, offset: top, check: topCheck }, false), "Content-Type": JSON_TYPE },
  });
}
