/** Every state of the page without a service, by the name in the address: `?state=door&lang=de`. For tests and pictures; it is not served. */
import { render } from "preact";
import { ParleyError } from "../../../client/src/events/errors.ts";
import type { Kind } from "../call/contract.ts";
import { DeviceError } from "../call/devices.ts";
import { type Joined, Refused } from "../page/api.ts";
import type { Person } from "../room/contract.ts";
import { REACTIONS } from "../session/reactions.ts";
import type { Texts } from "../texts/en.ts";
import { chosenLanguage, language } from "../texts/texts.ts";
import { App } from "../ui/app.tsx";
import { dialog, layout, panel, pinned } from "../ui/view.ts";
import type { Visit } from "../visit/visit.ts";
import { DOOR, type Fakes, fakeDevices, fakeVisit, JOINED, person, SILENT } from "./fakes.ts";
import { LANGUAGES, learnAll } from "./languages.ts";
import { nameStates } from "./name-states.ts";
import { questionStates } from "./question-states.ts";
import { recordingStates } from "./recording-states.ts";

const NAMES = [
  "Grace Hopper",
  "Alan Turing",
  "Katherine Johnson",
  "Edsger Dijkstra",
  "Barbara Liskov",
  "José Ángel Gutiérrez",
  "Hedy Lamarr",
  "Donald Knuth",
  "Radia Perlman",
  "Tim",
  "Margaret Hamilton",
];
const LONG = "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh the Second of X";
const CHAT = [
  ["p0", "Grace Hopper", "The agenda is at https://wiki.example.com/meetings/2026-11-16?view=agenda#decisions."],
  ["p1", "Alan Turing", "Can everyone see my screen?"],
  ["p0", "Grace Hopper", "Yes, sharp."],
  [undefined, "", "The room closes at 16:00."],
  ["me", "Ada Lovelace", "I have to leave a little earlier.\nThe notes are in the document."],
] as const;

/** A moving picture in the place of a camera. */
function picture(hue: number, isScreen: boolean): MediaStreamTrack {
  const canvas = document.createElement("canvas");
  canvas.width = 640;
  canvas.height = isScreen ? 400 : 360;
  const brush = canvas.getContext("2d");
  const [track] = canvas.captureStream(2).getVideoTracks();
  if (!brush || !track) throw new Error("There is no canvas.");
  const sky = brush.createLinearGradient(0, 0, 640, 360);
  sky.addColorStop(0, isScreen ? "#fff" : `hsl(${hue} 35% 72%)`);
  sky.addColorStop(1, isScreen ? "#dde6f2" : `hsl(${hue} 30% 40%)`);
  setInterval(() => {
    brush.fillStyle = sky;
    brush.fillRect(0, 0, 640, 400);
    brush.fillStyle = isScreen ? "#2a3342" : `hsl(${hue} 40% 25%)`;
    if (isScreen) for (let row = 0; row < 9; row++) brush.fillRect(40, 40 + row * 36, 200 + ((row * 97) % 320), 10);
    else {
      brush.beginPath();
      brush.arc(320, 150, 70, 0, 7);
      brush.ellipse(320, 370, 150, 130, 0, 0, 7);
      brush.fill();
    }
  }, 200);
  return track;
}

const sound = (): MediaStreamTrack => {
  const [track] = new AudioContext().createMediaStreamDestination().stream.getAudioTracks();
  if (!track) throw new Error("There is no sound.");
  return track;
};

const devices = fakeDevices(
  (kind: Kind) => (kind === "audio" ? sound() : picture(210, kind === "screen")),
  [
    { deviceId: "m1", kind: "audio", label: "Built-in microphone" },
    { deviceId: "m2", kind: "audio", label: "USB headset with a rather long name (046d:0a44)" },
    { deviceId: "c1", kind: "video", label: "Built-in camera" },
    { deviceId: "o1", kind: "output", label: "Loudspeakers" },
  ],
);
const denied = fakeDevices(() => {
  throw new DeviceError("denied");
});

const people = (count: number, isLong = false): Person[] =>
  Array.from({ length: count }, (_, at) =>
    person(`p${at}`, {
      name: isLong ? `${LONG} ${at}` : (NAMES[at] ?? `Person ${at}`),
      isAdmin: at === 0,
      isGuest: at % 3 === 1,
      isLost: at === 7,
      state: { ...SILENT, audio: at % 4 !== 2, video: at % 3 !== 2, hand: at === 3 },
    }),
  );

interface Inside {
  readonly count?: number;
  readonly isLong?: boolean;
  readonly hasScreen?: boolean;
  readonly joined?: Partial<Joined>;
}

async function enter(
  fakes: Fakes,
  { count = 3, isLong = false, hasScreen = false, joined = {} }: Inside,
): Promise<void> {
  fakes.api.answer = () => ({ ...JOINED, name: isLong ? LONG : JOINED.name, ...joined });
  await fakes.visit.enter("Ada Lovelace");
  const room = fakes.room();
  const engine = fakes.engine();
  const all = people(count, isLong).map((one, at) =>
    hasScreen && at === 0 ? { ...one, state: { ...one.state, screen: true } } : one,
  );
  room.show(...all);
  engine.remote = all.flatMap(({ participantSession, state }, at) => [
    ...(state.video ? [{ participantSession, kind: "video" as const, track: picture(at * 47, false) }] : []),
    ...(state.screen ? [{ participantSession, kind: "screen" as const, track: picture(0, true) }] : []),
  ]);
  engine.emit("tracks");
  engine.emit("speaker", "p0");
  const qualities = ["good", "good", "poor", "good", "lost", "connecting"] as const;
  for (const [at, one] of all.entries()) engine.emit("quality", one.participantSession, qualities[at % 6] ?? "good");
  const line = { isAdmin: false, isEarlier: true };
  for (const [at, [from, name, text]] of CHAT.entries())
    room.emit("chat", { ...line, id: `${at}`, from, name, text, isGuest: from === "p1", timeMs: at * 60_000 });
}

/** The page draws at the end of the turn. */
async function shown(selector: string): Promise<void> {
  while (!document.querySelector(selector)) await new Promise((resolve) => requestAnimationFrame(resolve));
}

/** The button with this text. */
async function press(textIn: (texts: Texts) => string): Promise<void> {
  const selector = `button[aria-label="${textIn(LANGUAGES[language.value])}"]`;
  await shown(selector);
  document.querySelector<HTMLElement>(selector)?.click();
  await shown(".menu:not([hidden])");
}

const admin = { joined: { isAdmin: true } } as const;
const queue = (fakes: Fakes, count: number): void =>
  fakes.room().emit(
    "queue",
    Array.from({ length: count }, (_, at) => ({ waitId: `w${at}`, name: at === 2 ? LONG : `Visitor ${at}`, since: 0 })),
  );
const refuse = (fakes: Fakes, code: string, more: Refused["more"] = {}, status = 403): Promise<void> => {
  fakes.api.doorNow = () => {
    throw new Refused(status, code, "", more);
  };
  return fakes.visit.look();
};

const STATES: Readonly<Record<string, (fakes: Fakes) => Promise<void> | void>> = {
  door: ({ visit }) => visit.start("Ada Lovelace"),
  "door-private": async ({ visit, api }) => {
    api.doorNow = () => ({ ...DOOR, privacy: "private", audioOnlyRoom: true });
    await visit.start("");
  },
  "door-denied": ({ visit }) => visit.start(LONG),
  "door-invited": async ({ visit, api }) => {
    api.doorNow = () => ({ ...DOOR, privacy: "private", you: { name: LONG, isAdmin: true, isInvited: true } });
    await visit.start("");
  },
  invitation: async ({ visit, api }) => {
    api.doorNow = () => ({ ...DOOR, privacy: "private", enableRequestToJoin: false });
    await visit.start("");
  },
  waiting: async ({ visit, api }) => {
    api.answer = () => ({ waiting: true, ticket: "t", connect: JOINED.connect });
    await visit.enter("Ada");
  },
  "waiting-alone": async ({ visit, api, lobby }) => {
    api.answer = () => ({ waiting: true, ticket: "t", connect: JOINED.connect });
    await visit.enter("Ada");
    lobby().emit("hosts", false);
  },
  "waiting-lost": async ({ visit, api, lobby }) => {
    api.answer = () => ({ waiting: true, ticket: "t", connect: JOINED.connect });
    await visit.enter("Ada");
    lobby().emit("online", false);
  },
  "not-open": async ({ visit, api }) => {
    const times = { opensAt: 1_900_000_000, closesAt: 1_900_003_600 };
    api.doorNow = () => ({ ...DOOR, privacy: "private", recording: true, state: "not_open", ...times });
    await visit.start("Ada Lovelace");
  },
  over: (fakes) => refuse(fakes, "room_over"),
  full: (fakes) => refuse(fakes, "room_full"),
  stale: (fakes) => refuse(fakes, "invalid_access_token"),
  failed: (fakes) => refuse(fakes, "unreachable", {}, 0),
  declined: (fakes) => refuse(fakes, "declined", { retryAfterSec: 60 }),
  removed: async (fakes) => {
    await enter(fakes, {});
    fakes.room().emit("ended", "removed");
  },
  replaced: async (fakes) => {
    await enter(fakes, {});
    fakes.room().emit("ended", "replaced");
  },
  left: async (fakes) => {
    await enter(fakes, {});
    fakes.visit.leave();
  },
  alone: (fakes) => enter(fakes, { count: 0 }),
  two: (fakes) => enter(fakes, { count: 1 }),
  four: async (fakes) => {
    await enter(fakes, {});
    panel.value = "chat";
  },
  twelve: (fakes) => enter(fakes, { count: 11 }),
  long: async (fakes) => {
    await enter(fakes, { count: 5, isLong: true, ...admin });
    panel.value = "people";
  },
  speaker: async (fakes) => {
    await enter(fakes, { count: 5 });
    layout.value = "speaker";
    pinned.value = "p1 camera";
  },
  screen: async (fakes) => {
    await enter(fakes, { count: 5, hasScreen: true });
    panel.value = "chat";
  },
  admin: async (fakes) => {
    await enter(fakes, admin);
    queue(fakes, 3);
    fakes.room().emit("notice", { notice: "locked", on: true });
  },
  "admin-people": async (fakes) => {
    await enter(fakes, admin);
    queue(fakes, 3);
    panel.value = "people";
  },
  "admin-remove": async (fakes) => {
    await enter(fakes, admin);
    dialog.value = { remove: "p1", name: "Alan Turing", isGuest: true };
  },
  audience: async (fakes) => {
    const room = { roomName: "town-hall", ownerOnlyBroadcast: true, enableScreenSharing: false };
    await enter(fakes, {
      joined: { room, may: { audio: false, video: false, screen: false, chat: true, record: false } },
    });
    fakes.room().emit("notice", { notice: "ending", inSec: 90 });
  },
  offline: async (fakes) => {
    await enter(fakes, {});
    fakes.room().emit("online", false);
    fakes.room().emit("retry", 9000);
  },
  ended: async (fakes) => {
    await enter(fakes, {});
    fakes.room().emit("joined", person("p9", { name: "Tim" }));
    fakes.room().emit("ended", "ended");
  },
  missing: (fakes) => refuse(fakes, "room_not_found", {}, 404),
  presenting: async (fakes) => {
    await enter(fakes, { count: 4, joined: { isAdmin: true, meetingElapsedSec: 1458 } });
    await fakes.visit.toggle("screen");
    fakes.room().emit("notice", { notice: "recording", on: true, fact: { by: "Grace Hopper", since: 1 } });
    fakes.visit.recording.agree();
  },
  reactions: async (fakes) => {
    await enter(fakes, {});
    for (const [who, name] of REACTIONS.map((name, at) => [`p${at % 3}`, name] as const))
      fakes.room().emit("reaction", who, name);
    await fakes.visit.inside?.react("heart");
    await press((texts) => texts.react);
  },
  "device-menu": async (fakes) => {
    await enter(fakes, { count: 1 });
    await press((texts) => texts.chooseSound);
  },
  unread: async (fakes) => {
    await enter(fakes, {});
    for (const [at, text] of ["Are you still there?", "We have moved to item three."].entries()) {
      const line = { id: `new ${at}`, from: "p0", name: "Grace Hopper", isAdmin: true, isGuest: false };
      fakes.room().emit("chat", { ...line, text, timeMs: at * 60_000 + 600_000, isEarlier: false });
    }
    await shown(".count");
    panel.value = "chat";
  },
  rename: async (fakes) => {
    await enter(fakes, admin);
    dialog.value = { rename: "p1", name: LONG };
  },
  "offline-chat": async (fakes) => {
    await enter(fakes, { count: 5 });
    panel.value = "chat";
    fakes.room().say = () => Promise.reject(new ParleyError("not_connected", ""));
    fakes.room().emit("online", false);
    await shown(".writer textarea");
    const field = document.querySelector<HTMLTextAreaElement>(".writer textarea");
    if (!field) throw new Error("There is no chat.");
    field.value = "Did you hear me?";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.form?.requestSubmit();
    await shown(".writer p:not(:empty)");
  },
  unreached: async (fakes) => {
    await enter(fakes, { count: 2, isLong: true });
    fakes.visit.session.unreached.value = new Map([
      ["p0", true],
      ["p1", true],
    ]);
  },
  "unreached-host": async (fakes) => {
    await enter(fakes, { count: 2, ...admin });
    fakes.visit.session.unreached.value = new Map([["p0", true]]);
  },
  devices: async (fakes) => {
    await enter(fakes, {});
    dialog.value = "devices";
  },
  invite: async (fakes) => {
    await enter(fakes, {});
    dialog.value = "invite";
  },
  shortcuts: async (fakes) => {
    await enter(fakes, {});
    dialog.value = "shortcuts";
  },
  ...recordingStates(enter),
  ...nameStates(enter),
  ...questionStates(enter, refuse),
};

declare global {
  var stateNames: readonly string[];
  var visit: Visit;
}

const asked = new URLSearchParams(location.search);
// What the state before it has kept would lead inside, past the door.
sessionStorage.clear();
const state = asked.get("state") ?? "door";
learnAll();
language.value = chosenLanguage([asked.get("lang") ?? "en"]);
if (asked.has("rtl")) document.documentElement.dir = "rtl";
const fakes = fakeVisit(state === "door-denied" ? denied : devices);
globalThis.stateNames = Object.keys(STATES);
globalThis.visit = fakes.visit;
const root = document.getElementById("app");
if (root) render(<App visit={fakes.visit} />, root);
await STATES[state]?.(fakes);
document.body.dataset.ready = "";
