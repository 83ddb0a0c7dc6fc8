/** Error codes that only HTTP answers have: the control plane and the application API. codes.ts has all of them. */

export interface Row {
  readonly status: number;
  readonly wire?: string;
  readonly text: string;
}

export const HTTP_CODES = {
  invalid_secret_key: {
    status: 400,
    text: "The application's secret key is missing or not valid. Send it as ?secretKey= or as a Bearer token.",
  },
  invalid_access_token: { status: 400, text: "The access token is not valid." },
  forbidden: { status: 403, text: "This operator has read access only, without secrets and payloads." },
  stale_producer: { status: 403, text: "Another producer with this id has begun a higher epoch." },
  link_not_valid: { status: 403, text: "The link is not valid." },
  link_expired: { status: 403, text: "The link has expired." },
  token_required: { status: 403, text: "This room is private. You need an access token to join." },
  declined: { status: 403, text: "The request to join was declined." },
  method_not_allowed: { status: 405, text: "This address does not support that method." },
  meeting_not_found: { status: 404, text: "meeting not found" },
  participant_not_found: { status: 404, text: "No participant with this participantSession is in the room." },
  ticket_not_found: { status: 404, text: "No visitor with this waitId is waiting in the room's lobby." },
  recording_not_found: { status: 404, text: "recording not found" },
  webhook_not_found: { status: 404, text: "This application has no webhook with this id." },
  upload_stalled: { status: 408, text: "No bytes arrived for too long. Continue from the stored offset." },
  producer_gap: { status: 409, text: "Writes of this producer are missing before this one." },
  content_type_mismatch: { status: 409, text: "The stream has another content type." },
  room_limit_reached: { status: 409, text: "The application has reached its room limit. Archive some rooms first." },
  room_already_exists: { status: 409, text: "A room with this name already exists." },
  lobby_full: { status: 409, text: "The room's lobby is full. Try again later." },
  not_recording: { status: 409, text: "The meeting is not being recorded." },
  offset_mismatch: { status: 409, text: "The bytes do not start at the stored offset." },
  upload_incomplete: { status: 409, text: "Bytes are missing." },
  upload_complete: { status: 409, text: "The upload is complete." },
  too_many_uploads: { status: 409, text: "Too many uploads are open. Complete or delete some first." },
  stream_gone: { status: 410, text: "The stream was deleted. Its name is free again when it has no forks any more." },
  offset_gone: {
    status: 410,
    text: "The stream has no such offset, or no longer. Begin again with offset=-1.",
  },
  recording_too_large: { status: 413, text: "The recording is too large." },
  body_too_large: { status: 413, wire: "invalid_request", text: "The body is too large." },
  unsupported_media_type: { status: 415, text: "The body must be JSON or a form." },
  range_not_satisfiable: { status: 416, text: "The requested range is outside the file." },
  wrong_host: {
    status: 421,
    text: "The service does not answer under this host. Add it to PARLEY_PUBLIC_URL, or send the admin token, which works under every host.",
  },
  upload_busy: { status: 423, text: "Another request is writing to this upload." },
  insufficient_storage: { status: 507, text: "Not enough storage at the moment." },
  conflict: { status: 409, text: "The request conflicts with the current state." },
} as const satisfies Record<string, Row>;
