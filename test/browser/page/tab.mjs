/**
 * What a test can ask of a page, as `tab`: everything takes and gives JSON, and what is waited for is waited for here, where
 * it happens. ../support/tab.ts is the other end.
 */
import { MeteredPeer, SignallingClient } from "/sdk.mjs";

/** Everything that happened, in order; a test that fails shows it. */
const story = [];
const waiting = new Set();

function happened(what, detail = {}) {
  story.push({ what, ...detail });
  for (const look of [...waiting]) look();
}

/** What `look` finds, now or when something has happened. */
function until(look) {
  const { promise, resolve } = Promise.withResolvers();
  const again = () => {
    const found = look();
    if (!found) return;
    waiting.delete(again);
    resolve(found);
  };
  waiting.add(again);
  again();
  return promise;
}

/** The first of what happened that fits, also if it has happened already. */
const event = (fits) => until(() => story.find(fits));

const credential = ({ url, apiKey, peerId }) =>
  apiKey
    ? { url, apiKey }
    : { url, tokenProvider: () => fetch(`/token?peer=${peerId}`).then((answer) => answer.text()) };

// SignallingClient

let client;

async function connect(options, channel) {
  client = new SignallingClient(credential(options));
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

/** How a connect ends that is not let in. */
async function refusal(options) {
  try {
    await new SignallingClient({ ...credential(options), reconnect: false }).connect();
    return "connected";
  } catch (error) {
    return error.name;
  }
}

/** What a plain GET of the same address says, as far as this page may read it. */
async function why({ url, apiKey }) {
  const answer = await fetch(`${url.replace(/^ws/, "http")}/v1?key=${apiKey}`);
  return { status: answer.status, ...(await answer.json()) };
}

// MeteredPeer

let peer;
/** Of earlier calls: one that is not among them was negotiated since. */
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
    remote.on("connection-reset", () => happened("connection-reset", { id: remote.id }));
    remote.on("negotiation-error", ({ err }) => happened("negotiation-error", { message: err.message }));
    remote.on("data-channel", (event) => adopt(event.channel));
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

function adopt(channel) {
  channels.push(channel);
  channel.addEventListener("open", () => happened("channel open"));
  channel.addEventListener("message", ({ data }) => happened("told", { data }));
}

function openChannel() {
  adopt(remote().pc.createDataChannel("talk"));
}

async function tell(data) {
  await until(() => channels.at(-1)?.readyState === "open");
  channels.at(-1).send(data);
}

const remote = () => peer.remotePeers[0];

/** The other's id, once there is one other and a connection to it that is not of an earlier call. */
async function inCall() {
  await until(() => {
    const others = peer.remotePeers;
    return others.length === 1 && others[0].state === "connected" && !known.has(others[0].pc);
  });
  known.add(remote().pc);
  return remote().id;
}

/** Resolves when a picture of the present call was shown; gives how many have been decoded. */
async function picture() {
  const { pc } = remote();
  const video = document.getElementById("remote");
  await until(() => pc.getReceivers().some(({ track }) => video.srcObject?.getTracks().includes(track)));
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve));
  const stats = [...(await pc.getStats()).values()];
  return stats.find(({ type, kind }) => type === "inbound-rtp" && kind === "video")?.framesDecoded ?? 0;
}

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
  story: () => story,
  publish: (channel, data) => client.publish(channel, data),
  send: (to, data) => client.send(to, data),
  say: (data) => peer.send(data),
  heard: (text) => event(({ what, data }) => what === "message" && data?.text === text).then(({ from }) => from),
  direct: (text) => event(({ what, data }) => what === "direct" && data?.text === text).then(({ from }) => from),
  saw: (id) => event(({ joined }) => joined?.includes(id)).then(() => true),
  told: (text) => event(({ what, data }) => what === "told" && data === text).then(() => true),
  reconnecting: () => event(({ what, to }) => what === "state" && to === "reconnecting").then(() => true),
};
