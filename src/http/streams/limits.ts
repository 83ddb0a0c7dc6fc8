/** Limits of streams over HTTP. What a stream holds is limited by its rule, and by what its application may have. */
import { KIB } from "../../protocol/limits.ts";

/** The body of a write. */
export const STREAM_BODY_MAX_BYTES = 1024 * KIB;
/** A longer body is read to its end before it is refused, if it has at most this much and comes within this time. */
export const DISCARD_MAX_BYTES = 16 * 1024 * KIB;
export const DISCARD_MAX_MS = 20_000;
/** What one response or one event carries, as messages count. */
export const PAGE_MAX_BYTES = 256 * KIB;
/** What a response to a read without an offset carries: all that one write may have brought. As stored, which is in base64 unless it is text. */
export const WHOLE_MAX_BYTES = 1.5 * STREAM_BODY_MAX_BYTES;
export const PAGE_MAX_MESSAGES = 1024;
export const PRODUCER_ID_MAX_CHARS = 128;
export const STREAM_SEQ_MAX_CHARS = 256;
export const CONTENT_TYPE_MAX_CHARS = 128;
/** A thousand years. */
export const TTL_MAX_SECONDS = 31_536_000_000;

/** Readers that wait for messages: on one node, and of one peer or, with a publishable key, of one address. */
export const READERS_MAX = 10_000;
export const READERS_PER_CALLER_MAX = 100;
/** An event stream ends after a time between these: then a CDN can send those who come back to one request. */
export const EVENTS_MIN_MS = 55_000;
export const EVENTS_MAX_MS = 65_000;
/** A comment after this long without an event. A reader that has taken nothing by then is cut. */
export const COMMENT_EVERY_MS = 15_000;
/** How often it is checked whether readers may still read. */
export const SWEEP_EVERY_MS = 1000;
/** How long a turn of the process may write to readers. */
export const SLICE_MS = 5;
/** Responses of long polls that a turn begins: most of their work is done after it. */
export const SLICE_POLLS = 50;
/** A channel is followed for this long after its last reader: those of long polls come back at once. */
export const FEED_KEPT_MS = 5000;

/** Cursors count the intervals since 2024-10-09. */
export const CURSOR_EPOCH_MS = Date.UTC(2024, 9, 9);
export const CURSOR_INTERVAL_MS = 20_000;
/** A cursor that is not behind grows by up to this many intervals, an hour. */
export const CURSOR_JITTER_MAX = 180;
