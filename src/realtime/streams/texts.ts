/** Sentences for clients of channels with history. */

export const NOT_KNOWN_TO_BE_STORED =
  "The store of history did not answer: the message may appear later. Publish it again with the same id.";
export const TOO_MUCH_WAITS = "Too many frames wait for earlier messages to be stored; try again.";
export const HISTORY_AWAY = "The store of history does not answer; try again.";
