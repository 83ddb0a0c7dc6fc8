// The page: the public SDK, with a token from our own backend whenever it needs one.
import { SignallingClient } from "/realtime.js";

const ROOM = "rooms/lobby";
const element = (id) => document.getElementById(id);
const people = new Map();

async function post(path, body = {}) {
  const response = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

function line(text) {
  const item = document.createElement("li");
  item.textContent = text;
  element("log").append(item);
}

function showPeople({ channel, joined, left }) {
  if (channel !== ROOM) return;
  for (const { peerId, metadata } of joined) people.set(peerId, metadata?.name ?? peerId);
  for (const { peerId } of left) people.delete(peerId);
  element("people").textContent = [...people.values()].join(", ") || "nobody else";
}

async function comeIn(name) {
  const { url } = await post("/login", { name });
  const client = new SignallingClient({ url, tokenProvider: async () => (await post("/token")).token });
  client.on("state-change", ({ to }) => {
    element("state").textContent = to;
  });
  // The roster after a connect is complete, so it replaces what the page knew before.
  client.on("connected", () => people.clear());
  client.on("presence", showPeople);
  client.on("message", ({ data, fromMetadata, from }) => line(`${fromMetadata?.name ?? from}: ${data.text}`));
  element("login").hidden = true;
  element("room").hidden = false;
  await client.connect();
  await client.subscribe(ROOM, { includeSenderMetadata: true });
  element("say").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = element("text").value;
    element("text").value = "";
    await client.publish(ROOM, { text });
    line(`you: ${text}`);
  });
}

element("login").addEventListener("submit", (event) => {
  event.preventDefault();
  comeIn(element("name").value).catch((error) => line(`it went wrong: ${error.message}`));
});
