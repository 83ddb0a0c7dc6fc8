/**
 * All error codes, with the status and the text that clients get over HTTP and on the socket. `wire` is the code in the body where
 * several situations share one; otherwise it is the key itself.
 */
import { CHANNEL_MAX_BYTES, CHANNELS_PER_CONNECTION_MAX, PEER_ID_MAX_CHARS } from "./limits.ts";

interface Row {
  readonly status: number;
  readonly wire?: string;
  readonly text: string;
}

const TABLE = {
  invalid_request: { status: 400, text: "The request is not valid." },
  malformed_message: { status: 400, text: "The frame is not a JSON object that can be understood." },
  unknown_type: { status: 400, text: "There is no frame of this type." },
  invalid_channel: {
    status: 400,
    text: `A channel name is 1 to ${CHANNEL_MAX_BYTES} bytes of text without control characters and '*'.`,
  },
  invalid_peer_id: { status: 400, text: `A peer id is 1 to ${PEER_ID_MAX_CHARS} printable ASCII characters.` },
  missing_data: { status: 400, text: "The frame has no data." },
  channel_limit_exceeded: { status: 400, text: `A connection holds at most ${CHANNELS_PER_CONNECTION_MAX} channels.` },
  channel_reserved: { status: 400, text: "This channel name is reserved for the service." },
  invalid_secret_key: {
    status: 400,
    text: "The application's secret key is missing or not valid: send it as ?secretKey= or as a Bearer token.",
  },
  invalid_access_token: { status: 400, text: "The access token is not valid." },
  invalid_api_key: {
    status: 400,
    text: "The API key is missing or not valid: POST /api/v1/turn/credential gives a new one.",
  },
  unauthorized: { status: 401, text: "The credential is missing or not valid." },
  origin_not_allowed: { status: 401, text: "This origin is not on the key's list of allowed origins." },
  invalid_token: { status: 401, text: "The token is not valid." },
  token_expired: { status: 401, text: "The token has expired." },
  channel_not_authorized: { status: 403, text: "The key does not cover this channel." },
  action_not_permitted: { status: 403, text: "The key does not permit this action." },
  forbidden: { status: 403, text: "This operator may only read, and sees no secrets and no payloads." },
  link_not_valid: { status: 403, text: "The link is not valid." },
  link_expired: { status: 403, text: "The link has expired." },
  token_required: { status: 403, text: "This room is private: it needs an access token for it." },
  declined: { status: 403, text: "The request to join was declined." },
  removed: { status: 403, text: "You were removed from this meeting, and can join again when it has ended." },
  room_not_open: { status: 403, text: "The room is not open yet." },
  room_over: { status: 403, text: "The room's time is over." },
  not_found: { status: 404, text: "There is nothing at this address." },
  method_not_allowed: { status: 405, text: "This address does not take that method." },
  peer_not_found: { status: 404, text: "No connection of this peer was found." },
  room_not_found: { status: 404, text: "room not found" },
  meeting_not_found: { status: 404, text: "meeting not found" },
  participant_not_found: { status: 404, text: "No one with this participantSession is in the room." },
  ticket_not_found: { status: 404, text: "No one with this ticket waits in the lobby of the room." },
  recording_not_found: { status: 404, text: "recording not found" },
  upload_stalled: { status: 408, text: "No bytes came for too long; go on from the offset that is held." },
  conflict: { status: 409, text: "The request conflicts with the present state." },
  room_limit_reached: { status: 409, text: "The application has as many rooms as it may have; archive some first." },
  room_already_exists: { status: 409, text: "There is already a room of this name." },
  lobby_full: { status: 409, text: "The lobby of this room is full; try again later." },
  room_full: { status: 409, text: "The room is full; try again when a participant has left." },
  room_locked: { status: 409, text: "The room is locked; an admin inside can unlock it." },
  offset_mismatch: { status: 409, text: "The bytes do not begin at the offset that is held." },
  upload_incomplete: { status: 409, text: "Bytes are missing." },
  upload_complete: { status: 409, text: "The upload is complete." },
  too_many_uploads: { status: 409, text: "Too many uploads are open; complete or delete some first." },
  recording_too_large: { status: 413, text: "The recording is too large." },
  body_too_large: { status: 413, wire: "invalid_request", text: "The body is too large." },
  unsupported_media_type: { status: 415, text: "The body must be JSON or a form." },
  range_not_satisfiable: { status: 416, text: "The file has no such range." },
  wrong_host: {
    status: 421,
    text: "This host is none of the service's own addresses: name it in PARLEY_PUBLIC_URL, or send the admin token, which is good under every host.",
  },
  upload_busy: { status: 423, text: "Another request is writing to this upload." },
  upgrade_required: { status: 426, text: "This address speaks WebSocket: the credential is good, now upgrade." },
  over_message_quota: { status: 429, text: "The application's messages of this period are used up." },
  rate_limited: { status: 429, text: "Too many requests; try again later." },
  crash: { status: 500, wire: "internal_error", text: "Something went wrong on our side." },
  turn_not_configured: {
    status: 501,
    text: "This service has no TURN servers: its operator sets PARLEY_TURN_URLS and PARLEY_TURN_SECRET.",
  },
  backend_error: { status: 503, text: "The nodes cannot reach each other; nothing was delivered, try again." },
  internal_error: { status: 503, text: "The service cannot do this at the moment." },
  insufficient_storage: { status: 507, text: "There is no room for more at the moment." },
} as const satisfies Record<string, Row>;

export type Code = keyof typeof TABLE;

export const CODES: Readonly<Record<Code, Row>> = TABLE;

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
