/** Defaults and limits of commands. They are apart from the commands, so that help can name them without loading those. */

export const DEFAULT_URL = "http://127.0.0.1:8080";
/** `recordings list` without --limit. */
export const RECORDINGS_LISTED_DEFAULT = 50;
/** A server with a lower limit of open files gets a warning, because each connection needs one. */
export const LOW_OPEN_FILES = 4096;
/** The number of clients fits the default connect rate of a server. */
export const VERIFY_DEFAULTS = { clients: 50, channels: 10, rate: 500, seconds: 10, settle: 10, prefix: "verify" };
export const VERIFY_PREFIX_MAX_CHARS = 200;
/** The peer id of commands with a secret key. */
export const TALK_PEER_ID = "cli";
/** `rooms meetings` without --limit. */
export const MEETINGS_LISTED_DEFAULT = 50;
/** How long a link of `rooms open` lets its holder in. */
export const HOST_LINK_MINUTES = 15;
/** Where `parley webhooks listen` receives. */
export const WEBHOOK_LISTEN_PORT = 8788;
export const DELIVERIES_LISTED_DEFAULT = 50;
