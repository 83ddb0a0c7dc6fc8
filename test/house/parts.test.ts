/** How the parts of the service are put together: each constructor is given what it uses, by name, and no one is given everything. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FILES, IMPORTS, ROOT } from "../../scripts/import-graph.ts";

const BUILT = FILES.filter((file) => /^src\/(?:realtime|meetings|engine|recordings|workers|node\/parts)\//.test(file));

const withText = (pattern: RegExp): string[] =>
  BUILT.filter((file) => pattern.test(readFileSync(join(ROOT, file), "utf8")));

test("no part hands on all that it was given", () => {
  expect(BUILT.length).toBeGreaterThan(300);
  expect(withText(/(?:\{ |^\s+)\.\.\.(?:this\.)?(?:parts|outside|needs|hub|core|shared|common)\b/m)).toEqual([]);
});

test("no part assigns to a field of another one while it is built", () => {
  expect(withText(/\bparts\.\w+\.\w+ = /)).toEqual([]);
});

test("only a node has all parts of realtime: HTTP gets those that it calls", () => {
  const whole = ["src/realtime/hub.ts", "src/realtime/build.ts"];
  const users = FILES.filter((file) => IMPORTS.get(file)?.some((target) => whole.includes(target)));
  expect(users.filter((file) => !/^src\/(?:node|realtime)\//.test(file))).toEqual([]);
});
