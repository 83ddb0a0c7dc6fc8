/** What is asked for of a channel's history, in a frame or a REST query; whether the position is of this stream is found out in pages.ts. */
import { HISTORY_PAGE_DEFAULT, HISTORY_PAGE_MAX } from "../../protocol/limits.ts";
import type { Position } from "../../protocol/position.ts";
import { parsePlace } from "../../protocol/streams/offset.ts";

export interface HistoryPageRequest {
  /** Messages before this one, newest first. With neither: the newest. */
  readonly before?: Position;
  /** Messages behind this one, oldest first. */
  readonly after?: Position;
  readonly limit: number;
}

/** A sentence if a field is not what it must be. */
export function historyPageRequest(fields: Readonly<Record<string, unknown>>): HistoryPageRequest | string {
  const { before, after, limit = HISTORY_PAGE_DEFAULT } = fields;
  if (before !== undefined && after !== undefined) return "before, after: send at most one of them";
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > HISTORY_PAGE_MAX)
    return `limit: must be a whole number from 1 to ${HISTORY_PAGE_MAX}`;
  const named = before ?? after;
  if (named === undefined) return { limit };
  const position = typeof named === "string" ? parsePlace(named) : undefined;
  if (!position) return `${before === undefined ? "after" : "before"}: must be a position (\`pos\`) of this service`;
  return before === undefined ? { after: position, limit } : { before: position, limit };
}
