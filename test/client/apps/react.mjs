/** An application in React: its user hears another one, and <output> shows what the component has drawn. */
import { Parley } from "parley-client";
import { ParleyProvider, useMessages, usePresence, useStatus } from "parley-client/react";
import { createElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";

export function talk(url, key) {
  const bob = new Parley({ url, key });
  const Room = () => {
    const { state } = useStatus();
    const members = usePresence("chat/react");
    const { entries } = useMessages("chat/react");
    const [first] = entries;
    // Bob publishes when he sees that the component has subscribed.
    return first && members.length === 1 ? JSON.stringify({ state, heard: first.message.data }) : null;
  };
  const room = createElement(ParleyProvider, { options: { url, key } }, createElement(Room));
  createRoot(document.querySelector("output")).render(createElement(StrictMode, null, room));
  const chat = bob.channel("chat/react");
  chat.presence.on("joined", () => chat.publish({ text: "hello" }));
}
