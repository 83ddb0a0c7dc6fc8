/** One participant of a meeting: the page's own room and mesh, without its looks. ../support/attendee.ts is the test's side. */
import { makeMesh } from "../../../../web/meeting/call/mesh.ts";
import { openRoom } from "../../../../web/meeting/room/room.ts";
import { fallsSilent, flows, missingTracks, openConnections, play, sentHeights, until } from "./flows.mjs";

/** All pages of a test share the machine. */
const LITTLE = {
  audio: { audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } },
  video: { video: { width: 320, height: 180, frameRate: 5 } },
};

/** What a person at this page would have noticed, in order. */
const story = [];
const mesh = makeMesh();
const published = { audio: false, video: false, screen: false };
let room;
let isOnline = false;
let ending;

mesh.on("tracks", () => play(mesh.tracks().map(({ track }) => track)));
mesh.on("quality", (who, quality) => story.push(`${who} ${quality}`));

async function trackOf(kind) {
  const stream = await navigator.mediaDevices.getUserMedia(kind === "audio" ? LITTLE.audio : LITTLE.video);
  return stream.getTracks()[0];
}

const found = (from, kind) => () =>
  mesh.tracks().find((one) => one.participantSession === from && one.kind === kind)?.track;
const personOf = (id) => room.people().find(({ participantSession }) => participantSession === id);

const share = () => room.setState({ ...published, hand: false, recording: false });

globalThis.attendee = {
  /** `nextToken` is the test's: it asks the service. */
  enter(opening, iceServers) {
    room = openRoom({ ...opening, renew: () => globalThis.nextToken() });
    room.on("joined", ({ name }) => story.push(`${name} joined`));
    room.on("left", ({ name }) => story.push(`${name} left`));
    room.on("chat", ({ name, text, isEarlier }) => story.push(`${isEarlier ? "earlier " : ""}${name}: ${text}`));
    room.on("notice", (notice) => story.push(JSON.stringify(notice)));
    room.on("online", (now) => {
      isOnline = now;
      story.push(now ? "online" : "offline");
    });
    room.on("ended", (why) => {
      ending = why;
      mesh.leave();
    });
    mesh.join(room.signalling, iceServers);
    share();
  },
  async publish(kind) {
    published[kind] = true;
    await mesh.publish(kind, await trackOf(kind));
    if (room) share();
  },
  async withdraw(kind) {
    published[kind] = false;
    await mesh.publish(kind, null);
    share();
  },
  mute: (kind, isMuted) => mesh.mute(kind, isMuted),
  say: (text) => room.say(text),
  /** `wanted`: [participantSession, kind][]. */
  flows: (wanted) => flows(wanted.map(([from, kind]) => ({ what: `${kind} of ${from}`, find: found(from, kind) }))),
  missing: missingTracks,
  falls: (from, kind) => fallsSilent(found(from, kind)),
  gone: (from, kind) => until(() => !found(from, kind)()),
  /** Resolves when a participant says this about itself. */
  says: (from, kind, is) => until(() => personOf(from)?.state[kind] === is),
  noticed: (text) => until(() => story.includes(text)),
  online: (is) => until(() => isOnline === is),
  ended: async () => (await until(() => ending)) && ending,
  people: () => room.people().map(({ name }) => name),
  isLost: (from) => until(() => personOf(from)?.isLost),
  quality: (from, quality) => until(() => mesh.qualityOf(from) === quality),
  story: () => story,
  sentHeights,
  openConnections,
  leave() {
    mesh.leave();
    room.close();
  },
};
