/** A form shows every field of a room, and saves only what was changed. */
import { expect, test } from "bun:test";
import { ROOM_FIELDS } from "../../../src/protocol/room-fields.ts";
import { fromLocalInput, toLocalInput } from "../text/format.ts";
import { changesOf, draftOf, nameProblem, OTHER_FIELDS, WEBHOOK_FIELDS } from "./room-draft.ts";

const EMPTY = draftOf({});

test("every field is in the form once, with its default", () => {
  expect([...OTHER_FIELDS, ...WEBHOOK_FIELDS].sort()).toEqual(Object.keys(ROOM_FIELDS).sort() as typeof OTHER_FIELDS);
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

test("a name that the service would refuse is refused while one types", () => {
  expect(nameProblem("stand_up-1")).toBeUndefined();
  for (const name of ["a b", "a/b", "é", "x".repeat(129)]) expect(nameProblem(name)).toBeDefined();
});
