/** Limits of webhooks, each with its unit in its name. */
import { KIB } from "../protocol/limits.ts";

/** Endpoints per application that operators and its backends have made together. */
export const ENDPOINTS_PER_APP_MAX = 20;
/** URLs of its rooms that are kept as endpoints; beyond them, the one that was called longest ago is forgotten. */
export const ROOM_ENDPOINTS_PER_APP_MAX = 100;
/** Entries of `events`. */
export const EVENTS_MAX = 50;

/** Extra headers of an endpoint. */
export const HEADERS_MAX = 10;
export const HEADER_NAME_MAX_CHARS = 64;
export const HEADER_VALUE_MAX_CHARS = KIB;

/** Bytes of a secret, of which `whsec_…` is the base64. */
export const SECRET_BYTES = 24;
/** Replaced secrets that still sign, per endpoint. */
export const PREVIOUS_SECRETS_MAX = 5;

/** Requests at the same time: to all endpoints together, and to one. */
export const REQUESTS_AT_ONCE_MAX = 128;
export const REQUESTS_PER_ENDPOINT_MAX = 10;
/** The last places are for applications, or at least endpoints, that have no request under way. */
export const RESERVED_REQUESTS = 16;
/** Requests at the same time to all endpoints of which the last attempt failed, or of which none has succeeded yet: they may hang. */
export const UNPROVEN_REQUESTS_MAX = 64;
/** To an endpoint that was not called yet. */
export const FIRST_REQUESTS = 2;
/** Requests that wait for a place beside those of the queue: tests that people ask for. */
export const SENDER_WAITING_MAX = 1000;
/** After that time without a request the process that sends ends. */
export const SENDER_IDLE_MS = 60_000;
/** It is started again no earlier. */
export const SENDER_RESTART_MS = 1000;

/** Messages of an endpoint that wait. */
export const BACKLOG_MAX = 100_000;
/** What receivers get as `data`; with the rest of the body, and its `seq`, it stays below 20 KB. */
export const DATA_MAX_BYTES = 19 * KIB;

/** After the first attempt. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000,
];
/** At most that part of each delay is added at random: what failed together is not tried again together. */
export const RETRY_JITTER = 0.1;
/** Later messages of its subject wait for a message until it was attempted as often. */
export const ORDERED_ATTEMPTS = 3;
/** An endpoint without a success for that long is disabled. */
export const FAILING_MAX_MS = 5 * 86_400_000;
/** How long an endpoint is left alone that answers 429, 502 or 504 without Retry-After; doubled with each further one. */
export const SLOW_DOWN_MS = 1000;
export const SLOW_DOWN_MAX_MS = 300_000;

/** How often the process with the lease looks for what other processes have written, and others whether the lease is free. */
export const LOOK_EVERY_MS = 500;
/** How often the process with the lease compares what nodes have written of their connections and members. */
export const WORK_EVERY_MS = 100;
/** After a turn of that work which has failed. */
export const WORK_PAUSE_MS = 2000;
/** How often in a row events are given to endpoints. */
export const GIVEN_OUT_TURNS = 20;
/** Events that are read, and messages that are made of them, in one transaction: SQLite writes them on the event loop. */
export const GIVEN_AT_ONCE_MAX_BYTES = 128 * KIB;
/** How often a node looks for an event where there are no endpoints. */
export const IDLE_LOOK_EVERY_MS = 1000;
export const LEASE_RENEW_EVERY_MS = 3000;
/** How often logs are trimmed. */
export const TRIM_EVERY_MS = 60_000;
/** At the end of a node, how long requests under way are waited for. */
export const LAST_REQUESTS_MS = 2000;
/** Messages of one endpoint that are read at once. */
export const MESSAGES_READ_MAX = 20;
/** How often the number of all that waits is read for the metrics. */
export const BACKLOG_EVERY_MS = 10_000;
/** How soon after an event was written it is looked for: those of one moment are read together. */
export const NUDGE_MS = 10;
/** Rows of deleted endpoints that are removed in one transaction. */
export const FORGOTTEN_ROWS_AT_ONCE = 500;
