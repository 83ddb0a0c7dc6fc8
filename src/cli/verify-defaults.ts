/** Defaults of `parley verify`. The number of clients fits the default connect rate of a server. */
export const VERIFY_DEFAULTS = { clients: 50, channels: 10, rate: 500, seconds: 10, settle: 10, prefix: "verify" };
