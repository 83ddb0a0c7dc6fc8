// A chat in the terminal over a raw WebSocket: everything that a client of the protocol has to do, reconnects included.
//   PARLEY_TOKEN=… node --experimental-websocket chat.mjs chat/1
import { createInterface } from "node:readline";

if (!globalThis.WebSocket) {
  console.error(
    "This version of Node has no WebSocket: start it with `node --experimental-websocket`, or use Node 22 or later.",
  );
  process.exit(1);
}

const base = process.env.PARLEY_URL ?? "http://localhost:8080";
const token = process.env.PARLEY_TOKEN;
if (!token) {
  console.error(`Set PARLEY_TOKEN to a connect token. With a secret key in PARLEY_KEY, in the project's folder:
  export PARLEY_TOKEN=$(bin/parley token mint --peer alice --channels 'chat/*' --peer-metadata '{"name":"Alice"}')`);
  process.exit(1);
}
const channel = process.argv[2] ?? "chat/1";
const address = `${base}/v1?token=${token}`;

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 30_000;
const PING_EVERY_MS = 25_000;
const SILENCE_MAX_MS = 60_000;
/** Close codes after which the same token is useless: its key was revoked, it has expired, or the backend kicked us. */
const FINAL = new Set([4001, 4002, 4020]);

let socket;
let me = "";
let welcomed = false;
let failures = 0;
let heardAt = 0;
let requests = 0;
/** Members of the channel, peer id → name. */
const members = new Map();

// What others send must not control this terminal: escape sequences could clear it or write in the name of someone else.
const show = (text) => console.log(text.replaceAll(/\p{Cc}|\p{Cf}/gu, "\ufffd"));
const nameOf = ({ peerId, metadata }) => metadata?.name ?? peerId;
const send = (frame) => socket.send(JSON.stringify({ requestId: String(++requests), ...frame }));

function connect() {
  const mine = new WebSocket(address.replace(/^http/, "ws"));
  socket = mine;
  welcomed = false;
  heardAt = Date.now();
  mine.onmessage = ({ data }) => {
    heardAt = Date.now();
    received(JSON.parse(data));
  };
  mine.onclose = ({ code }) => ended(mine, code);
  // Some runtimes report a refusal only by an error, without a close after it.
  mine.onerror = () => ended(mine, 1006);
}

function received(frame) {
  if (frame.type === "welcome") {
    failures = 0;
    welcomed = true;
    me = frame.peerId;
    // Subscriptions belong to a connection: each new one has to subscribe, and gets a new roster.
    members.clear();
    send({ type: "subscribe", channel, includeSenderMetadata: true });
  } else if (frame.type === "message" || frame.type === "direct") {
    const to = frame.type === "direct" ? ", only to you" : "";
    show(`${frame.fromMetadata?.name ?? frame.from}${to}: ${frame.data?.text ?? JSON.stringify(frame.data)}`);
  } else if (frame.type === "presence") {
    present(frame);
  } else if (frame.type === "error") {
    show(`* refused: ${frame.code} (${frame.message})`);
  }
}

function present({ joined, left, snapshot }) {
  for (const peer of joined) members.set(peer.peerId, nameOf(peer));
  for (const peer of left) members.delete(peer.peerId);
  if (snapshot) return show(`* you are ${me}; here: ${[...members.values()].join(", ") || "nobody else"}`);
  for (const peer of joined) show(`* ${nameOf(peer)} joined`);
  for (const peer of left) show(`* ${nameOf(peer)} left`);
}

async function ended(which, code) {
  if (which !== socket) return;
  socket = undefined;
  // A WebSocket does not show why it was refused; a plain GET of the same address does.
  const refusal = welcomed ? undefined : await whyRefused();
  if (FINAL.has(code) || refusal?.status === 401) {
    show(`* the end: ${refusal ? `${refusal.error} (${refusal.message})` : code}`);
    process.exit(1);
  }
  const waitMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** failures++) * (0.5 + Math.random() / 2);
  show(`* connection lost (${refusal?.error ?? code}), trying again in ${(waitMs / 1000).toFixed(1)} s`);
  setTimeout(connect, waitMs);
}

async function whyRefused() {
  try {
    const response = await fetch(address);
    return { status: response.status, ...(await response.json()) };
  } catch {
    return undefined;
  }
}

/** `bob hello`: a direct message, which only that peer gets. */
function tell(line) {
  const [, to, text] = /^(\S+) (.+)$/.exec(line) ?? [];
  if (to) send({ type: "send", to, data: { text } });
  else show("* /to PEER MESSAGE sends a direct message");
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const silent = socket;
  if (Date.now() - heardAt < SILENCE_MAX_MS) return silent.send('{"type":"ping"}');
  silent.close();
  ended(silent, 1006);
}, PING_EVERY_MS);

createInterface({ input: process.stdin })
  .on("line", (text) => {
    if (socket?.readyState !== WebSocket.OPEN) show("* not sent: there is no connection");
    else if (text === "/who") show(`* here: ${[...members.values()].join(", ") || "nobody else"}`);
    else if (text.startsWith("/to ")) tell(text.slice(4));
    else if (text !== "") send({ type: "publish", channel, data: { text } });
  })
  .on("close", () => process.exit(0));

connect();
