/** Runs under Node: plays the named scenario with the client that docs/client.md names for it, and exits when nothing is left open. */
import { Parley, type Transport } from "../../../client/src/index.ts";
import { Parley as ParleyWithWs } from "../../../client/src/node.ts";
import { play } from "../scenarios/all.ts";

// Node 22 and later have a WebSocket of their own.
const Client = "WebSocket" in globalThis ? Parley : ParleyWithWs;
const [name = "", facts = "", transport] = process.argv.slice(2);
await play(name, JSON.parse(facts), (options) => new Client({ ...options, transport: transport as Transport }));
