/** POST: bytes or messages are appended, the stream is closed, or both. */
import type { Producer } from "../../../history/contract/created-streams.ts";
import type { WriteOutcome } from "../../../history/stream-writes.ts";
import { type Code, Problem } from "../../../protocol/codes.ts";
import { dataFormOf, messagesOf } from "../../../protocol/streams/data.ts";
import type { CreatedStreams, Kept, WriteRequest } from "../../../realtime/streams/created.ts";
import type { Call } from "../../request/call.ts";
import { inHistory } from "../../shared/history-pages.ts";
import { CLOSED, endHeaders } from "../answers.ts";
import type { Caller } from "../caller.ts";
import { closes, contentTypeIn, producerIn, streamSeqIn } from "../request-headers.ts";
import { bodyProblem } from "./body-problems.ts";

const RETRY_SECONDS = 1;
const NOT_KNOWN =
  "The store did not answer, so the write may still appear later. Send it again; with producer headers it is stored once.";

interface Asked {
  readonly request: WriteRequest;
  /** Why the body is refused, if nothing else is wrong. */
  readonly problem: Problem | undefined;
}

type Refused = Exclude<WriteOutcome, "unconfirmed" | { readonly appended: unknown }>;

export async function append(
  created: CreatedStreams,
  call: Call,
  caller: Caller,
  channel: string,
  kept: Kept,
  body: Uint8Array,
): Promise<{ readonly response: Response; readonly messages: number }> {
  const { request, problem } = await asked(created, call, caller, channel, kept, body);
  const writing = created.write(caller.app, channel, kept, request);
  if (writing === "over_message_quota") throw new Problem(writing);
  const written = await writing;
  if (written === "unconfirmed") throw new Problem("backend_error", NOT_KNOWN, RETRY_SECONDS);
  if (!("appended" in written)) throw refusal(call, written, request.producer, problem);
  const { end, isClosed, producerSeq, appended } = written;
  const { producer } = request;
  const headers = {
    ...endHeaders(end, isClosed),
    ...(producer && { "Producer-Epoch": String(producer.epoch), "Producer-Seq": String(producerSeq ?? producer.seq) }),
  };
  const status = producer && appended.length > 0 ? 200 : 204;
  return { response: new Response(null, { status, headers }), messages: appended.length };
}

/** What is not even asked for properly is refused after what is not there. */
async function asked(
  created: CreatedStreams,
  call: Call,
  caller: Caller,
  channel: string,
  kept: Kept,
  body: Uint8Array,
): Promise<Asked> {
  try {
    return read(call.request.headers, caller, kept, body);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "invalid_request" || kept.kind === "history") throw error;
    const found = await inHistory(created.describe(caller.app, channel));
    if (found === "gone") throw new Problem("stream_gone");
    throw found ? error : new Problem("stream_not_found");
  }
}

function read(headers: Headers, caller: Caller, kept: Kept, body: Uint8Array): Asked {
  const isClosing = closes(headers);
  const hasBody = body.length > 0;
  const type = hasBody ? contentTypeIn(headers) : undefined;
  const data = type === undefined ? [] : messagesOf(body, dataFormOf(type));
  const problem = typeof data === "string" ? bodyProblem(data) : undefined;
  if (problem?.code === "body_too_large") throw problem;
  const producer = producerIn(headers, caller.owner);
  const seq = streamSeqIn(headers);
  if (hasBody && type === undefined) throw new Problem("invalid_request", "A body needs a Content-Type.");
  if (!hasBody && !isClosing)
    throw new Problem(
      "invalid_request",
      "There is nothing to append. Without a body, Stream-Closed: true closes the stream.",
    );
  if (kept.kind === "history" && (isClosing || seq !== undefined))
    throw new Problem("conflict", "This channel has history: it is not closed, and takes no Stream-Seq.");
  const messages = typeof data === "string" ? [] : data;
  const isMalformed = problem !== undefined;
  return {
    request: {
      author: caller.author,
      data: messages,
      contentType: type,
      isMalformed,
      closes: isClosing,
      seq,
      producer,
    },
    problem,
  };
}

const REFUSED = {
  "not found": ["stream_not_found"],
  gone: ["stream_gone"],
  "stale epoch": ["stale_producer"],
  closed: ["stream_closed"],
  "other type": ["content_type_mismatch"],
  malformed: ["invalid_request"],
  gap: ["producer_gap"],
  "bad epoch": ["invalid_request", "The first Producer-Seq of a new Producer-Epoch is 0."],
  "too many producers": [
    "conflict",
    "Too many producers write to this stream: at most 100 of one key or peer, and 1,000 of all.",
  ],
  "seq not increasing": ["conflict", "Stream-Seq must be greater than that of the last write."],
  "stream full": ["stream_full"],
  "application full": ["stream_full"],
} as const satisfies Record<string, readonly [Code, string?]>;

function refusal(
  { headers }: Call,
  written: Refused,
  producer: Producer | undefined,
  problem: Problem | undefined,
): Problem {
  if ("end" in written) Object.assign(headers, endHeaders(written.end, written.isClosed));
  if (written.outcome === "closed") headers[CLOSED] = "true";
  if (written.outcome === "stale epoch") headers["Producer-Epoch"] = String(written.epoch);
  if (written.outcome === "gap") {
    headers["Producer-Expected-Seq"] = String(written.expected);
    headers["Producer-Received-Seq"] = String(producer?.seq ?? 0);
  }
  if (written.outcome === "malformed" && problem) return problem;
  const [code, message]: readonly [Code, string?] = REFUSED[written.outcome];
  return new Problem(code, message);
}
