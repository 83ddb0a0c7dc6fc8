// Prints the messages of a channel with the public SDK, and misses none while it is disconnected.
//   PARLEY_TOKEN=… node --experimental-websocket listen.mjs chat/1
import { SignallingClient } from "@metered-ca/realtime";
import { recovering } from "./recovering.mjs";

const base = process.env.PARLEY_URL ?? "http://localhost:8080";
const channel = process.argv[2] ?? "chat/1";

const client = new SignallingClient({
  url: base.replace(/^http/, "ws"),
  tokenProvider: async () => process.env.PARLEY_TOKEN ?? "",
  webSocketFactory: recovering({ onGap: (name) => console.log(`* some messages of ${name} are missing`) }),
});

client.on("message", ({ from, data }) => console.log(`${from}: ${JSON.stringify(data)}`));
client.on("state-change", ({ to }) => console.log(`* ${to}`));

await client.connect();
await client.subscribe(channel);
console.log(`* listening to ${channel}`);
