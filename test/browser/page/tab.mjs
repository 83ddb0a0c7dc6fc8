/**
 * What a test can do with a page, as `tab`: all arguments and results are JSON, and waiting happens here, in the page.
 * ../support/tab.ts is the test's side.
 */
import { recovering } from "/recovering.mjs";
import { MeteredPeer, SignallingClient } from "/sdk.mjs";

const LOOK_EVERY_MS = 20;

/** All events in order; a test that fails shows them. */
const story = [];
const waiting = new Set();

function happened(what, detail = {}) {
  story.push({ what, atMs: Math.round(performance.now()), ...detail });
  for (const look of [...waiting]) look();
}

/** What `look` finds, now or after a later event. */
function until(look) {
  const { promise, resolve } = Promise.withResolvers();
  const check = () => {
    const found = look();
    if (!found) return;
    waiting.delete(check);
    resolve(found);
  };
  waiting.add(check);
  check();
  return promise;
}

/** The first event that fits, including earlier ones. */
const event = (fits) => until(() => story.find(fits));

/** Only the first token is short. */
function credential({ url, apiKey, peerId, firstSeconds = 3600 }) {
  if (apiKey) return { url, apiKey };
  let seconds = firstSeconds;
  const tokenProvider = async () => {
    const answer = await fetch(`/token?peer=${peerId}&seconds=${seconds}`);
    if (!answer.ok) throw new Error(`the backend answered ${answer.status}`);
    seconds = 3600;
    return answer.text();
  };
  return { url, tokenProvider };
}

// SignallingClient

let client;

async function connect(options, channel) {
  const onGap = (gap) => happened("gap", { channel: gap });
  client = new SignallingClient({
    ...credential(options),
    ...(options.recovers && { webSocketFactory: recovering({ onGap }) }),
    ...(options.isOverHttp && { webSocketFactory: await overHttp(options) }),
  });
  client.on("state-change", ({ from, to }) => happened("state", { from, to }));
  client.on("message", ({ from, data }) => happened("message", { from, data }));
  client.on("direct", ({ from, data }) => happened("direct", { from, data }));
  client.on("presence", ({ joined, left }) =>
    happened("presence", { joined: joined.map((peer) => peer.peerId), left: left.map((peer) => peer.peerId) }),
  );
  const welcome = new Promise((resolve) => client.once("connected", resolve));
  await client.connect();
  await client.subscribe(channel);
  return (await welcome).peerId;
}

/** As the service's own file has it. */
async function overHttp({ url }) {
  const { HttpSocket } = await import(`${url.replace(/^ws/, "http")}/client.js`);
  return (address) => new HttpSocket(address);
}

/** How a refused connect ends. */
async function refusal(options) {
  try {
    await new SignallingClient({ ...credential(options), reconnect: false }).connect();
    return "connected";
  } catch (error) {
    return error.name;
  }
}

/** What a plain GET of the same address responds, as far as this page may read it. */
async function why({ url, apiKey }) {
  const answer = await fetch(`${url.replace(/^ws/, "http")}/v1?key=${apiKey}`);
  return { status: answer.status, ...(await answer.json()) };
}

// MeteredPeer

let peer;
/** Connections of earlier calls: one that is not among them belongs to the current call. */
const known = new Set();
const channels = [];

async function join(options, channel) {
  peer = new MeteredPeer(credential(options));
  peer.on("data", ({ senderPeerId, data }) => happened("message", { from: senderPeerId, data }));
  peer.on("state-change", ({ from, to }) => happened("state", { from, to }));
  peer.on("error", ({ err }) => happened("error", { message: err.message }));
  peer.on("peer-left", ({ peer: remote }) => happened("peer-left", { id: remote.id }));
  peer.on("peer-joined", ({ peer: remote }) => {
    happened("peer-joined", { id: remote.id });
    remote.on("state-change", ({ to }) => happened("remote state", { id: remote.id, to }));
    remote.on("connection-reset", () => {
      happened("connection-reset", { id: remote.id });
      if (opensChannels) adopt(remote.pc.createDataChannel("talk"), remote.pc);
    });
    if (opensChannels) adopt(remote.pc.createDataChannel("talk"), remote.pc);
    remote.on("negotiation-error", ({ err }) => happened("negotiation-error", { message: err.message }));
    remote.on("data-channel", (event) => adopt(event.channel, remote.pc));
    remote.on("stream-added", ({ stream, metadata }) => {
      document.getElementById("remote").srcObject = stream;
      happened("stream", { role: metadata?.role });
    });
  });
  await peer.join(channel);
  return peer.peerId;
}

async function shareCamera() {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width: 320, height: 240 } });
  peer.addStream(stream, { role: "camera" });
}

function adopt(channel, connection) {
  channel.ofConnection = connection;
  channels.push(channel);
  channel.addEventListener("open", () => happened("channel open"));
  channel.addEventListener("message", ({ data }) => happened("data", { data }));
}

/** Now, and again on each new connection, as the SDK's documentation advises. */
let opensChannels = false;

async function openChannel() {
  opensChannels = true;
  await until(() => remote());
  adopt(remote().pc.createDataChannel("talk"), remote().pc);
}

/** On a channel of the current connection. */
async function tell(data) {
  await until(() => channels.at(-1)?.readyState === "open" && channels.at(-1).ofConnection === remote()?.pc);
  channels.at(-1).send(data);
}

const remote = () => peer.remotePeers[0];

/** The other peer's id, once there is one and a connection to it that is not of an earlier call. */
async function inCall() {
  await until(() => {
    const others = peer.remotePeers;
    return others.length === 1 && others[0].state === "connected" && !known.has(others[0].pc);
  });
  known.add(remote().pc);
  return remote().id;
}

/** Resolves when a frame of the current call was shown; returns how many have been decoded. */
async function picture() {
  const { pc } = remote();
  const video = document.getElementById("remote");
  await until(() => pc.getReceivers().some(({ track }) => video.srcObject?.getTracks().includes(track)));
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve));
  const stats = [...(await pc.getStats()).values()];
  return stats.find(({ type, kind }) => type === "inbound-rtp" && kind === "video")?.framesDecoded ?? 0;
}

/** Resolves when so many more frames of the other side's camera were decoded; the connection may be replaced meanwhile. */
async function playing(more = 10) {
  let pc;
  let first = 0;
  for (;;) {
    const now = await framesDecoded();
    if (remote()?.pc !== pc) {
      pc = remote()?.pc;
      first = now;
    }
    if (now >= first + more) return now - first;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

async function framesDecoded() {
  const stats = [...((await remote()?.pc.getStats())?.values() ?? [])];
  return stats.find(({ type, kind }) => type === "inbound-rtp" && kind === "video")?.framesDecoded ?? 0;
}

/** The other peers that the application has seen come and go. */
const comings = () => story.flatMap(({ what, id }) => (/^peer-(joined|left)$/.test(what) ? [`${what} ${id}`] : []));

globalThis.tab = {
  connect,
  refusal,
  why,
  join,
  shareCamera,
  openChannel,
  tell,
  inCall,
  picture,
  playing,
  comings,
  isMember: () => until(() => peer.state === "joined"),
  story: () => story,
  gap: () => event(({ what }) => what === "gap").then(({ channel }) => channel),
  texts: () => story.flatMap(({ what, data }) => (what === "message" ? [data.text] : [])),
  publish: (channel, data) => client.publish(channel, data),
  send: (to, data) => client.send(to, data),
  say: (data) => peer.send(data),
  heard: (text) => event(({ what, data }) => what === "message" && data?.text === text).then(({ from }) => from),
  direct: (text) => event(({ what, data }) => what === "direct" && data?.text === text).then(({ from }) => from),
  saw: (id) => event(({ joined }) => joined?.includes(id)).then(() => true),
  received: (text) => event(({ what, data }) => what === "data" && data === text).then(() => true),
  reconnecting: () => event(({ what, to }) => what === "state" && to === "reconnecting").then(() => true),
};
