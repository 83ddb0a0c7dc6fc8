/** Limits of connections, presence and rates on one node. Those that clients see on the wire are in protocol/limits.ts. */

export const PING_FRAMES_PER_SECOND = 10;
export const PING_FRAMES_BURST = 20;
/**
 * WebSocket pings of a client, and pongs that answer none of our numbered pings. Libraries send one every few seconds at most;
 * the burst is for what has gathered while a network stalled.
 */
export const CONTROL_FRAMES_PER_SECOND = 10;
export const CONTROL_FRAMES_BURST = 100;

/** A reader for which rosters wait is cut when it has not taken the one before within this time. */
export const ROSTER_DRAIN_MAX_MS = 30_000;
/** Of one member of a channel at most this many changes are shown within the window; the rest is shown together behind it. */
export const CHANGES_SHOWN_MAX = 5;
export const CHANGES_SHOWN_WINDOW_MS = 10_000;

/** A connection is closed this long before its token's expiry. */
export const EXPIRY_LEAD_MS = 250;
export const USAGE_FLUSH_MS = 5000;

/** What a connect with a refused credential costs of its address's connects: guessing must stay slow where many may connect. */
export const REFUSED_CONNECT_COST = 10;
