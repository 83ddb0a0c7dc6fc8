/** Limits of the wire, with their unit in the name. Each other part has its own limits.ts; what an operator may change is in config/settings.ts. */

export const KIB = 1024;

/** Peer ids and the JWT `sub`: printable ASCII. */
export const PEER_ID_MAX_CHARS = 128;

export const REQUEST_ID_MAX_CHARS = 128;
/** What `welcome` tells clients: the largest `data`. */
export const MESSAGE_MAX_BYTES = 64 * KIB;
/** A whole frame: the largest message and its envelope. Over it the connection is closed with 1009. */
export const FRAME_MAX_BYTES = MESSAGE_MAX_BYTES + 2 * KIB;
export const CHANNELS_PER_CONNECTION_MAX = 100;

/** A roster waits for the pong behind its ack, but no longer than this. */
export const ROSTER_WAIT_MS = 500;
/** Clients cut frames at 1 MiB: a longer roster goes out in parts. */
export const ROSTER_PART_MAX_BYTES = 960_000;

export const PING_EVERY_MS = 30_000;
/** Silence after which a peer is dropped. */
export const SILENCE_MAX_MS = 60_000;
/** What `going_away` advises. */
export const RETRY_AFTER_MS = 1000;

export const CHANNEL_MAX_BYTES = 256;
export const PATTERNS_MAX = 100;
export const PATTERN_MAX_BYTES = 256;
/**
 * Words of state sets that the search for a union of patterns may look at for one token, some 40 ms. Only patterns that were
 * made for it need more.
 */
export const CONTAINMENT_SEARCH_MAX_STEPS = 4_000_000;
/** Work that counts as one more request against the key's rate: some 0.1 ms. */
export const CONTAINMENT_STEPS_PER_REQUEST = 20_000;

/**
 * The request head, where tokens travel in the query. The longest legal one has 12 KiB of metadata, which counts as it is written,
 * and 100 channels of 256 bytes, which are three times as long if its JSON writes everything beyond ASCII as escapes. In
 * base64url that makes 119 KiB; the rest is for the other headers. Bun's memory for a head doubles as it grows, so one byte
 * more than 128 KiB would let a stranger hold twice as much.
 */
export const REQUEST_HEAD_MAX_BYTES = 128 * KIB;
/** The only version of WebSocket there is (RFC 6455). */
export const WEBSOCKET_VERSION = "13";
