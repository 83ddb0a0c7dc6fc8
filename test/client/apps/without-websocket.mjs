/** What an application sees that imports the plain client where there is no WebSocket, as in Node 20. */
import { Parley } from "parley-client";

delete globalThis.WebSocket;
const parley = new Parley({ url: "http://127.0.0.1:1", key: "pk_demo" });
parley.on("status", ({ state, error }) => console.log(JSON.stringify({ state, message: error?.message })));
