/** Limits of HTTP requests and of long answers. */
import { KIB } from "../protocol/limits.ts";

/** Long lists that are sent in pieces, at once. */
export const STREAMS_PER_CREDENTIAL_MAX = 8;
export const STREAMS_PER_NODE_MAX = 64;
/** A list of one page with no more text than this is an ordinary answer. */
export const STREAM_WHOLE_MAX_CHARS = 262_144;
export const STREAM_PIECE_CHARS = 65_536;
/** A reader must take so much on average, but for a time that it has at the beginning. */
export const STREAM_MIN_CHARS_PER_SECOND = 65_536;
export const STREAM_GRACE_MS = 30_000;

/** An HTTP connection on which nothing moves for so long is closed. Bodies of uploads have a limit of their own. */
export const IDLE_MAX_SECONDS = 10;
export const REST_BODY_MAX_BYTES = 128 * KIB;
/** With more connections than this that are no WebSockets, heads must be short, so that half-sent ones hold less memory. */
export const LONG_HEAD_CONNECTIONS_MAX = 1000;
export const REQUEST_HEAD_SHORT_BYTES = 16 * KIB;
