import { expect, test } from "bun:test";
import fc from "fast-check";
import { anAppId } from "../../../base/testing/ids.ts";
import { Subjects } from "./subjects.ts";

const subjects = new Subjects("parley", "node", true);

test("the channel of a private subject is the one that it was made of", () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, unit: "grapheme" }),
    fc.constantFrom("*", "=", "a.b", ".", "=YQ", "a.*"),
  );
  fc.assert(
    fc.property(name, name, (space, channel) => {
      expect(subjects.channelOf(subjects.channel(anAppId(space), channel))).toEqual([anAppId(space), channel]);
    }),
  );
});

test("other subjects are of no channel", () => {
  const others = [subjects.all, subjects.node("n"), subjects.responses, subjects.peer(anAppId("a"), "p")];
  expect(others.map((subject) => subjects.channelOf(subject))).toEqual(others.map(() => undefined));
});
