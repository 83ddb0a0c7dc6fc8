import { expect, test } from "bun:test";
import { offsetText, parseOffset, parsePlace, START } from "./offset.ts";

const PLACE = { epoch: "x4k2", offset: 17, check: "p0a" };

test("an offset is a position in a form that sorts", () => {
  expect(offsetText(PLACE)).toBe("0000000000000017_x4k2.p0a");
  expect(parseOffset("0000000000000017_x4k2.p0a")).toEqual(PLACE);
  expect(parsePlace("x4k2.17.p0a")).toEqual(PLACE);
  expect(parsePlace("0000000000000017_x4k2.p0a")).toEqual(PLACE);
  const texts = [9, 10, 99, 100, 1e14].map((offset) => offsetText({ ...PLACE, offset }));
  expect(texts.toSorted()).toEqual(texts);
  expect(START < offsetText({ ...PLACE, offset: 0 })).toBe(true);
});

test("anything else is no offset", () => {
  for (const text of [
    "",
    "17",
    START,
    "17_x4k2.p0a",
    "0000000000000017_x4k2",
    "0000000000000017__x4k2.p0a",
    "0000000000000017_X4K2.p0a",
    "0000000000000017_x4k2.p0a ",
    "00000000000000170_x4k2.p0a",
    "9999999999999999_x4k2.p0a",
  ])
    expect(parseOffset(text)).toBeUndefined();
});
