/** What `parley verify` does when it is not told otherwise: few enough clients for the connect rate a server has by default. */
export const VERIFY_DEFAULTS = { clients: 50, channels: 10, rate: 500, seconds: 10, settle: 10, prefix: "verify" };
