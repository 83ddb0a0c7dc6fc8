/** Limits of the live tail. Each reader gets a batch every BATCH_EVERY_MS; what does not fit is counted and not built. */

export const BATCH_EVERY_MS = 100;
/** 2,000 events per second: more than a person or a page can follow. */
export const BATCH_EVENTS_MAX = 200;
export const BATCH_MAX_CHARS = 131_072;
/** Longer payloads are cut. */
export const DATA_MAX_CHARS = 4096;
/** One event: its names, and the largest payload as an escaped text. */
export const LINE_MAX_CHARS = 32_768;

/** Readers that this node serves, and readers of other nodes that it gathers events for. */
export const READERS_MAX = 20;
export const REMOTE_READERS_MAX = 40;
/** All operators of the role read together have at most this many of them. The rest is kept for admins, who need the tail in an incident. */
export const READ_ROLE_READERS_MAX = 12;
export const REMOTE_READ_ROLE_READERS_MAX = 24;
/** Readers of one operator on this node: a single one must not take the places of all others. */
export const READERS_PER_ADMIN_MAX = 10;
export const READERS_PER_READ_OPERATOR_MAX = 4;

/** Channel names whose match is cached per reader. */
export const CACHED_CHANNELS_MAX = 1000;

/** A node that has readers repeats its filters to the other nodes; they stop if it has been silent for LEASE_MS. */
export const RENEW_EVERY_MS = 2000;
export const LEASE_MS = 6000;
/** Other nodes that have readers at the same time. */
export const LEASES_MAX = 1000;
