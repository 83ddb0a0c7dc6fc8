/** Limits of connections on one node: rates of frames, and peers and members that are expected back. */

/** A visitor in a lobby, whom anyone can be, subscribes to one channel, renews its token, and waits: it needs few frames. */
export const LOBBY_FRAMES_PER_SECOND = 20;
export const LOBBY_FRAMES_BURST = 200;
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
/**
 * Members without a connection that a node keeps; further ones leave at once. Each takes a few hundred bytes besides its metadata
 * and state, and clients with a publishable key can make new ones as fast as they may connect.
 */
export const LINGERING_MAX = 100_000;
/** One application may have this many of them, so that others have some left. */
export const LINGERING_PER_APP_MAX = LINGERING_MAX / 2;
/** A connection is closed this long before its token's expiry. */
export const EXPIRY_LEAD_MS = 250;
/** A connect with a refused credential counts as this many connects of its address, so that guessing stays slow. */
export const REFUSED_CONNECT_COST = 10;
