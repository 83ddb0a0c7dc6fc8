import { expect, test } from "bun:test";
import { didYouMean, nearest } from "./did-you-mean.ts";

const KNOWN = ["up", "apps", "keys", "token", "admin-token-file", "log-level"];

test.each([
  ["kyes", "keys"],
  ["key", "keys"],
  ["tokens", "token"],
  ["pu", "up"],
  ["logLevel", "log-level"],
  ["log_level", "log-level"],
  ["admin-token", "admin-token-file"],
  ["log-levels-all", "log-level"],
])("%s suggests %s", (given, meant) => {
  expect(nearest(given, KNOWN)).toBe(meant);
});

test.each(["start", "xx", "", "publish"])("%p suggests nothing", (given) => {
  expect(nearest(given, KNOWN)).toBeUndefined();
});

test("the hint ends the sentence either way", () => {
  expect(didYouMean("kyes", KNOWN)).toBe('; did you mean "keys"?');
  expect(didYouMean("ap", ["app"], (name) => `--${name}`)).toBe("; did you mean --app?");
  expect(didYouMean("zzz", KNOWN)).toBe(".");
});
