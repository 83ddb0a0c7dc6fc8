import { expect, test } from "bun:test";
import { inText } from "./in-text.ts";

test.each([
  ["chat/42", "chat/42"],
  ["", ""],
  ["חדר", "\u2068חדר\u2069"],
  // The end of an isolate would let what follows it out.
  ["\u202eabc\u2069\u202e", "\u2068abc\u2069"],
])("the name %j cannot reorder the sentence around it", (name, expected) => {
  expect(inText(name)).toBe(expected);
});
