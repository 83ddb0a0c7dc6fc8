/** test/README.md says what covers a feature: it names every folder of test/, and only what exists. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const PAGE = readFileSync(join(ROOT, "test/README.md"), "utf8");
const TABLE_ROW = /^\| .*$/gm;

const named = [...PAGE.matchAll(TABLE_ROW)].flatMap(([row]) =>
  [...row.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path).filter((path) => !path.includes(" ")),
);

test("every folder of test/ is in a table", () => {
  const folders = readdirSync(join(ROOT, "test"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const missing = folders.filter(({ name }) => !named.some((path) => path === name || path.startsWith(`${name}/`)));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test("everything in the tables exists", () => {
  const places = (path: string): string[] => [`test/${path}`, `test/${path}.test.ts`, path];
  expect(named.filter((path) => !places(path).some((place) => existsSync(join(ROOT, place))))).toEqual([]);
});
