import { expect, test } from "bun:test";
import { parsePosition, positionText } from "./position.ts";

test("a position is read as it was written", () => {
  const position = { epoch: "k3f9", offset: 12, check: "a7" };
  expect(parsePosition(positionText(position))).toEqual(position);
});

test.each([
  "",
  "a",
  "a.1",
  "a.01.b",
  "a.-1.b",
  "a.1.b.c",
  "A.1.b",
  "a.1.",
  `a.${"9".repeat(16)}.b`,
  `${"a".repeat(17)}.1.b`,
])("%p is no position", (text) => {
  expect(parsePosition(text)).toBeUndefined();
});
