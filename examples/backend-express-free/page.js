// The page: the public SDK, with a token from our own backend whenever it needs one.
import { SignallingClient } from "/realtime.js";

const ROOM = "rooms/lobby";
const element = (id) => document.getElementById(id);
const people = new Map();

// In the storage of the tab: two tabs are two users, and stay so after a reload and after a restart of the backend.
const session = () => JSON.parse(sessionStorage.getItem("session") ?? "{}");

async function post(path, body = {}) {
  const headers = { Authorization: `Bearer ${session().session ?? ""}` };
  const response = await fetch(path, { method: "POST", body: JSON.stringify(body), headers });
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
  const { value } = element("to");
  const option = ([peerId, name]) => new Option(`to ${name}`, peerId);
  element("to").replaceChildren(new Option("to all", ""), ...[...people].map(option));
  // Who was chosen and has left is not replaced by another.
  element("to").value = people.has(value) ? value : "";
}

async function comeIn() {
  const { url } = session();
  const client = new SignallingClient({ url, tokenProvider: async () => (await post("/token")).token });
  client.on("state-change", ({ to }) => {
    element("state").textContent = to;
  });
  // The roster after a connect is complete, so it replaces what the page knew before.
  client.on("connected", () => people.clear());
  client.on("presence", showPeople);
  client.on("message", ({ data, fromMetadata, from }) => line(`${fromMetadata?.name ?? from}: ${data.text}`));
  client.on("direct", ({ data, fromMetadata, from }) => line(`${fromMetadata?.name ?? from}, to you: ${data.text}`));
  element("login").hidden = true;
  element("room").hidden = false;
  await client.connect();
  await client.subscribe(ROOM, { includeSenderMetadata: true });
  element("say").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = element("text").value;
    const to = element("to").value;
    element("text").value = "";
    try {
      await (to ? client.send(to, { text }) : client.publish(ROOM, { text }));
      line(to ? `you, to ${people.get(to) ?? to}: ${text}` : `you: ${text}`);
    } catch (error) {
      line(`not sent: ${text} (${error.message})`);
    }
  });
}

const failed = (error) => line(`it went wrong: ${error.message}`);

element("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const answer = await post("/login", { name: element("name").value });
    sessionStorage.setItem("session", JSON.stringify(answer));
    await comeIn();
  } catch (error) {
    failed(error);
  }
});

if (session().session) comeIn().catch(failed);
