/** Limits of HTTP requests and of streamed lists. */
import { KIB } from "../protocol/limits.ts";

/** Lists that are streamed at the same time. */
export const STREAMS_PER_APP_MAX = 8;
export const STREAMS_PER_NODE_MAX = 64;
/** A list of one page with at most this much text is not streamed. */
export const STREAM_WHOLE_MAX_CHARS = 262_144;
export const STREAM_PIECE_CHARS = 65_536;
/** The average rate at which a client must read a streamed list, after the grace period at its start. */
export const STREAM_MIN_CHARS_PER_SECOND = 65_536;
export const STREAM_GRACE_MS = 30_000;

/** Server-Sent Events: a client that takes nothing between two heartbeats is cut, and one that lost its stream waits before it retries. */
export const EVENT_HEARTBEAT_MS = 15_000;
export const EVENT_RETRY_MS = 2000;
/** Live lists, nodes and charts per operator: a page of a large service costs a few milliseconds of CPU on every node. */
export const LIVE_READS_BURST = 200;
export const LIVE_READS_PER_SECOND = 30;
/** What else operators read that costs more than a row: lists, searches, the audit, usage. Pages of the dashboard ask a few times per second at most. */
export const STORED_READS_BURST = 200;
export const STORED_READS_PER_SECOND = 20;
/** Connect tokens that an operator has checked or explained. The costliest counts as some 200, and takes about 100 ms of CPU. */
export const TOKEN_CHECKS_BURST = 1000;
export const TOKEN_CHECKS_PER_SECOND = 200;
/** What the work of one request of a key's clients counts as here. */
export const TOKEN_CHECKS_PER_REQUEST = 5;
/** Recordings that are sent to operators at the same time: from a bucket with a piece of 2 MiB of each in memory, from a folder with a smaller one. */
export const BUCKET_DOWNLOADS_MAX = 16;
export const FOLDER_DOWNLOADS_MAX = 64;
/** An answer to a player of many files has at most this: browsers take that much off a connection, also while they want no more of it. */
export const FILE_PIECE_BYTES = 512 * KIB;
/** Backups, of which a piece of up to 8 MiB is in memory. */
export const BACKUP_DOWNLOADS_MAX = 4;
/** A client of a backup that takes nothing for this long is cut: meanwhile no other backup is made, and no deleted recording is removed. */
export const BACKUP_PAUSE_MAX_MS = 10 * 60_000;

/** A DNS name, or an IPv6 address in brackets, with a port. */
export const HOST_MAX_CHARS = 255;
/** Other servers accept no more in a whole request head. */
export const COOKIE_MAX_CHARS = 16 * KIB;
/** Idle time after which an HTTP connection is closed. Bodies of uploads have a stall timeout of their own. */
export const IDLE_MAX_SECONDS = 10;
export const REST_BODY_MAX_BYTES = 128 * KIB;
/** A longer query is not read: its parameters would take 30 ms, also of callers without a credential. */
export const QUERY_MAX_CHARS = 8 * KIB;
/** Nor is one with more parameters. */
export const QUERY_FIELDS_MAX = 128;
/** Fields of a form, or of the outermost object of a JSON body. A room has fewer than a hundred. */
export const BODY_FIELDS_MAX = 500;
/**
 * Values in a JSON body that is checked as a whole; objects, lists and keys count as one more each. The metadata of a token has at most 8,200,
 * if it is made of empty lists.
 */
export const BODY_VALUES_MAX = 10_000;
/** Bodies of a few short fields: completing an upload, signing in. */
export const COMPLETE_BODY_MAX_BYTES = 4 * KIB;
/** SPEECH_INTERVALS_MAX intervals, each with two numbers of eight digits. */
export const SPEECH_BODY_MAX_BYTES = 64 * KIB;
export const SIGN_IN_BODY_MAX_BYTES = 4 * KIB;
/** Bounds a path whose name may hold slashes. A channel has 256 bytes, each of which may be sent as three characters. */
export const SLASHED_PATH_MAX_CHARS = 4 * KIB;
/** With more connections than this that are no WebSockets, only short request heads are accepted (head-limit.ts). */
export const LONG_HEAD_CONNECTIONS_MAX = 1000;
export const REQUEST_HEAD_SHORT_BYTES = 16 * KIB;
/**
 * Open files that connections leave free (file-reserve.ts): this share of the limit, and at most FILES_RESERVE_MAX. That is twice the 512 connections that the
 * runtime accepts at once, before it hands over a request of any of them.
 */
export const FILES_RESERVE_SHARE = 1 / 8;
export const FILES_RESERVE_MAX = 1024;

/** Calls about one room that need no secret key: door, join, act, recording. Of guests, and of callers whose credential is refused, by their address. */
export const MEETING_CALLS_PER_MINUTE_PER_ADDRESS = 20;
/** The same for a /48 of IPv6. Less than half of what the guests of a room have together. */
export const MEETING_CALLS_PER_MINUTE_PER_SITE = 50;
/** All guests of a room have it together. */
export const MEETING_CALLS_PER_MINUTE_PER_ROOM = 120;
/** One participant has it, or one access token at one address (IPv6: /48). */
export const MEETING_CALLS_PER_MINUTE_PER_CALLER = 60;
/** One access token, which several people may share, has it at all addresses together: no holder can use it up from a single one. */
export const MEETING_CALLS_PER_MINUTE_PER_TOKEN = 600;
/** An access token, an earlier connect token, a name and a ticket. */
export const JOIN_BODY_MAX_BYTES = 16 * KIB;

/** Requests to the signed address of an upload that carry little or nothing: each costs a write and a flush, however few bytes it has. */
export interface UploadRateLimits {
  readonly perUpload: { readonly burst: number; readonly perSecond: number };
  readonly perAddress: { readonly burst: number; readonly perSecond: number };
}

/** A page sends a part about every two seconds, for its camera and its screen; many pages can be behind one address. */
export const UPLOAD_RATES: UploadRateLimits = {
  perUpload: { burst: 200, perSecond: 10 },
  perAddress: { burst: 1000, perSecond: 100 },
};
/** A part of this size is not counted: a page that catches up after an outage sends larger ones, and bytes have budgets. */
export const UPLOAD_PART_UNCOUNTED_BYTES = 64 * KIB;
