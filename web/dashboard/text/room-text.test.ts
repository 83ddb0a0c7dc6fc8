/** A room as sentences. */
import { expect, test } from "bun:test";
import { appointment } from "./format.ts";
import { hostLinkUntil, inWords, openHours, openingOf, openNow, roomMax, scheduleOf } from "./room-text.ts";

const MESH_MAX = 6;
const OPENS = 1_900_000_000;

test("a room without settings", () => {
  expect(inWords({}, MESH_MAX)).toEqual({
    Access: "Anyone with the link can join. Up to 6 people at a time.",
    Schedule: "Always open.",
    Media: "People share cameras, microphones and screens. With chat.",
    Recording: "Not recorded.",
    After: "The room stays. Each meeting starts with an empty chat.",
  });
});

test("a private room for one hour, recorded, of which little is kept", () => {
  const room = {
    privacy: "private",
    enableRequestToJoin: false,
    maxParticipants: 1,
    notBeforeUnixSec: OPENS,
    expireUnixSec: OPENS + 3600,
    ejectAtRoomExp: true,
    ejectAfterElapsedTimeInSec: 1800,
    audioOnlyRoom: true,
    ownerOnlyBroadcast: true,
    enableChat: false,
    recordRoom: true,
    enableRecording: true,
    deleteOnExp: true,
    meetingEndedWebhook: "https://hooks.example.com",
  };
  expect(inWords(room, MESH_MAX)).toEqual({
    Access: "Only people with an access token can join. Up to 1 person at a time.",
    Schedule: `${openHours(room)}. Operators can join as host before it opens. The meeting ends when the room closes. Each person can stay 30 min.`,
    Media: "Audio only. Hosts speak; everyone else listens. No chat.",
    Recording: "Recorded from the first second. Hosts can stop it.",
    After: "The room is deleted when it closes. Your backend gets 1 kind of events.",
  });
});

test("the end of an appointment names the day only if it is another one", () => {
  const [from, to] = openHours({ notBeforeUnixSec: OPENS, expireUnixSec: OPENS + 1 }).split(" – ");
  expect([from, to]).toEqual([appointment(OPENS), appointment(OPENS).slice(-5)]);
  const later = OPENS + 3 * 86_400;
  expect(openHours({ notBeforeUnixSec: OPENS, expireUnixSec: later })).toEndWith(` – ${appointment(later)}`);
});

test("whether a room can be entered now", () => {
  const at = (room: Record<string, number>) => openingOf(room, OPENS);
  expect([
    at({}),
    at({ notBeforeUnixSec: OPENS }),
    at({ notBeforeUnixSec: OPENS + 1 }),
    at({ expireUnixSec: OPENS + 1 }),
    at({ expireUnixSec: OPENS }),
  ]).toEqual(["always", "always", "later", "now", "over"]);
});

test("more people fit into a room without cameras", () => {
  expect([roomMax({}, MESH_MAX), roomMax({ audioOnlyRoom: true }, MESH_MAX)]).toEqual([6, 10]);
  expect(roomMax({ audioOnlyRoom: true }, 20)).toBe(20);
});

test("a link for hosts ends with the meeting; without an end, some time after people can join; after 90 days at the latest", () => {
  const [now, day] = [OPENS - 8 * 86_400, 86_400];
  expect(hostLinkUntil({ notBeforeUnixSec: OPENS, expireUnixSec: OPENS + 3600 }, now, day)).toBe(OPENS + 3600);
  expect(hostLinkUntil({ notBeforeUnixSec: OPENS }, now, day)).toBe(OPENS + day);
  expect(hostLinkUntil({}, now + 0.5, day)).toBe(now + day);
  expect(hostLinkUntil({ expireUnixSec: now + 365 * day }, now, day)).toBe(now + 90 * day);
});

test("a room that is opened early stays open as long as planned, not until the planned day", () => {
  const room = { notBeforeUnixSec: OPENS, expireUnixSec: OPENS + 3600 };
  const now = OPENS - 8 * 86_400 + 0.5;
  expect(openNow(room, now)).toEqual({ notBeforeUnixSec: now - 0.5, expireUnixSec: now - 0.5 + 3600 });
  // On the same day in this time zone: a meeting from noon on that is opened five minutes before.
  const noon = new Date(2035, 2, 16, 12).getTime() / 1000;
  expect(openNow({ notBeforeUnixSec: noon, expireUnixSec: noon + 3600 }, noon - 300)).toEqual({
    notBeforeUnixSec: noon - 300,
    expireUnixSec: noon + 3600,
  });
  expect(openNow({ notBeforeUnixSec: OPENS }, now)).toEqual({ notBeforeUnixSec: now - 0.5 });
  expect([scheduleOf(room), scheduleOf({ notBeforeUnixSec: OPENS })]).toEqual([
    room,
    { notBeforeUnixSec: OPENS, expireUnixSec: null },
  ]);
});
