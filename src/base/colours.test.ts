import { expect, test } from "bun:test";
import { hasColours, painter } from "./colours.ts";

test("there are colours on a terminal, unless its user or the terminal has none", () => {
  const terminal = { isTTY: true };
  expect(hasColours(terminal, {})).toBe(true);
  expect(hasColours({}, {})).toBe(false);
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { FORCE_COLOR: "0" }, { NO_COLOR: "1", FORCE_COLOR: "1" }])
    expect([env, hasColours(terminal, env)]).toEqual([env, false]);
  expect(hasColours(terminal, { NO_COLOR: "" })).toBe(true);
  expect(hasColours({}, { FORCE_COLOR: "1" })).toBe(true);
});

test("texts stay as they are without colours", () => {
  expect([painter(true)("cyan", "a"), painter(true)("cyan", ""), painter(false)("cyan", "a")]).toEqual([
    "\x1b[36ma\x1b[0m",
    "",
    "a",
  ]);
});
