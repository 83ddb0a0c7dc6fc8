/** A room as sentences: who can join, when, what is shared, and what happens with it. */
import { AUDIO_MESH_MAX, HOST_LINK_MAX_SEC } from "../../../src/protocol/limits.ts";
import { ROOM_FIELDS, type RoomFieldName } from "../../../src/protocol/room-fields.ts";
import { appointment, appointmentEnd, day, duration } from "./format.ts";

/** The fields of a room; absent: the default. */
export type RoomValues = Readonly<Record<string, unknown>>;

/** Who can join: `privacy` and `enableRequestToJoin` in one. */
export type Audience = "anyone" | "lobby" | "invited";

const isOn = (values: RoomValues, name: RoomFieldName): boolean => {
  const { initial } = ROOM_FIELDS[name] as { readonly initial?: unknown };
  return (values[name] ?? initial) === true;
};

function numberOf(values: RoomValues, name: RoomFieldName): number | undefined {
  const value = values[name];
  return typeof value === "number" && value > 0 ? value : undefined;
}

export const people = (count: number): string => (count === 1 ? "1 person" : `${count} people`);

export function audienceOf(values: RoomValues): Audience {
  if (values.privacy !== "private") return "anyone";
  return isOn(values, "enableRequestToJoin") ? "lobby" : "invited";
}

/** How many people the service lets into one room. `meshMax` is PARLEY_MESH_MAX. */
export const roomMax = (values: RoomValues, meshMax: number): number =>
  isOn(values, "audioOnlyRoom") ? Math.max(meshMax, AUDIO_MESH_MAX) : meshMax;

/** When a room can be entered; undefined: no limit on that side. */
export const timesOf = (values: RoomValues) => ({
  opens: numberOf(values, "notBeforeUnixSec"),
  closes: numberOf(values, "expireUnixSec"),
});

export type Opening = "always" | "later" | "now" | "over";

export function openingOf(values: RoomValues, now: number): Opening {
  const { opens, closes } = timesOf(values);
  if (closes !== undefined && closes <= now) return "over";
  if (opens !== undefined && opens > now) return "later";
  return closes === undefined ? "always" : "now";
}

/** When a link for hosts ends: with the room, or this long after people can join it. */
export const hostLinkUntil = (values: RoomValues, now: number, forSec: number): number => {
  const { opens = 0, closes = Math.max(opens, now) + forSec } = timesOf(values);
  return Math.floor(Math.min(closes, now + HOST_LINK_MAX_SEC));
};

/**
 * The times of a room that opens now instead of later: for as long as it was to be open, or until its end if that is today. Otherwise a room for Friday's
 * meeting would stay open until Friday.
 */
export function openNow(values: RoomValues, now: number): RoomValues {
  const { opens = now, closes } = timesOf(values);
  const notBeforeUnixSec = Math.floor(now);
  if (closes === undefined) return { notBeforeUnixSec };
  const isToday = day(closes) === day(now);
  return { notBeforeUnixSec, expireUnixSec: isToday ? closes : notBeforeUnixSec + closes - opens };
}

/** What a change of its times is undone with. */
export function scheduleOf(values: RoomValues): RoomValues {
  const { opens, closes } = timesOf(values);
  return { notBeforeUnixSec: opens ?? null, expireUnixSec: closes ?? null };
}

const WHO: Readonly<Record<Audience, string>> = {
  anyone: "Anyone with the link can join.",
  lobby: "People ask to join, and a host lets them in.",
  invited: "Only people with an access token can join.",
};

export const whoCanJoin = (values: RoomValues): string => WHO[audienceOf(values)];

/** "Fri, Nov 20, 2026, 10:00 – 11:00". */
export function openHours(values: RoomValues): string {
  const { opens, closes } = timesOf(values);
  if (opens !== undefined && closes !== undefined) return `${appointment(opens)} – ${appointmentEnd(closes, opens)}`;
  if (opens !== undefined) return `From ${appointment(opens)}`;
  return closes === undefined ? "Always open" : `Until ${appointment(closes)}`;
}

const accessText = (values: RoomValues, meshMax: number): string => {
  const max = roomMax(values, meshMax);
  const most = Math.min(numberOf(values, "maxParticipants") ?? max, max);
  return `${whoCanJoin(values)} Up to ${people(most)} at a time.`;
};

function scheduleText(values: RoomValues): string {
  const stay = numberOf(values, "ejectAfterElapsedTimeInSec");
  const idle = numberOf(values, "endMeetingAfterNoActivityInSec");
  const isEnded = timesOf(values).closes !== undefined && isOn(values, "ejectAtRoomExp");
  return sentences(
    `${openHours(values)}.`,
    timesOf(values).opens !== undefined && "Operators can join as host before it opens.",
    isEnded && "The meeting ends when the room closes.",
    stay !== undefined && `Each person can stay ${duration(stay)}.`,
    idle !== undefined && `A meeting ends after ${duration(idle)} without camera, microphone or screen.`,
  );
}

function mediaText(values: RoomValues): string {
  const isHosts = isOn(values, "ownerOnlyBroadcast");
  const chat = isOn(values, "enableChat") ? "With chat." : "No chat.";
  if (isOn(values, "audioOnlyRoom"))
    return sentences("Audio only.", isHosts && "Hosts speak; everyone else listens.", chat);
  const seen = isOn(values, "enableScreenSharing") ? "cameras, microphones and screens" : "cameras and microphones";
  return sentences(isHosts ? `Hosts share ${seen}; everyone else watches.` : `People share ${seen}.`, chat);
}

function recordingText(values: RoomValues): string {
  const isControlled = isOn(values, "enableRecording");
  if (isOn(values, "recordRoom"))
    return sentences("Recorded from the first second.", isControlled && "Hosts can stop it.");
  return isControlled ? "Hosts can record." : "Not recorded.";
}

const WEBHOOKS = (Object.keys(ROOM_FIELDS) as RoomFieldName[]).filter((name) => ROOM_FIELDS[name].kind === "webhook");

function afterText(values: RoomValues): string {
  const called = WEBHOOKS.filter((name) => values[name]).length;
  const isDeleted = timesOf(values).closes !== undefined && isOn(values, "deleteOnExp");
  return sentences(
    isDeleted ? "The room is deleted when it closes." : "The room stays.",
    isOn(values, "enableChat") &&
      (isOn(values, "newChatForMeetingSession")
        ? "Each meeting starts with an empty chat."
        : "Chat messages stay for the next meeting."),
    called > 0 && `Your backend gets ${called === 1 ? "1 kind" : `${called} kinds`} of events.`,
  );
}

const sentences = (...all: readonly (string | false)[]): string => all.filter(Boolean).join(" ");

/** By the titles of the groups in which they are edited. */
export const inWords = (values: RoomValues, meshMax: number) => ({
  Access: accessText(values, meshMax),
  Schedule: scheduleText(values),
  Media: mediaText(values),
  Recording: recordingText(values),
  After: afterText(values),
});
