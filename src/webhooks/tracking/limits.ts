/** Limits of what nodes write of their connections and memberships. */

/** What came and went within this time may be seen by no one. */
export const BATCH_MS = 100;
/** Rows of one transaction: SQLite writes them on the event loop, in about 4 ms. */
export const BATCH_ROWS = 250;
/** A member that has left may come back within this time, through another node too: then it has not left. */
export const LEAVE_HELD_MS = 500;
export const BEAT_EVERY_MS = 3000;
/** After a write that has failed. */
export const RETRY_MS = 500;
/** Rows of one application, over all nodes. */
export const TRACKED_ROWS_MAX = 100_000;
/** With more rows than this they are counted before rows are added: other nodes add some too. */
export const COUNTED_FROM = TRACKED_ROWS_MAX / 2;
export const COUNTED_EVERY_MS = 30_000;
/** What a node has not written yet. Beyond it, it writes all of its rows again when the store answers. */
export const PENDING_MAX = 20_000;
/** A store that does not answer must not keep a node from stopping. */
export const STOP_MAX_MS = 3000;
