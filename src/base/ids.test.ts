import { expect, test } from "bun:test";
import { appOfSpace, asAppId, asSpaceId, isRoomSpace, roomSpaceOf, spaceOf } from "./ids.ts";

const APP = asAppId("64b1f0c2a9d3e4f5a6b7c8d9");

test("an application has two spaces, and both lead back to it", () => {
  const spaces = [spaceOf(APP), roomSpaceOf(APP)];
  expect(spaces.map(isRoomSpace)).toEqual([false, true]);
  expect(spaces.map(appOfSpace)).toEqual([APP, APP]);
});

test("the ids of spaces are written as stored history and nodes of other versions have them", () => {
  expect(spaceOf(APP)).toBe(asSpaceId("64b1f0c2a9d3e4f5a6b7c8d9"));
  expect(roomSpaceOf(APP)).toBe(asSpaceId("64b1f0c2a9d3e4f5a6b7c8d9#rooms"));
});

test("the two kinds of ids are not taken for each other", () => {
  // These lines fail to compile without the comments above them: the compiler checks that each has an error.
  // @ts-expect-error An application is not a space.
  expect(isRoomSpace(APP)).toBe(false);
  // @ts-expect-error A space is not an application.
  expect(roomSpaceOf(spaceOf(APP))).toBe(roomSpaceOf(APP));
  // @ts-expect-error A text is neither.
  expect(spaceOf("text")).toBe(asSpaceId("text"));
});
