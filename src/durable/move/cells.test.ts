import { expect, test } from "bun:test";
import { compareIntegers, compareTexts, orderOf } from "./cells.ts";

/** Characters of one to four bytes, around the places where UTF-16 and UTF-8 order differently. */
const CHARACTERS = [
  "",
  "a",
  "\u007f",
  "\u0080",
  "é",
  "\u07ff",
  "漢",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "😀",
  "\u{10000}",
  "\u{10ffff}",
];

test("texts are ordered by their bytes, as both databases order them", () => {
  const texts = CHARACTERS.flatMap((one) => CHARACTERS.flatMap((other) => [`${one}${other}`, `x${one}${other}y`]));
  const wrong = texts.flatMap((one) =>
    texts
      .filter((other) => Math.sign(compareTexts(one, other)) !== Buffer.compare(Buffer.from(one), Buffer.from(other)))
      .map((other) => [one, other]),
  );
  expect(wrong).toEqual([]);
});

test("whole numbers are ordered exactly, also beyond 2^53", () => {
  const sorted = [
    "-9223372036854775808",
    "-10",
    "-9",
    "0",
    "9",
    "10",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
  ];
  for (const [at, one] of sorted.entries())
    for (const [place, other] of sorted.entries())
      expect(Math.sign(compareIntegers(one, other))).toBe(Math.sign(at - place));
});

test("rows are ordered by their keys, in the order of the key", () => {
  const columns = (["b", "a", "other"] as const).map((name) => ({
    name,
    kind: name === "a" ? ("text" as const) : ("integer" as const),
  }));
  const order = orderOf({ columns, key: ["a", "b"] });
  expect(order(["10", "x", "1"], ["9", "x", "0"])).toBeGreaterThan(0);
  expect(order(["10", "x", "1"], ["9", "y", "0"])).toBeLessThan(0);
  expect(order(["10", "x", "1"], ["10", "x", null as never])).toBe(0);
});
