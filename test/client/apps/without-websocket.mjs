/** What an application sees that imports the plain client where there is no WebSocket, as in Node 20. */
import { Parley } from "parley-client";

delete globalThis.WebSocket;
const options = { url: "http://127.0.0.1:1", key: "pk_demo" };
// A page that is rendered on a server makes a client, and does not connect it there.
const ofServer = new Parley({ ...options, autoConnect: false }).status.state;
try {
  new Parley(options);
} catch ({ message }) {
  console.log(JSON.stringify({ ofServer, message }));
}
