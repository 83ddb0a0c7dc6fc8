/** Pages of stored messages: their query, what is asked for, and what is refused. */
import { z } from "zod";
import { type AppId, spaceOf } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import type { CreatedPage } from "../../history/contract/created-streams.ts";
import { HistoryUnavailable, type Page, type StoredMessage } from "../../history/contract/history.ts";
import { Problem } from "../../protocol/codes.ts";
import { HISTORY_PAGE_DEFAULT, HISTORY_PAGE_MAX } from "../../protocol/limits.ts";
import { type Position, positionText } from "../../protocol/position.ts";
import { parsePlace } from "../../protocol/streams/offset.ts";
import type { HistoryPageRequest } from "../../realtime/streams/page-request.ts";
import type { HistoryPages } from "../../realtime/streams/pages.ts";
import { NOT_HERE } from "../../realtime/streams/texts.ts";
import { limit } from "./schemas.ts";

const POSITION_MAX_CHARS = 64;
const RETRY_SECONDS = 1;

const position = lazily(() =>
  z.string().max(POSITION_MAX_CHARS, `must have at most ${POSITION_MAX_CHARS} characters`).optional(),
);

export const historyQuery = lazily(() =>
  z.object({
    limit: limit(HISTORY_PAGE_MAX, HISTORY_PAGE_DEFAULT),
    before: position().describe("The `pos` of a message: older ones, newest first. Without both: the newest."),
    after: position().describe("The `pos` of a message: newer ones, oldest first."),
  }),
);

/** For operators, whose errors name the field. `undefined`: nothing was published to this channel since it has history. */
export async function readHistory(
  pages: Pick<HistoryPages, "read">,
  app: AppId,
  channel: string,
  query: Infer<typeof historyQuery>,
): Promise<Page | undefined> {
  const request = requestOf(query);
  const page = await inHistory(pages.read(spaceOf(app), channel, request));
  if (page === "not here") throw refused(request.before ? "before" : "after", NOT_HERE);
  return page;
}

/** The same of a created stream. `undefined`: there is none. */
export async function readCreated(
  pages: Pick<HistoryPages, "readCreated">,
  app: AppId,
  channel: string,
  query: Infer<typeof historyQuery>,
): Promise<CreatedPage | undefined> {
  const request = requestOf(query);
  const found = await inHistory(pages.readCreated(spaceOf(app), channel, request));
  if (found === "not here") throw refused(request.before ? "before" : "after", NOT_HERE);
  return found;
}

function requestOf({ limit: count, before, after }: Infer<typeof historyQuery>): HistoryPageRequest {
  if (before !== undefined && after !== undefined) throw refused("before", "cannot be used together with after");
  const field = before === undefined ? "after" : "before";
  const position = positionIn(field, before ?? after);
  return position ? { [field]: position, limit: count } : { limit: count };
}

function positionIn(field: string, text: string | undefined): Position | undefined {
  if (text === undefined) return undefined;
  const parsed = parsePlace(text);
  if (!parsed) throw refused(field, "must be the pos of a message");
  return parsed;
}

function refused(field: string, message: string): Problem {
  return new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });
}

/** Where the history of a channel ends. */
export const endOf = ({ state }: Page): string =>
  positionText({ epoch: state.epoch, offset: state.top, check: state.topCheck });

export const placeOf = ({ state }: Page, { offset, check }: StoredMessage): string =>
  positionText({ epoch: state.epoch, offset, check });

export async function inHistory<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof HistoryUnavailable)) throw error;
    throw new Problem("backend_error", "History cannot be read or changed at the moment. Try again.", RETRY_SECONDS);
  }
}

export const noStream = (): Problem =>
  new Problem("not_found", "There is no stream of this name: it was not created, was deleted or has expired.");

export const noHistory = (): Problem =>
  new Problem("not_found", "This channel has no history: none of its application's channel rules stores its messages.");
