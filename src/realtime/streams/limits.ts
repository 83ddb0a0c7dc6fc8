/** Limits of streams on one node. Those that clients see are in protocol/limits.ts. */

/** A missing message is usually on its way from another node: it is read from the store only after this time. */
export const GAP_WAIT_MS = 20;
/** The same for the newest messages, of which nothing shows that they are missing but the store. */
export const TAIL_WAIT_MS = 200;
/** How often the ends of all streams are read from a store that other nodes write to, and from how long before the last time. */
export const TOPS_EVERY_MS = 1000;
export const TOPS_OVERLAP_MS = 10_000;
/** A call of the store that has not answered by then has failed. */
export const STORE_MAX_MS = 2000;
/** A read that has failed is repeated after this time. */
export const READ_AGAIN_MS = 250;
/** Messages and bytes of one read for a gap or a replay. */
export const READ_MAX_MESSAGES = 256;
export const READ_MAX_BYTES = 256 * 1024;
/** Long reads at the same time, for recoveries and pages: each may hold REPLAY_MAX_BYTES in memory. */
export const LONG_READS_MAX = 8;
/** How much of a turn of the process long reads take, and replays as well: the more, the longer everything else takes. */
export const TURN_SHARE_MIN_MS = 4;
export const TURN_SHARE_MAX_MS = 200;
/** How much a replay writes before another connection is served. */
export const REPLAY_SLICE_MESSAGES = 50;
export const REPLAY_SLICE_BYTES = 64 * 1024;
/** A message that was read from the store waits this long for the join of its sender. */
export const JOIN_WAIT_MS = 1000;
/** Later messages of the same sender do not wait again within this time. */
export const AWAITED_MS = 5000;
export const AWAITED_MAX_SENDERS = 10_000;
/** The store forgets streams that are not used: those with subscribers are opened again this often. */
export const REOPEN_EVERY_MS = 300_000;
export const REOPENED_PER_SECOND_MAX = 100;
/** `history` frames of one connection. */
export const HISTORY_FRAMES_PER_SECOND = 5;
export const HISTORY_FRAMES_BURST = 10;
