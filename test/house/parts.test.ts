/** How the parts of realtime are put together: each constructor is given what it uses, by name, and no one is given everything. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FILES, IMPORTS, ROOT } from "../../scripts/import-graph.ts";

const REALTIME = FILES.filter((file) => file.startsWith("src/realtime/"));

const withText = (pattern: RegExp): string[] =>
  REALTIME.filter((file) => pattern.test(readFileSync(join(ROOT, file), "utf8")));

test("no part of realtime hands on all that it was given", () => {
  expect(REALTIME.length).toBeGreaterThan(100);
  expect(withText(/\.\.\.(?:this\.)?(?:parts|outside|needs|hub)\b/)).toEqual([]);
});

test("no part of realtime assigns to a field of another one while it is built", () => {
  expect(withText(/\bparts\.\w+\.\w+ = /)).toEqual([]);
});

test("only a node has all parts of realtime: HTTP gets those that it calls", () => {
  const whole = ["src/realtime/hub.ts", "src/realtime/build.ts"];
  const users = FILES.filter((file) => IMPORTS.get(file)?.some((target) => whole.includes(target)));
  expect(users.filter((file) => !/^src\/(?:node|realtime)\//.test(file))).toEqual([]);
});
