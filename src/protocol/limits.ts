/** Every limit of the wire and of tokens, once, with its unit in the name. Settings an operator may change are in config.ts. */

export const KIB = 1024;

/** Peer ids and the JWT `sub`: printable ASCII. */
export const PEER_ID_MAX_CHARS = 128;

export const REQUEST_ID_MAX_CHARS = 128;
/** What `welcome` tells clients: the largest `data`. */
export const MESSAGE_MAX_BYTES = 64 * KIB;
/** A whole frame: the largest message and its envelope. Over it the connection is closed with 1009. */
export const FRAME_MAX_BYTES = MESSAGE_MAX_BYTES + 2 * KIB;
export const CHANNELS_PER_CONNECTION_MAX = 100;
export const PING_FRAMES_PER_SECOND = 10;
export const PING_FRAMES_BURST = 20;
/**
 * WebSocket pings of a client, and pongs that answer none of our numbered pings. Libraries send one every few seconds at most;
 * the burst is for what has gathered while a network stalled.
 */
export const CONTROL_FRAMES_PER_SECOND = 10;
export const CONTROL_FRAMES_BURST = 100;

/** A roster waits for the pong behind its ack, but no longer than this. */
export const ROSTER_WAIT_MS = 500;
/** Clients cut frames at 1 MiB: a longer roster goes out in parts. */
export const ROSTER_PART_MAX_BYTES = 960_000;
/** A reader for which rosters wait is cut when it has not taken the one before within this time. */
export const ROSTER_DRAIN_MAX_MS = 30_000;
/** Of one member of a channel at most this many changes are shown within the window; the rest is shown together behind it. */
export const CHANGES_SHOWN_MAX = 5;
export const CHANGES_SHOWN_WINDOW_MS = 10_000;

export const PING_EVERY_MS = 30_000;
/** Silence after which a peer is dropped. */
export const SILENCE_MAX_MS = 60_000;
/** A connection is closed this long before its token's expiry. */
export const EXPIRY_LEAD_MS = 250;
export const BLOCK_MAX_SECONDS = 86_400;
/** Peers of one application that are blocked at the same time. */
export const BLOCKS_PER_APP_MAX = 10_000;
export const USAGE_FLUSH_MS = 5000;
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

export const TOKEN_CHANNELS_MAX = 100;
export const TOKEN_PERMISSIONS_MAX = 16;
export const TOKEN_DEFAULT_SECONDS = 3600;
export const TOKEN_MAX_SECONDS = 86_400;
/** `iat` and `nbf` may lie this far in the future: clocks of backends drift. */
export const TOKEN_SKEW_SECONDS = 60;
/** A token with less left than this counts as expired. */
export const TOKEN_MIN_LEFT_MS = 1000;
/** A minted token can be used for a connect for at least this long. */
export const TOKEN_CONNECT_MARGIN_MS = 500;
export const TOKEN_METADATA_MAX_BYTES = 8 * KIB;
export const TOKEN_PEER_METADATA_MAX_BYTES = 4 * KIB;

export const ROOM_NAME_MAX_CHARS = 128;
/** Names that we make up: lower-case letters. */
export const ROOM_NAME_MADE_CHARS = 10;
/** The last second of the year 9999: what is beyond it was meant as milliseconds. */
export const UNIX_SECONDS_MAX = 253_402_300_799;
export const ROOM_PARTICIPANTS_MAX = 100_000;
export const ROOM_SECONDS_MAX = 31_536_000;
export const WEBHOOK_MAX_CHARS = 2048;
export const ACCESS_TOKEN_TEXT_MAX_CHARS = 256;
export const ACCESS_TOKEN_META_MAX_CHARS = 1000;
/** The body of a call that anyone may make: a token, and the name of a room. */
export const ACCESS_TOKEN_QUESTION_MAX_BYTES = 8 * KIB;
/** What is minted fits into such a call. */
export const ACCESS_TOKEN_MAX_CHARS = ACCESS_TOKEN_QUESTION_MAX_BYTES - 256;
export const ROOM_URL_MAX_CHARS = 2048;
export const ROOMS_PAGE_MAX = 100;
export const ROOMS_PAGE_DEFAULT = 50;

/** Long lists that are sent in pieces, at once. */
export const STREAMS_PER_CREDENTIAL_MAX = 8;
export const STREAMS_PER_NODE_MAX = 64;
/** A list of one page with no more text than this is an ordinary answer. */
export const STREAM_WHOLE_MAX_CHARS = 262_144;
export const STREAM_PIECE_CHARS = 65_536;
/** A reader must take so much on average, but for a time that it has at the beginning. */
export const STREAM_MIN_CHARS_PER_SECOND = 65_536;
export const STREAM_GRACE_MS = 30_000;

export const ORIGINS_MAX = 100;
export const ORIGIN_MAX_CHARS = 256;
export const LABEL_MAX_CHARS = 128;
export const APP_NAME_MAX_CHARS = 63;

/** Live keys of one application. */
export const KEYS_PER_APP_MAX = 50;
/** Previous secrets of one key that still verify. */
export const PREVIOUS_SECRETS_MAX = 5;
/** Retired secrets are remembered only to answer `token_expired` instead of `invalid_token`. */
export const RETIRED_SECRETS_KEPT = 20;
export const ROTATION_GRACE_MAX_SECONDS = 2_592_000;

/** An HTTP connection on which nothing moves for so long is closed. Bodies of uploads have a limit of their own. */
export const IDLE_MAX_SECONDS = 10;
export const REST_BODY_MAX_BYTES = 128 * KIB;
/**
 * The request head, where tokens travel in the query. The longest legal one has 12 KiB of metadata, which counts as it is written,
 * and 100 channels of 256 bytes, which are three times as long if its JSON writes everything beyond ASCII as escapes. In
 * base64url that makes 119 KiB; the rest is for the other headers. Bun's memory for a head doubles as it grows, so one byte
 * more than 128 KiB would let a stranger hold twice as much.
 */
export const REQUEST_HEAD_MAX_BYTES = 128 * KIB;
/** With more connections than this that are no WebSockets, heads must be short, so that half-sent ones hold less memory. */
export const LONG_HEAD_CONNECTIONS_MAX = 1000;
export const REQUEST_HEAD_SHORT_BYTES = 16 * KIB;
/** What a connect with a refused credential costs of its address's connects: guessing must stay slow where many may connect. */
export const REFUSED_CONNECT_COST = 10;
/** The only version of WebSocket there is (RFC 6455). */
export const WEBSOCKET_VERSION = "13";
/** Wrong admin tokens from one address before it has to wait. */
export const ADMIN_WRONG_TRIES_PER_MINUTE = 10;
/** A shorter admin token stops the start: it could be guessed. */
export const ADMIN_TOKEN_MIN_CHARS = 16;

export const RECORDINGS_PAGE_MAX = 100;
export const RECORDINGS_PAGE_DEFAULT = 50;
export const RECORDING_USERNAME_MAX_CHARS = 256;
export const RECORDING_SESSION_MAX_CHARS = 128;
/** Open uploads of one application. */
export const OPEN_UPLOADS_MAX = 20;
/** An upload that shows no sign of life for so long is ended. */
export const UPLOAD_ABANDONED_MS = 24 * 3_600_000;
/** Bytes that nobody knows are left alone until they are so old: an upload they could belong to would have been ended. */
export const STRAY_AGE_MS = UPLOAD_ABANDONED_MS + 3_600_000;
/** Files that belong to no recording are set aside for so long before they are removed. */
export const QUARANTINE_MS = 30 * 24 * 3_600_000;
/** More strays than these in one sweep, or more than this share of all files, are left alone until the operator says so. */
export const STRAYS_PER_SWEEP_MAX = 100;
export const STRAYS_SHARE_MAX = 0.1;
/** A writer that sends nothing for so long has lost its connection. */
export const UPLOAD_SILENCE_MAX_MS = 60_000;
export const LINK_MAX_SECONDS = 43_200;
