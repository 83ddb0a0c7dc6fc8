/** A room as sentences. */
import { expect, test } from "bun:test";
import { appointment } from "./format.ts";
import { inWords, openHours, openingOf, roomMax } from "./room-text.ts";

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
