/** Limits of direct messages on one node. */

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
