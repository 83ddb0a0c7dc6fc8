/** Whether a track of another page really carries something: by what the browser has decoded of it. */

/** All connections of this page. */
const connections = new Set();
const Original = globalThis.RTCPeerConnection;
globalThis.RTCPeerConnection = class extends Original {
  constructor(...args) {
    super(...args);
    connections.add(this);
  }
};

/** Remote tracks are decoded only while something plays them. */
const players = new Map();

export function play(tracks) {
  for (const [track, player] of players)
    if (!tracks.includes(track)) {
      player.srcObject = null;
      players.delete(track);
    }
  for (const track of tracks) {
    if (players.has(track)) continue;
    const player = document.createElement(track.kind);
    player.autoplay = true;
    player.srcObject = new MediaStream([track]);
    // Chromium decodes no picture of an element that is not in the page.
    document.body.append(player);
    player.play().catch(() => undefined);
    players.set(track, player);
  }
}

const receiverOf = (track) =>
  [...connections].flatMap((one) => one.getReceivers()).find((receiver) => receiver.track === track);

/** Pictures that were decoded, or the energy of the sound that was heard. */
export async function carried(track) {
  const stats = (await receiverOf(track)?.getStats()) ?? [];
  for (const [, entry] of stats)
    if (entry.type === "inbound-rtp")
      return {
        amount: entry.kind === "video" ? (entry.framesDecoded ?? 0) : (entry.totalAudioEnergy ?? 0),
        height: entry.frameHeight,
      };
  return { amount: 0 };
}

export const openConnections = () => [...connections].filter((one) => one.signalingState !== "closed").length;

export function closeAll() {
  for (const one of connections) one.close();
}

/** How many lines the pictures that are sent have. */
export async function sentHeights() {
  const heights = new Set();
  for (const one of connections)
    for (const [, entry] of await one.getStats())
      if (entry.type === "outbound-rtp" && entry.frameHeight) heights.add(entry.frameHeight);
  return [...heights];
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

/** Less is noise: a beep of the generated microphone has more. */
const AUDIBLE = 0.001;
const leastOf = (track) => (track.kind === "audio" ? AUDIBLE : 1);

/** Resolves when the track that `find` returns carries more than when it was first seen. */
export async function flows(find) {
  for (;;) {
    const track = find();
    const before = track && (await carried(track)).amount;
    for (let look = 0; track && look < 60 && find() === track; look++) {
      if ((await carried(track)).amount >= before + leastOf(track)) return true;
      await pause();
    }
    await pause();
  }
}

export async function until(holds) {
  while (!holds()) await pause();
  return true;
}

/** Resolves when nothing has been heard of it for a while: the generated microphone beeps every second. */
export async function fallsSilent(find) {
  for (let before = -1; ; ) {
    const { amount } = await carried(find());
    if (amount - before < AUDIBLE) return true;
    before = amount;
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
}
