/** Limits of connections, presence and rates on one node. Those that clients see on the wire are in protocol/limits.ts. */

export const PING_FRAMES_PER_SECOND = 10;
export const PING_FRAMES_BURST = 20;
export const STATE_FRAMES_PER_SECOND = 10;
export const STATE_FRAMES_BURST = 20;
/** Each `renew` frame is a token to verify, and clients renew once in minutes. */
export const RENEW_FRAMES_PER_SECOND = 1;
export const RENEW_FRAMES_BURST = 5;
/**
 * WebSocket pings of a client, and pongs that answer none of our numbered pings. Libraries send at most one every few seconds;
 * the burst allows for those that have accumulated while a network stalled.
 */
export const CONTROL_FRAMES_PER_SECOND = 10;
export const CONTROL_FRAMES_BURST = 100;

/** A connection for which rosters wait is cut when it has read nothing for this long. */
export const ROSTER_DRAIN_MAX_MS = 30_000;
/** At most this many changes of one member are shown to a channel within the window; the others are held back until its end. */
export const CHANGES_SHOWN_MAX = 5;
export const CHANGES_SHOWN_WINDOW_MS = 10_000;

/**
 * Members without a connection that a node keeps; further ones leave at once. Each takes a few hundred bytes besides its metadata
 * and state, and clients with a publishable key can make new ones as fast as they may connect.
 */
export const LINGERING_MAX = 100_000;
/** One application may have this many of them, so that others have some left. */
export const LINGERING_PER_APP_MAX = LINGERING_MAX / 2;

/** Members in the note of a node that stops, and the characters of that note; the others leave and join. */
export const NOTED_MEMBERS_MAX = 50_000;
export const NOTED_MEMBERS_MAX_CHARS = 32 * 1024 * 1024;
/** Direct messages that wait for one held peer, and the bytes of all that wait on a node. */
export const WAITING_SENDS_PER_PEER_MAX = 64;
export const WAITING_SENDS_MAX_BYTES = 32 * 1024 * 1024;
/** The share of one application, so that it cannot make the messages of others be refused. */
export const WAITING_SENDS_PER_APP_MAX_BYTES = WAITING_SENDS_MAX_BYTES / 4;
/** Direct messages that wait for the first roster of one connection: with one more, all of them are written. */
export const EARLY_DIRECTS_MAX = 64;

/**
 * Ids of direct messages that a node remembers, at most 300 bytes each. Of one application: at 400 messages per second with an id,
 * for two minutes. Beyond it the oldest is forgotten.
 */
export const DIRECT_IDS_MAX = 200_000;
export const DIRECT_IDS_PER_APP_MAX = DIRECT_IDS_MAX / 4;

/** A connection is closed this long before its token's expiry. */
export const EXPIRY_LEAD_MS = 250;
export const USAGE_FLUSH_MS = 5000;

/** A connect with a refused credential counts as this many connects of its address, so that guessing stays slow. */
export const REFUSED_CONNECT_COST = 10;
