/** Error codes that only HTTP answers have: the control plane and the application API. codes.ts has all of them. */

export interface Row {
  readonly status: number;
  readonly wire?: string;
  readonly text: string;
}

export const HTTP_CODES = {
  invalid_secret_key: {
    status: 400,
    text: "The application's secret key is missing or not valid: send it as ?secretKey= or as a Bearer token.",
  },
  invalid_access_token: { status: 400, text: "The access token is not valid." },
  forbidden: { status: 403, text: "This operator may only read, and sees no secrets and no payloads." },
  link_not_valid: { status: 403, text: "The link is not valid." },
  link_expired: { status: 403, text: "The link has expired." },
  token_required: { status: 403, text: "This room is private: it needs an access token for it." },
  declined: { status: 403, text: "The request to join was declined." },
  method_not_allowed: { status: 405, text: "This address does not take that method." },
  meeting_not_found: { status: 404, text: "meeting not found" },
  participant_not_found: { status: 404, text: "No one with this participantSession is in the room." },
  ticket_not_found: { status: 404, text: "No one with this waitId waits in the lobby of the room." },
  recording_not_found: { status: 404, text: "recording not found" },
  webhook_not_found: { status: 404, text: "There is no webhook of this id in this application." },
  upload_stalled: { status: 408, text: "No bytes came for too long; go on from the offset that is held." },
  room_limit_reached: { status: 409, text: "The application has as many rooms as it may have; archive some first." },
  room_already_exists: { status: 409, text: "There is already a room of this name." },
  lobby_full: { status: 409, text: "The lobby of this room is full; try again later." },
  not_recording: { status: 409, text: "The meeting is not being recorded." },
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
  insufficient_storage: { status: 507, text: "There is no room for more at the moment." },
  conflict: { status: 409, text: "The request conflicts with the current state." },
} as const satisfies Record<string, Row>;
