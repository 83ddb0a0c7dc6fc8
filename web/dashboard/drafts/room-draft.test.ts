/** A form shows every field of a room, and saves only what was changed. */
import { expect, test } from "bun:test";
import { ROOM_FIELDS } from "../../../src/protocol/room-fields.ts";
import { fromLocalInput, toLocalInput } from "../text/format.ts";
import { ROOM_GROUPS } from "../text/room-labels.ts";
import { audienceOf } from "../text/room-text.ts";
import {
  changesOf,
  draftOf,
  hasEffect,
  nameFrom,
  nameProblem,
  type RoomDraft,
  type RoomFieldName,
  scheduleProblem,
  valuesOf,
} from "./room-draft.ts";
import { PRESET_NAMES, presetsOf, withPreset } from "./room-presets.ts";

const EMPTY = draftOf({});

test("every field is in the form once, with its default", () => {
  const inGroups = ROOM_GROUPS.flatMap(({ fields, more }) => [...fields, ...(more?.fields ?? [])]);
  expect(inGroups.sort()).toEqual(Object.keys(ROOM_FIELDS).sort() as RoomFieldName[]);
  expect(EMPTY).toMatchObject({
    privacy: "public",
    enableChat: true,
    showInviteBox: true,
    lang: "en",
    recordRoom: false,
  });
  expect(EMPTY).toMatchObject({ maxParticipants: "", expireUnixSec: "", meetingJoinWebhook: "" });
});

test("what is unchanged is not sent, and what is emptied is unset", () => {
  const room = {
    maxParticipants: 5,
    expireUnixSec: 1_900_000_000,
    meetingJoinWebhook: "https://a.example",
    lang: "de",
  };
  const before = draftOf(room);
  expect(changesOf(before, before)).toEqual({});
  const emptied = { ...before, maxParticipants: "", expireUnixSec: "", meetingJoinWebhook: " ", lang: "" };
  expect(changesOf(before, emptied)).toEqual({
    maxParticipants: null,
    expireUnixSec: null,
    meetingJoinWebhook: null,
    lang: "en",
  });
  const edited = { ...before, maxParticipants: "12", enableChat: false, privacy: "private" };
  expect(changesOf(before, edited)).toEqual({ maxParticipants: 12, enableChat: false, privacy: "private" });
});

test("a moment survives the input for times to the second", () => {
  for (const seconds of [1_900_000_001, 1_793_491_200, 0]) expect(fromLocalInput(toLocalInput(seconds))).toBe(seconds);
  expect(fromLocalInput("")).toBeUndefined();
  expect(fromLocalInput("tomorrow")).toBeUndefined();
});

test("a field without effect is neither shown nor saved", () => {
  const closing = { ...EMPTY, expireUnixSec: "2030-03-17T10:00:00", ejectAtRoomExp: true };
  expect(changesOf(EMPTY, closing)).toHaveProperty("ejectAtRoomExp", true);
  expect(changesOf(EMPTY, { ...closing, expireUnixSec: "" })).toEqual({});
  expect(hasEffect("ejectAtRoomExp", { ...closing, deleteOnExp: true })).toBe(false);
  const quiet = { ...EMPTY, audioOnlyRoom: true, enableChat: false };
  const hidden = (Object.keys(ROOM_FIELDS) as RoomFieldName[]).filter((name) => !hasEffect(name, quiet));
  expect(hidden.sort()).toEqual([
    "deleteOnExp",
    "ejectAtRoomExp",
    "enableRequestToJoin",
    "enableScreenSharing",
    "joinVideoOn",
    "newChatForMeetingSession",
  ]);
});

test("a preset sets its own fields, and leaves alone what another one or the operator has set", () => {
  const mine: RoomDraft = { ...EMPTY, maxParticipants: "4", enableChat: false };
  const saved = (...names: readonly (typeof PRESET_NAMES)[number][]) =>
    changesOf(
      mine,
      names.reduce((draft, name) => withPreset(draft, name, true), mine),
    );
  expect(Object.fromEntries(PRESET_NAMES.map((name) => [name, saved(name)]))).toEqual({
    lobby: { privacy: "private" },
    webinar: { ownerOnlyBroadcast: true },
    audio: { audioOnlyRoom: true },
    recorded: { recordRoom: true },
  });
  const both = { privacy: "private", recordRoom: true };
  expect([saved("lobby", "recorded"), saved("recorded", "lobby")]).toEqual([both, both]);
});

test("a preset that is turned off takes back what it has set, and nothing else", () => {
  const both = withPreset(withPreset(EMPTY, "lobby", true), "recorded", true);
  expect(changesOf(EMPTY, withPreset(both, "recorded", false))).toEqual({ privacy: "private" });
  expect(changesOf(EMPTY, withPreset(both, "lobby", false))).toEqual({ recordRoom: true });
});

test("the presets are those that the room follows, also if its fields were set by hand", () => {
  const lobby = withPreset(EMPTY, "lobby", true);
  expect(presetsOf({ ...lobby, recordRoom: true })).toEqual(["lobby", "recorded"]);
  const invited = { ...lobby, enableRequestToJoin: false };
  expect([audienceOf(valuesOf(invited)), presetsOf(invited)]).toEqual(["invited", []]);
});

test("a room does not close before it opens", () => {
  const opens = { ...EMPTY, notBeforeUnixSec: "2030-03-17T10:00" };
  expect(scheduleProblem(opens)).toBeUndefined();
  expect(scheduleProblem({ ...opens, expireUnixSec: "2030-03-17T10:30:00" })).toBeUndefined();
  for (const expireUnixSec of ["2030-03-17T10:00:00", "2030-03-16T12:00"])
    expect(scheduleProblem({ ...opens, expireUnixSec })).toBeDefined();
});

test("spaces in a name become hyphens, as one types", () => {
  expect(nameFrom("Friday  planning ")).toBe("Friday-planning-");
});

test("a name that the service would refuse is refused while one types", () => {
  expect(nameProblem("stand_up-1")).toBeUndefined();
  for (const name of ["a b", "a/b", "é", "x".repeat(129)]) expect(nameProblem(name)).toBeDefined();
});
