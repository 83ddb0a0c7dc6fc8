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
    // Painting takes more than decoding does.
    player.width = 16;
    player.srcObject = new MediaStream([track]);
    // Chromium decodes no picture of an element that is not in the page.
    document.body.append(player);
    player.play().catch(() => undefined);
    players.set(track, player);
  }
}

/** By track: pictures that were decoded, or the energy of the sound that was heard. One report per connection: they take time. */
async function carried() {
  const amounts = new Map();
  for (const one of connections) {
    if (one.signalingState === "closed") continue;
    for (const [, entry] of await one.getStats())
      if (entry.type === "inbound-rtp")
        amounts.set(
          entry.trackIdentifier,
          (entry.kind === "video" ? entry.framesDecoded : entry.totalAudioEnergy) ?? 0,
        );
  }
  return amounts;
}

export const connectionsMade = () => connections.size;

export const openConnections = () => [...connections].filter((one) => one.signalingState !== "closed").length;

export function closeAll() {
  for (const one of connections) one.close();
}

/** How many lines the pictures that are sent have. */
export async function sentHeights() {
  const heights = new Set();
  for (const one of connections) {
    if (one.signalingState === "closed") continue;
    for (const [, entry] of await one.getStats())
      if (entry.type === "outbound-rtp" && entry.frameHeight) heights.add(entry.frameHeight);
  }
  return [...heights];
}

const LOOK_EVERY_MS = 200;
export const pause = (ms = LOOK_EVERY_MS) => new Promise((resolve) => setTimeout(resolve, ms));

/** Less is noise: a beep of the generated microphone has more. */
const AUDIBLE = 0.001;
const leastOf = (track) => (track.kind === "audio" ? AUDIBLE : 1);

/** Which of the tracks that were asked for have not arrived yet. */
let missing = [];
export const missingTracks = () => missing.map(({ what }) => what);

/** Resolves when each of these tracks carries more than when it was first seen. `wanted`: { what, find }[]. */
export async function flows(wanted) {
  missing = wanted.map((one) => ({ ...one, first: new Map() }));
  while (missing.length > 0) {
    const amounts = await carried();
    missing = missing.filter(({ find, first }) => {
      const track = find();
      const amount = track && amounts.get(track.id);
      if (amount === undefined) return true;
      if (!first.has(track)) first.set(track, amount);
      return amount < first.get(track) + leastOf(track);
    });
    if (missing.length > 0) await pause();
  }
  return true;
}

export async function until(holds) {
  while (!holds()) await pause();
  return true;
}

/** Resolves when nothing is heard of it for a while: the generated microphone beeps twice per second. */
export async function fallsSilent(find) {
  for (let before = -1; ; ) {
    const amount = (await carried()).get(find()?.id) ?? 0;
    if (amount - before < AUDIBLE) return true;
    before = amount;
    await pause(SILENT_MS);
  }
}

const SILENT_MS = 1500;
