/** Limits of the connection between a worker and the process that has the stores open, with their unit in the name. */

/** One frame of requests: more than the longest body of a request to the service, and than any batch of messages. */
export const REQUEST_MAX_BYTES = 64 * 1024 * 1024;
/** One frame of responses: a snapshot of 100,000 keys has about 60 MB. */
export const RESPONSE_MAX_BYTES = 256 * 1024 * 1024;
/** The first frame of a connection. */
export const HELLO_MAX_BYTES = 4096;
/** Requests of a worker that are not answered yet: beyond it, further ones are refused in the worker. */
export const UNANSWERED_MAX_BYTES = 64 * 1024 * 1024;
export const UNANSWERED_MAX_CALLS = 50_000;
/** A worker keeps the limits above itself. One that has this many times as much is broken, and its connection is cut. */
export const UNANSWERED_CUT_AT = 4;
/** Responses that a worker does not read: beyond it, its connection is cut. */
export const UNREAD_MAX_BYTES = RESPONSE_MAX_BYTES + 64 * 1024 * 1024;
/** Messages of several workers that are appended in one transaction, at most together with one batch more: it takes some milliseconds. */
export const JOINED_MAX_MESSAGES = 256;
/** Connections to one server. There is one per worker. */
export const CONNECTIONS_MAX = 1000;

/** A change holds up all others, so it is undone after this time. */
export const CHANGE_MAX_MS = 2000;
/** Calls of the contract that must have a short timeout. */
export const PROBE_MAX_MS = 3000;
/** How often a worker asks whether the server is there, and after how many questions in a row without any answer it is not. */
export const PING_EVERY_MS = 2500;
export const PINGS_UNANSWERED_MAX = 2;
/** A worker that starts waits this long for the server. */
export const START_WAIT_MS = 10_000;
export const RECONNECT_MIN_MS = 50;
export const RECONNECT_MAX_MS = 1000;
/** The kernel's limit for the path of a Unix socket. */
export const SOCKET_PATH_MAX_BYTES = 107;
