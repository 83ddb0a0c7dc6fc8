/** Limits of tokens, keys, applications and blocks; of operators, sessions, the audit and TURN; of what an application may keep of history, meetings and recordings. */
import { KIB } from "../protocol/limits.ts";

export const BLOCK_MAX_SECONDS = 86_400;
/** Peers of one application that can be blocked at the same time. */
export const BLOCKS_PER_APP_MAX = 10_000;

export const TOKEN_CHANNELS_MAX = 100;
export const TOKEN_PERMISSIONS_MAX = 16;
export const TOKEN_DEFAULT_SECONDS = 3600;
export const TOKEN_MAX_SECONDS = 86_400;
/** `iat` and `nbf` may lie this far in the future, because the clocks of backends drift. */
export const TOKEN_SKEW_SECONDS = 60;
/** A token that expires sooner than this counts as expired. */
export const TOKEN_MIN_LEFT_MS = 1000;
/** A minted token can be used to connect for at least this long. */
export const TOKEN_CONNECT_MARGIN_MS = 500;
export const TOKEN_METADATA_MAX_BYTES = 8 * KIB;
export const TOKEN_PEER_METADATA_MAX_BYTES = 4 * KIB;

export const ORIGINS_MAX = 100;
export const LABEL_MAX_CHARS = 128;
export const APP_NAME_MAX_CHARS = 63;

/** Bytes of history that an application may have: a new one, the least and the most that an operator may set. */
export const HISTORY_DEFAULT_BYTES = 1024 * 1024 * KIB;
export const HISTORY_LIMIT_MIN_BYTES = 1024 * KIB;
export const HISTORY_LIMIT_MAX_BYTES = 100 * 1024 * 1024 * 1024 * KIB;

/** Bytes that the streams of an application may have together: a new one, the least and the most that an operator may set. */
export const STREAMS_DEFAULT_BYTES = 1024 * 1024 * KIB;
export const STREAMS_LIMIT_MIN_BYTES = 1024 * KIB;
export const STREAMS_LIMIT_MAX_BYTES = 100 * 1024 * 1024 * 1024 * KIB;

/** Days that meetings of an application are kept after their end: in a new one, and the most. */
export const MEETINGS_KEPT_DEFAULT_DAYS = 90;
export const MEETINGS_KEPT_MAX_DAYS = 3650;

/** Bytes that the recordings and open uploads of a new application may have, and the most that an operator may set. That is far beyond any storage, so that it can mean "no limit". */
export const RECORDINGS_DEFAULT_BYTES = 100 * 1024 * 1024 * KIB;
export const RECORDINGS_LIMIT_MAX_BYTES = 1024 * 1024 * 1024 * 1024 * KIB;

/** Live keys per application. */
export const KEYS_PER_APP_MAX = 50;
/** Previous secrets in their grace period, per key or application. */
export const PREVIOUS_SECRETS_MAX = 5;
/** Retired secrets are kept per key, only to refuse with `token_expired` instead of `invalid_token`. */
export const RETIRED_SECRETS_KEPT = 20;
export const ROTATION_GRACE_MAX_SECONDS = 2_592_000;

/** Wrong tokens of the control plane, of whichever operator, per address before it has to wait. */
export const OPERATOR_WRONG_TRIES_PER_MINUTE = 10;
/**
 * An address beyond that may go on trying: the tokens of all such addresses together are checked at this rate per process, and one waits
 * this long at most. Those in the form that the service makes are not paced (guess-pace.ts).
 */
export const GUESSES_PER_SECOND = 20;
export const GUESS_WAIT_MAX_MS = 2000;
/** Sign-ins per operator at once, then one per second: each is a change of the store, and an entry of the audit. */
export const SIGN_INS_BURST = 100;
/** Operators that are not revoked. */
export const OPERATORS_MAX = 200;
/** A session of the dashboard ends this long after the sign-in. */
export const SESSION_SECONDS = 12 * 3600;
/** Sessions of all operators, and per operator: beyond these, the oldest ends. */
export const SESSIONS_MAX = 1000;
export const SESSIONS_PER_OPERATOR_MAX = 100;
/** When an operator was last there is written at most this often. */
export const LAST_USED_EVERY_MS = 60_000;
/** How long the audit keeps a change. */
export const AUDIT_DAYS = 180;
/** The newest changes per application that it made itself; without a bound, it could fill the disk with them. */
export const AUDIT_PER_APP_MAX = 10_000;
/** A shorter secret of TURN servers could be found out from one credential. */
export const TURN_SECRET_MIN_CHARS = 16;
/** Addresses of STUN and TURN servers. */
export const TURN_URLS_MAX = 20;
/** The key of AES-256. */
export const MASTER_KEY_BYTES = 32;
/** A server does not start with a shorter admin token: it could be guessed. */
export const ADMIN_TOKEN_MIN_CHARS = 16;
