/** The same application in a page: two of its users talk, and what happened is shown in <output>. */
import { Parley, ParleyError } from "parley-client";
import { history } from "parley-client/history";
import { OfflineQueue } from "parley-client/queue";
import { stateOf } from "parley-client/state";

export async function talk(url, key) {
  const alice = new Parley({ url, key, queue: new OfflineQueue() });
  const bob = new Parley({ url, key });
  const chat = bob.channel("chat/page");
  const heard = new Promise((resolve) => chat.on("message", ({ data }) => resolve(data)));
  await chat.subscribed;
  await alice.channel("chat/page").publish({ text: "hello" });
  const refusal = await bob.send("no-such-peer", {}).catch((error) => error);
  const { messages } = await history(chat);
  const { size } = stateOf(chat).all;
  const shown = {
    heard: await heard,
    isOneClass: refusal instanceof ParleyError,
    earlier: messages.length,
    states: size,
  };
  document.querySelector("output").textContent = JSON.stringify(shown);
}
