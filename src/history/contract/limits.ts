/** Limits of history, with their unit in the name. Those that clients see are in protocol/limits.ts. */

/** What a stored message takes beside its texts: its row, its index entries, and the rest of the frame that carries it. */
export const MESSAGE_OVERHEAD_BYTES = 256;
/** The part of its application's bytes down to which rooms are trimmed, before the application's own channels lose anything. */
export const ROOMS_SHARE = 1 / 4;
/** Streams per application. Beyond it, those without messages are forgotten, then those that were used least recently. */
export const STREAMS_PER_APP_MAX = 100_000;
/** A stream that never had a message, and that nothing has used for this long, is forgotten. */
export const EMPTY_STREAM_KEPT_MS = 3_600_000;
/** A stream whose messages have all expired, and that nothing has used for this long, is forgotten. */
export const EXPIRED_STREAM_KEPT_MS = 24 * 3_600_000;
/** `open` notes that a stream is used, at most this often. A node opens the streams that it watches again within this time. */
export const STREAM_USE_NOTED_MS = 600_000;
/**
 * PostgreSQL: ids of messages whose time is further ahead of the server's clock are forgotten. After a clock was set back by less, all
 * ids since are remembered until it is where it was.
 */
export const IDS_AHEAD_MAX_MS = 3_600_000;

/** What a fork may copy. */
export const FORK_MAX_MESSAGES = 10_000;
export const FORK_MAX_BYTES = 16 * 1024 * 1024;
/** A fork that is not complete by then is given up. */
export const FORK_COPY_MAX_MS = 60_000;
/** Producers of one owner in one stream, and of all owners. */
export const PRODUCERS_PER_OWNER_MAX = 100;
export const PRODUCERS_MAX = 1000;
/** In a channel with history. Those of a created stream stay as long as it does. */
export const PRODUCER_KEPT_MS = 7 * 24 * 3_600_000;
/** For how long it is remembered that a stream has ended, for nodes that missed the announcement. */
export const ENDED_KEPT_MS = 600_000;
/** The last batch of a process that writes no more is forgotten. */
export const WRITER_KEPT_MS = 24 * 3_600_000;
