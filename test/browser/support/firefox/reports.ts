/** What Firefox reports as errors of a page although no script has thrown one. */

/** A WebSocket that cannot connect, or is cut: a test that causes that expects it. */
export const SOCKETS =
  /^Firefox can’t establish a connection to the server at|^The connection to wss?:\S+ was interrupted/;
