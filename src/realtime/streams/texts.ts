/** Sentences for clients of channels with history. */
import type { HistoryPageRequest } from "./page-request.ts";

export const NOT_KNOWN_TO_BE_STORED =
  "The history store did not answer, so the message may still appear later. Publish it again with the same id.";
export const TOO_MUCH_WAITS = "Too many frames are waiting for earlier messages to be stored. Try again.";
export const HISTORY_AWAY = "The history store is not responding. Try again.";

/** A position that the stream does not have, or no longer. */
export const NOT_HERE = "is not a position in this channel's current history; start again from the newest messages";

export const notHere = ({ before }: HistoryPageRequest): string => `${before ? "before" : "after"}: ${NOT_HERE}`;
