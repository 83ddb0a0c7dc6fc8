/** Sentences for clients of channels with history. */
import type { HistoryPageRequest } from "./page-request.ts";

export const NOT_KNOWN_TO_BE_STORED =
  "The store of history did not answer: the message may appear later. Publish it again with the same id.";
export const TOO_MUCH_WAITS = "Too many frames wait for earlier messages to be stored; try again.";
export const HISTORY_AWAY = "The store of history does not answer; try again.";

/** A position that the stream does not have, or no longer. */
export const NOT_HERE = "is not a position in the current history of this channel; read on from the newest messages";

export const notHere = ({ before }: HistoryPageRequest): string => `${before ? "before" : "after"}: ${NOT_HERE}`;
