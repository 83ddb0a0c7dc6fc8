/** Answers to reads, and the headers that the protocol gives them. */
import type { Position } from "../../protocol/position.ts";
import { offsetText } from "../../protocol/streams/offset.ts";
import { bodyOf, bodyType } from "./bodies.ts";
import { type Caller, isPublic } from "./caller.ts";
import type { StreamPage } from "./pages.ts";
import type { ReadQuery } from "./read-query.ts";

type AnswerHeaders = Record<string, string>;

const NEXT_OFFSET = "Stream-Next-Offset";
export const CLOSED = "Stream-Closed";

export const endHeaders = (end: Position, isClosed: boolean): AnswerHeaders => ({
  [NEXT_OFFSET]: offsetText(end),
  ...(isClosed && { [CLOSED]: "true" }),
});

/** Where a page ends, and whether it is the end of the stream. */
export const pageHeaders = (page: StreamPage): AnswerHeaders => ({
  ...endHeaders(page.next, page.isClosed),
  ...(page.isUpToDate && { "Stream-Up-To-Date": "true" }),
  ...trimmedHeader(page),
});

export const trimmedHeader = ({ isTrimmed }: Pick<StreamPage, "isTrimmed">): AnswerHeaders =>
  isTrimmed ? { "Parley-Trimmed": "true" } : {};

/** Whether a proxy may keep what is stored. Only what any page may read is shared. */
const cacheControl = (caller: Caller): string =>
  isPublic(caller) ? "public, max-age=60, stale-while-revalidate=300" : "private, no-cache";

const tagOf = ({ epoch, from, next, isClosed }: StreamPage): string =>
  `"${epoch}:${from}:${next.offset}${isClosed ? ":c" : ""}"`;

/** A page as it is answered at once. */
export function pageAnswer(
  request: Request,
  caller: Caller,
  page: StreamPage,
  query: ReadQuery,
  cursor?: number,
): Response {
  const { from, view } = query;
  const headers: AnswerHeaders = {
    ...pageHeaders(page),
    "Content-Type": bodyType(page.contentType, view),
    "Cache-Control": from === "now" && !query.live ? "no-store" : cacheControl(caller),
    ...(cursor !== undefined && { "Stream-Cursor": String(cursor) }),
  };
  if (from !== "now") {
    headers.ETag = tagOf(page);
    if (!query.live && isKnown(request.headers.get("if-none-match"), headers.ETag))
      return new Response(null, { status: 304, headers });
  }
  return new Response(page.body ?? bodyOf(page.messages, page.epoch, page.form, view), { headers });
}

const isKnown = (known: string | null, tag: string): boolean =>
  known?.split(",").some((one) => one.trim().replace(/^W\//, "") === tag) === true;
