/** Limits of requests to addresses that others have named. */
const KIB = 1024;

export const REQUEST_TIMEOUT_MS = 15_000;
/** How long the rest of a response is read once its status is known. */
export const RESPONSE_BODY_MAX_MS = 5000;
export const RESPONSE_READ_MAX_BYTES = 64 * KIB;
/** The beginning of a response is kept. */
export const RESPONSE_KEPT_MAX_BYTES = KIB;
/** Addresses of a name that are tried, where no connection comes about. */
export const ADDRESSES_TRIED_MAX = 2;
export const URL_MAX_CHARS = 2048;
/** A longer Retry-After counts as this. */
export const RETRY_AFTER_MAX_MS = 86_400_000;
