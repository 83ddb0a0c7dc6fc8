/** As talk.mjs, where there is no WebSocket, as in Node 20. */
delete globalThis.WebSocket;
await import("./talk.mjs");
