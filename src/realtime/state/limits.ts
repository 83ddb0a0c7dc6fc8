/** Limits of what waits in a stream or behind the messages of a connection. */

/** Messages that arrived before an earlier one. What is beyond is read from the store later. */
export const AHEAD_MAX_MESSAGES = 256;
export const AHEAD_MAX_BYTES = 1_000_000;
/** Frames of a connection that wait until its earlier messages are stored. */
export const BACKLOG_MAX_FRAMES = 1000;
export const BACKLOG_MAX_BYTES = 1_000_000;
