/** Limits of the live lists. A page is put together from one answer per node, so these also bound what nodes send. */

/** Entries per page of channels and peers. */
export const LIVE_PAGE_MAX = 1000;
/** Members per page of one channel: each may have TOKEN_PEER_METADATA_MAX_BYTES of metadata. */
export const LIVE_MEMBERS_MAX = 200;
/** Connections that are shown of one peer, the newest first. */
export const LIVE_CONNECTIONS_MAX = 100;
/** A longer name of a peer is cut. */
export const PEER_NAME_MAX_CHARS = 100;
/** Events that are shown of one peer, the newest. */
export const LIVE_EVENTS_MAX = 256;
/** The name that a node has for itself, a UUID. */
export const NODE_MAX_CHARS = 64;
