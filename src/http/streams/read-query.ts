/** What a read asks for: from where, as what, and whether it waits. */
import { Problem } from "../../protocol/codes.ts";
import type { Position } from "../../protocol/position.ts";
import { parsePlace, START } from "../../protocol/streams/offset.ts";
import type { Call } from "../request/call.ts";
import { queryOf } from "../request/query.ts";

export type Place = Position | "start" | "now";
/** `data`: what was written. `messages`: entries as in pages of history. */
export type View = "data" | "messages";

export interface ReadQuery {
  readonly from: Place;
  /** It names no offset: who asks so expects one response, and never asks for the next. */
  readonly isWhole: boolean;
  readonly view: View;
  readonly live: "long-poll" | "sse" | undefined;
  /** The `Stream-Cursor` that the client was given last. */
  readonly cursor: number | undefined;
  /** An EventSource that comes back. */
  readonly isResumed: boolean;
}

const CURSOR = /^\d{1,15}$/;

export function readQueryOf(call: Call): ReadQuery {
  const query = queryOf(call.request);
  const live = one(query, "live");
  if (live !== undefined && live !== "long-poll" && live !== "sse")
    throw new Problem("invalid_request", "live: must be long-poll or sse");
  const view = one(query, "as") ?? "data";
  if (view !== "data" && view !== "messages") throw new Problem("invalid_request", "as: must be messages");
  // The address of an EventSource stays the same when it comes back.
  const last = live === "sse" ? call.request.headers.get("last-event-id") : null;
  const offset = last || one(query, "offset");
  if (live && offset === undefined) throw new Problem("invalid_request", "offset: is required with live");
  const cursor = one(query, "cursor") ?? "";
  return {
    from: offset === undefined ? "start" : placeOf(offset, "offset"),
    isWhole: offset === undefined,
    view,
    live,
    cursor: CURSOR.test(cursor) ? Number(cursor) : undefined,
    isResumed: Boolean(last),
  };
}

export function placeOf(text: string, field: string): Place {
  if (text === "now") return text;
  if (text === "-1" || text === START) return "start";
  const position = parsePlace(text);
  if (!position)
    throw new Problem("invalid_request", `${field}: must be -1, now, or an offset that a response has named`);
  return position;
}

function one(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length > 0) throw new Problem("invalid_request", `${name}: must be given once`);
  return value;
}
