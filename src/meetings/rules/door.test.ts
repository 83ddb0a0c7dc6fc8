import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { FieldValues } from "../../rooms/fields.ts";
import { type DoorToken, doorOf } from "./door.ts";

const NOW = 1_800_000_000;
const door = (fields: FieldValues, token?: DoorToken) =>
  doorOf(
    { id: "r", app: anAppId("a"), name: "standup", fields, created: 0, archiveAt: null, version: 1 },
    token,
    NOW * 1000,
  );

describe("the door of a room", () => {
  test("is open between the room's times, to the second", () => {
    expect(door({})).toEqual({ state: "open" });
    expect(door({ notBeforeUnixSec: NOW, expireUnixSec: NOW + 1 })).toEqual({ state: "open" });
    expect(door({ notBeforeUnixSec: NOW + 1 })).toEqual({ state: "not_open", opensAt: NOW + 1 });
    expect(door({ expireUnixSec: NOW })).toEqual({ state: "over" });
  });

  test("that is over will not open", () => {
    expect(door({ notBeforeUnixSec: NOW + 5, expireUnixSec: NOW - 5 })).toEqual({ state: "over" });
  });

  test("follows the times of a token for this room, both ways", () => {
    const room = { notBeforeUnixSec: NOW + 9, expireUnixSec: NOW + 99 };
    expect(door(room, { isForRoom: true, notBeforeUnixSec: NOW })).toEqual({ state: "open" });
    expect(door({}, { isForRoom: true, notBeforeUnixSec: NOW + 3 })).toEqual({ state: "not_open", opensAt: NOW + 3 });
    expect(door({ expireUnixSec: NOW - 1 }, { isForRoom: true, expireUnixSec: NOW + 1 })).toEqual({ state: "open" });
    expect(door({}, { isForRoom: true, expireUnixSec: NOW })).toEqual({ state: "over" });
  });

  test("does not follow the times of a token for another room", () => {
    expect(door({ expireUnixSec: NOW - 1 }, { isForRoom: false, expireUnixSec: NOW + 1 })).toEqual({ state: "over" });
    expect(door({}, { isForRoom: false, expireUnixSec: NOW - 1 })).toEqual({ state: "open" });
  });

  test("of a private room opens to a token for it, and to others only on request", () => {
    expect(door({ privacy: "private" }, { isForRoom: true })).toEqual({ state: "open" });
    for (const token of [undefined, { isForRoom: false }]) {
      expect(door({ privacy: "private" }, token)).toEqual({ state: "ask" });
      expect(door({ privacy: "private", enableRequestToJoin: false }, token)).toEqual({ state: "token_required" });
    }
  });

  test("says when a private room opens before it says that it needs a token", () => {
    expect(door({ privacy: "private", notBeforeUnixSec: NOW + 1 })).toEqual({ state: "not_open", opensAt: NOW + 1 });
  });
});
