/**
 * All error codes, with the status and the text that clients get over HTTP and on the socket. `wire` is the code in the body where
 * several situations share one; otherwise it is the key itself.
 */
import { HTTP_CODES, type Row } from "./http-codes.ts";
import { CHANNEL_MAX_BYTES, CHANNELS_PER_CONNECTION_MAX, PEER_ID_MAX_CHARS } from "./limits.ts";

/** Codes that connects and frames are refused with, too. Pages show them without the others. */
export const REALTIME_CODES = {
  invalid_request: { status: 400, text: "The request is not valid." },
  malformed_message: { status: 400, text: "The frame is not a valid JSON object." },
  unknown_type: { status: 400, text: "Unknown frame type." },
  invalid_channel: {
    status: 400,
    text: `A channel name is 1 to ${CHANNEL_MAX_BYTES} bytes of text without control characters and '*'.`,
  },
  invalid_peer_id: { status: 400, text: `A peer id is 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters.` },
  unsupported_option: {
    status: 400,
    text: "This channel is a stream whose messages are not JSON: write to it over HTTP.",
  },
  missing_data: { status: 400, text: "The frame has no data." },
  channel_limit_exceeded: { status: 400, text: `A connection holds at most ${CHANNELS_PER_CONNECTION_MAX} channels.` },
  channel_reserved: { status: 400, text: "This channel name is reserved for the service." },
  invalid_api_key: {
    status: 400,
    text: "The API key is missing or not valid. Get a new one with POST /api/v1/turn/credential.",
  },
  unauthorized: { status: 401, text: "The credential is missing or not valid." },
  room_not_found: { status: 404, text: "room not found" },
  origin_not_allowed: { status: 401, text: "The key does not allow this origin." },
  invalid_token: { status: 401, text: "The token is not valid." },
  token_expired: { status: 401, text: "The token has expired." },
  channel_not_authorized: { status: 403, text: "The key does not cover this channel." },
  action_not_permitted: { status: 403, text: "The key does not permit this action." },
  removed: { status: 403, text: "You were removed from this meeting. You can join again after it ends." },
  room_not_open: { status: 403, text: "The room is not open yet." },
  room_over: { status: 403, text: "The room has closed." },
  not_found: { status: 404, text: "Nothing found at this address." },
  stream_not_found: {
    status: 404,
    text: "There is no stream of this name. Its channel rule makes it a stream: create it with PUT /v1/stream/<channel>.",
  },
  peer_not_found: { status: 404, text: "This peer is not connected." },
  stream_closed: { status: 409, text: "This stream is closed: it takes no more messages." },
  room_full: { status: 409, text: "The room is full. Try again after someone leaves." },
  room_locked: { status: 409, text: "The room is locked. An admin inside can unlock it." },
  stream_full: { status: 413, text: "This stream, or all streams of the application together, may not hold more." },
  upgrade_required: { status: 426, text: "The credential is valid. Connect to this address with WebSocket." },
  over_message_quota: { status: 429, text: "The application has used up its messages for this period." },
  rate_limited: { status: 429, text: "Too many requests. Try again later." },
  crash: { status: 500, wire: "internal_error", text: "Something went wrong on our side." },
  turn_not_configured: {
    status: 501,
    text: "This service has no TURN servers. Its operator can set PARLEY_TURN_URLS and PARLEY_TURN_SECRET.",
  },
  backend_error: { status: 503, text: "The nodes cannot reach each other. Nothing was delivered; try again." },
  internal_error: { status: 503, text: "The service cannot do this at the moment." },
} as const satisfies Record<string, Row>;

export type Code = keyof typeof REALTIME_CODES | keyof typeof HTTP_CODES;

// The comment lets the bundler leave it out of pages, which would otherwise carry every text.
export const CODES: Readonly<Record<Code, Row>> = /* @__PURE__ */ Object.assign({}, REALTIME_CODES, HTTP_CODES);

export const wireCode = (code: Code): string => CODES[code].wire ?? code;

/** One invalid field. */
export interface Detail {
  readonly field: string;
  readonly message: string;
}

/** What the application API answers beyond code and message. */
export interface More {
  readonly details?: readonly Detail[];
  /** Further fields of the body: `{offset}` of an upload. */
  readonly fields?: Readonly<Record<string, string | number>>;
}

/** A refusal with a code of the table. Its message goes to the client; a cause that clients must not see goes to the log. */
export class Problem extends Error {
  constructor(
    readonly code: Code,
    message: string = CODES[code].text,
    readonly retryAfterSeconds?: number,
    readonly more: More = {},
  ) {
    super(message);
  }
}
