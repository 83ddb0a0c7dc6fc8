/** Limits of the wire, with their unit in the name. Each other part has its own limits.ts; what an operator may change is in config/settings.ts. */

export const KIB = 1024;

/** Peer ids and the JWT `sub`: printable ASCII. */
export const PEER_ID_MAX_CHARS = 128;

export const REQUEST_ID_MAX_CHARS = 128;
/** The largest `data`; `welcome` announces it. */
export const MESSAGE_MAX_BYTES = 64 * KIB;
/** A whole frame: the largest message and its envelope. A longer one closes the connection with 1009. */
export const FRAME_MAX_BYTES = MESSAGE_MAX_BYTES + 2 * KIB;
/** Fields of the outermost object of a frame, known and unknown ones. More would take long to read. */
export const FRAME_FIELDS_MAX = 64;
export const CHANNELS_PER_CONNECTION_MAX = 100;

/** A roster waits for the pong that follows its ack, but no longer than this. */
export const ROSTER_WAIT_MS = 500;
/** Clients refuse frames over 1 MiB, so a longer roster is sent in parts. */
export const ROSTER_PART_MAX_BYTES = 960_000;

export const PING_EVERY_MS = 30_000;
/** A connection from which nothing came for this long is closed. */
export const SILENCE_MAX_MS = 60_000;
/** The delay that `going_away` asks clients for. */
export const RETRY_AFTER_MS = 1000;

export const CHANNEL_MAX_BYTES = 256;
export const ORIGIN_MAX_CHARS = 256;
export const PATTERNS_MAX = 100;
export const PATTERN_MAX_BYTES = 256;
/**
 * How many steps the search for a union of patterns may take per token, about 40 ms. A step reads one integer of a set of states.
 * Only patterns that were made for that purpose need more.
 */
export const CONTAINMENT_SEARCH_MAX_STEPS = 4_000_000;
/** Work that counts as one more request against the key's rate, about 0.1 ms. */
export const CONTAINMENT_STEPS_PER_REQUEST = 20_000;
/**
 * What one channel that a list reads costs in such steps, or one member that it contains, and what one member that it only counts: 1,000
 * channels are one more request.
 */
export const LISTED_ENTRY_STEPS = 20;
export const COUNTED_MEMBER_STEPS = 10;

/**
 * The request head, in whose query tokens are sent. The longest valid token has 12 KiB of metadata, counted as it is written, and 100
 * channels of 256 bytes, which are three times as long if the JSON writes everything beyond ASCII as escapes. In base64url that is
 * 119 KiB; the rest is for the other headers. Bun doubles the buffer of a head as it grows, so one byte more than 128 KiB would let
 * an unauthenticated client occupy twice the memory.
 */
export const REQUEST_HEAD_MAX_BYTES = 128 * KIB;
/** The only version of WebSocket (RFC 6455). */
export const WEBSOCKET_VERSION = "13";

/** Channel rules per application. */
export const CHANNEL_RULES_MAX = 50;
export const HISTORY_MESSAGES_MAX = 10_000;
export const HISTORY_SECONDS_MAX = 2_592_000;
/** A stream: for how long it may be unused, and the bytes of one. */
export const STREAM_SECONDS_MAX = 2_592_000;
export const STREAM_MIN_BYTES = 65_536;
export const STREAM_MAX_BYTES = 268_435_456;
export const GRACE_SECONDS_MAX = 120;

/** A longer gap is not replayed: `recovered` is false. */
export const REPLAY_MAX_MESSAGES = 1000;
export const REPLAY_MAX_BYTES = 960_000;
/** A replay that has not caught up with the channel within this time is cut. */
export const REPLAY_MAX_MS = 30_000;
/** One page of history. */
export const HISTORY_PAGE_MAX = 100;
export const HISTORY_PAGE_DEFAULT = 50;
export const HISTORY_PAGE_MAX_BYTES = 960_000;
/** The `id` of a message: printable ASCII. */
export const MESSAGE_ID_MAX_CHARS = 64;
/** A second publish with the same id within this time is a duplicate. */
export const MESSAGE_ID_REMEMBERED_MS = 120_000;
/** What a member says about itself with `state`. */
export const STATE_MAX_BYTES = 4 * KIB;
/** Members whose connection the service itself has closed stay this long. */
export const HOLD_MS = 10_000;

/** A room of microphones only takes at least this number of people: a mesh without cameras carries more. */
export const AUDIO_MESH_MAX = 10;
/** The most for which a "join as host" link can be valid: each holder of it is a host until then. */
export const HOST_LINK_MAX_SEC = 90 * 24 * 3600;

/** The address of a backend that gets events. */
export const WEBHOOK_MAX_CHARS = 2048;
/** A DNS name, in ASCII or not, with a port. */
export const WEBHOOK_HOST_MAX_CHARS = 255;
export const WEBHOOK_DESCRIPTION_MAX_CHARS = 256;
