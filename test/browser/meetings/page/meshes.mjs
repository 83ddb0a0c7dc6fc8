/** Several engines in one page, joined by a wire instead of the service. ../support/meshes.ts is the test's side. */
import { makeMesh } from "../../../../web/meeting/call/mesh.ts";
import {
  closeAll,
  connectionsMade,
  fallsSilent,
  flows,
  openConnections,
  pause,
  play,
  sentHeights,
  until,
} from "./flows.mjs";

/** Signals take some time, so that those of two people can cross. */
const SIGNAL_TAKES_MS = 2;

/** Devices take long to open on a busy machine, so most pictures are drawn. */
const DEVICES = {
  audio: { audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } },
  camera: { video: { width: 640, height: 360, frameRate: 5 } },
};

function drawing() {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [320, 180];
  const context = canvas.getContext("2d");
  const track = canvas.captureStream().getTracks()[0];
  const timer = setInterval(() => {
    if (track.readyState === "ended") return clearInterval(timer);
    context.fillStyle = `hsl(${performance.now() % 360} 50% 50%)`;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }, 200);
  return track;
}

const people = new Map();
/** What the wire does with a signal: null: it is lost. */
let pass = () => true;
/** Participants that are in the room and never answer. */
let phantoms = [];
/** Offers are refused, as the service does with those of more than its sender may send. */
let isRefusing = false;
const signals = [];

class Person {
  others = new Set();
  signal = () => undefined;
  mesh = makeMesh();
  tracks = {};
  qualities = [];
  speaker;

  constructor(id, isResumed) {
    this.id = id;
    this.signalling = {
      self: id,
      isResumed,
      isOnline: () => true,
      others: () => [...people.keys(), ...phantoms].filter((other) => other !== id),
      onOthers: (listener) => {
        this.others.add(listener);
        return () => this.others.delete(listener);
      },
      onSignal: (listener) => {
        this.signal = listener;
        return () => undefined;
      },
      send: async (to, data) => {
        const text = JSON.stringify(data);
        signals.push({ from: id, to, text });
        if (isRefusing && data.description?.type === "offer") throw new Error("refused");
        if (!pass(id, to, data)) return;
        setTimeout(() => people.get(to)?.signal(id, JSON.parse(text)), SIGNAL_TAKES_MS);
      },
    };
    this.mesh.on("tracks", playAll);
    this.mesh.on("speaker", (who) => {
      this.speaker ??= who;
    });
    this.mesh.on("quality", (who, quality) => this.qualities.push(`${who} ${quality}`));
  }

  stop() {
    this.mesh.leave();
    // A camera that stays open keeps its size for all who open it.
    for (const track of Object.values(this.tracks)) track.stop();
  }
}

const playAll = () => play([...people.values()].flatMap(({ mesh }) => mesh.tracks().map(({ track }) => track)));

const tell = () => {
  for (const { others } of people.values()) for (const listener of others) listener();
};

const track = async (source) =>
  DEVICES[source] ? (await navigator.mediaDevices.getUserMedia(DEVICES[source])).getTracks()[0] : drawing();

const person = (id) => people.get(id);
const found = (at, from, kind) => () =>
  person(at)
    ?.mesh.tracks()
    .find((one) => one.participantSession === from && one.kind === kind)?.track;

globalThis.bench = {
  async enter(id, kinds, isResumed = false) {
    const one = new Person(id, isResumed);
    people.set(id, one);
    for (const kind of kinds) await bench.publish(id, kind);
    one.mesh.join(one.signalling, []);
    tell();
  },
  async publish(id, kind, source = kind) {
    person(id).tracks[kind] ??= await track(source);
    await person(id).mesh.publish(kind, person(id).tracks[kind]);
  },
  withdraw: (id, kind) => person(id).mesh.publish(kind, null),
  mute: (id, kind, isMuted) => person(id).mesh.mute(kind, isMuted),
  leave(id) {
    person(id).stop();
    people.delete(id);
    tell();
  },
  /** The page is gone without a goodbye, and another continues its stay. */
  async reload(id, kinds) {
    pass = (from) => from !== id;
    person(id).stop();
    pass = () => true;
    await bench.enter(id, kinds, true);
  },
  /** `wanted`: [at, from, kind][]. */
  flows: (...wanted) => flows(wanted.map((one) => ({ what: one.join(" "), find: found(...one) }))),
  falls: (at, from, kind) => fallsSilent(found(at, from, kind)),
  gone: (at, from, kind) => until(() => !found(at, from, kind)()),
  tracks: (at) =>
    person(at)
      .mesh.tracks()
      .map(({ participantSession, kind }) => `${participantSession} ${kind}`)
      .sort(),
  allowOnly(at, kinds) {
    person(at).mesh.allow((_, kind) => kinds.includes(kind));
  },
  /** The next signals of a kind are lost. */
  lose(field, count) {
    let left = count;
    pass = (_from, _to, data) => !(field in data) || left-- <= 0;
  },
  addPhantoms(ids) {
    phantoms = ids;
    tell();
  },
  /** Resolves when the pictures that are sent have that height. */
  async height(wanted) {
    while ((await sentHeights()).join() !== `${wanted}`) await pause();
  },
  /** Offers, each of which seems to be of another connection. Returns how many connections were made for them. */
  flood(from, to, count) {
    const before = connectionsMade();
    const sdp = (at) => `v=0\r\no=- ${at} 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n`;
    for (let at = 0; at < count; at++) person(to).signal(from, { description: { type: "offer", sdp: sdp(at) } });
    return connectionsMade() - before;
  },
  refuseOffers(is) {
    isRefusing = is;
  },
  async speaker(at) {
    await until(() => person(at).speaker);
    return person(at).speaker;
  },
  /** Its connections end, and it does not know why. */
  breakConnections: closeAll,
  qualities: (at) => person(at).qualities,
  signals: () => signals,
  /** Resolves when that many offers were made. */
  offers: (count) => until(() => signals.filter(({ text }) => text.includes('"offer"')).length >= count),
  openConnections,
  reset() {
    for (const id of [...people.keys()]) bench.leave(id);
    signals.length = 0;
    isRefusing = false;
    phantoms = [];
    pass = () => true;
  },
};
