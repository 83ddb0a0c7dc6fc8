/**
 * An application that two of its users talk with: `node talk.mjs parley-client/node URL KEY`. Prints what happened as JSON. The first
 * argument is the subpath that the client is imported from.
 */
import { ParleyError } from "parley-client";
import { history } from "parley-client/history";
import { OfflineQueue } from "parley-client/queue";
import { stateOf } from "parley-client/state";

const [from, url, key] = process.argv.slice(2);
const { Parley } = await import(from);

const alice = new Parley({ url, key, queue: new OfflineQueue() });
const bob = new Parley({ url, key });
const chat = bob.channel("chat/1");
const heard = new Promise((resolve) => chat.on("message", ({ data }) => resolve(data)));
const seen = new Promise((resolve) => chat.presence.on("joined", ({ peerId }) => resolve(peerId)));
await chat.subscribed;
// Queued until there is a connection.
await alice.channel("chat/1").publish({ text: "hello" });
await alice.channel("chat/1").subscribe();
const refusal = await bob.send("no-such-peer", {}).catch((error) => error);
const { messages } = await history(chat);
console.log(
  JSON.stringify({
    heard: await heard,
    isSeen: (await seen) === alice.peerId,
    code: refusal.code,
    isOneClass: refusal instanceof ParleyError,
    earlier: messages.length,
    states: stateOf(chat).all.size,
  }),
);
alice.close();
bob.close();
