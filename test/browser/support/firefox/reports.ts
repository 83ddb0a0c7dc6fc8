/** What Firefox reports as errors of a page although no script has thrown one. */

/** Without a network: a WebSocket that cannot connect, or is cut, and the question why, to which there is no answer. */
export const LOST_NETWORK =
  /^Firefox can’t establish a connection to the server at|^The connection to wss?:\S+ was interrupted|CORS request did not succeed/;
