import { expect, test } from "bun:test";
import { followed } from "./draft.ts";

test("fields that no one has touched follow what is saved, and what was typed stays", () => {
  const before = { name: "standup", most: "12", chat: true };
  const typed = { ...before, most: "20" };
  expect(followed(typed, before, { name: "retro", most: "15", chat: false })).toEqual({
    name: "retro",
    most: "20",
    chat: false,
  });
  expect(followed(before, before, { ...before, most: "15" })).toEqual({ ...before, most: "15" });
});
