/** Pages of stored messages: their query, how they are read, and what is refused. */
import { z } from "zod";
import {
  type HistoryStore,
  HistoryUnavailable,
  type Page,
  type StoredMessage,
} from "../../history/contract/history.ts";
import { Problem } from "../../protocol/codes.ts";
import { HISTORY_PAGE_DEFAULT, HISTORY_PAGE_MAX, HISTORY_PAGE_MAX_BYTES } from "../../protocol/limits.ts";
import { type Position, parsePosition, positionText } from "../../protocol/position.ts";
import { limit } from "./schemas.ts";

const POSITION_MAX_CHARS = 64;
const RETRY_SECONDS = 1;

const position = z.string().max(POSITION_MAX_CHARS, `must have at most ${POSITION_MAX_CHARS} characters`).optional();

export const historyQuery = z.object({
  limit: limit(HISTORY_PAGE_MAX, HISTORY_PAGE_DEFAULT),
  before: position.describe("The `pos` of a message: older ones, newest first. Without both: the newest."),
  after: position.describe("The `pos` of a message: newer ones, oldest first."),
});

/** `undefined`: nothing was published to this channel since it has history. */
export async function readHistory(
  history: Pick<HistoryStore, "read">,
  app: string,
  channel: string,
  { limit: count, before, after }: z.infer<typeof historyQuery>,
): Promise<Page | undefined> {
  if (before !== undefined && after !== undefined) throw refused("before", "cannot be used together with after");
  const field = before === undefined ? "after" : "before";
  const from = positionIn(field, before ?? after);
  const range = { limit: count, maxBytes: HISTORY_PAGE_MAX_BYTES, ...(from && { [field]: from.offset }) };
  const page = await inHistory(history.read(app, channel, range));
  if (!from) return page;
  if (!page || page.state.epoch !== from.epoch || !fits(page, from, field)) throw refused(field, NOT_HERE);
  return page;
}

const NOT_HERE = "is not a position in the present history of this channel; read on from the newest messages";

/** A position whose message was removed is no mistake: older messages are gone, and newer ones follow it. */
const fits = ({ state, check }: Page, { offset, check: given }: Position, field: "before" | "after"): boolean =>
  check === undefined ? field === "before" && offset < state.first : check === given;

function positionIn(field: string, text: string | undefined): Position | undefined {
  if (text === undefined) return undefined;
  const parsed = parsePosition(text);
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
    throw new Problem("backend_error", "History cannot be read or changed at the moment; try again.", RETRY_SECONDS);
  }
}

export const noHistory = (): Problem =>
  new Problem("not_found", "This channel has no history: no channel rule of its application keeps its messages.");
