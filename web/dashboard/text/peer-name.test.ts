import { expect, test } from "bun:test";
import { nameIn } from "./peer-name.ts";

test("a member is called what its metadata says, else what its state says, if that is a text", () => {
  expect(nameIn({ name: " Ann ", username: "ann1" }, { name: "state" })).toBe("Ann");
  expect(nameIn({ name: 7, username: "ann1" }, { name: "state" })).toBe("ann1");
  expect(nameIn({ name: " " }, { name: "state" })).toBe("state");
  expect(nameIn(undefined, { username: "state" })).toBe("state");
  expect([nameIn(undefined, undefined), nameIn({ of: { name: "x" } })]).toEqual([undefined, undefined]);
});
