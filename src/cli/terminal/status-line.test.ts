import { expect, test } from "bun:test";
import { StatusLine } from "./status-line.ts";

function shown(isTTY: boolean, isQuiet = false) {
  const written: string[] = [];
  let now = 0;
  const line = new StatusLine(isQuiet, { isTTY, columns: 20, write: (text) => written.push(text) }, () => now);
  const at = (ms: number, text: string): void => {
    now = ms;
    line.at(text);
  };
  return { written, line, at };
}

test("on a terminal one line is rewritten, not longer than the terminal is wide, and cleared at the end", () => {
  const { written, line, at } = shown(true);
  for (const [ms, text] of [
    [0, "one"],
    [50, "too early"],
    [100, "two, and more than fits"],
  ] as const)
    at(ms, text);
  line.end();
  line.end();
  expect(written).toEqual(["\r\u001b[Kone", "\r\u001b[Ktwo, and more than ", "\r\u001b[K"]);
});

test("in a pipe there is a whole line every ten seconds, and none for a short command", () => {
  const { written, line, at } = shown(false);
  for (const ms of [0, 9000, 10_000, 19_999, 20_000]) at(ms, `at ${ms}, longer than a terminal`);
  line.end();
  expect(written).toEqual(["at 10000, longer than a terminal\n", "at 20000, longer than a terminal\n"]);
});

test("--quiet shows nothing", () => {
  const { written, line, at } = shown(true, true);
  at(0, "one");
  line.end();
  expect(written).toEqual([]);
});
