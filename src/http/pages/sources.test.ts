import { expect, test } from "bun:test";
import { cpSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratch } from "../../../test/support/temp.ts";
import { Sources } from "./sources.ts";

/** A folder with a page and what is not part of it. */
function pageIn(path: string): void {
  mkdirSync(join(path, "start"), { recursive: true });
  writeFileSync(join(path, "start/index.html"), "<p>1</p>");
  writeFileSync(join(path, "start/start.test.ts"), "");
  writeFileSync(join(path, "README.md"), "");
}

/** Every file in a package of npm has the same date. */
const OLD = new Date("1985-10-26T08:15:00Z");

const seen = (path: string) => {
  const sources = new Sources([path]);
  return { stamp: sources.stamp(), hash: sources.hash() };
};

test("sources that have not changed look the same", () => {
  using folder = scratch();
  pageIn(folder.path);
  expect(seen(folder.path)).toEqual(seen(folder.path));
});

test("another content is noticed, even with the old size and the old date", () => {
  using folder = scratch();
  pageIn(folder.path);
  const file = join(folder.path, "start/index.html");
  utimesSync(file, OLD, OLD);
  const before = seen(folder.path);
  const { ctimeMs } = statSync(file);
  // The clock of a file system moves in steps of some milliseconds.
  while (statSync(file).ctimeMs === ctimeMs) {
    writeFileSync(file, "<p>2</p>");
    utimesSync(file, OLD, OLD);
  }
  const after = seen(folder.path);
  expect(after.stamp).not.toBe(before.stamp);
  expect(after.hash).not.toBe(before.hash);
});

test("a copy has the same contents, and other dates", () => {
  using folder = scratch();
  using copy = scratch();
  pageIn(folder.path);
  cpSync(folder.path, copy.path, { recursive: true, preserveTimestamps: true });
  const [one, other] = [seen(folder.path), seen(copy.path)];
  expect(other.hash).toBe(one.hash);
  expect(other.stamp).not.toBe(one.stamp);
});

test("a file more or less is noticed, and tests and pages of text are not part of the pages", () => {
  using folder = scratch();
  pageIn(folder.path);
  const before = seen(folder.path);
  writeFileSync(join(folder.path, "start/start.test.ts"), "test();");
  writeFileSync(join(folder.path, "README.md"), "more");
  expect(seen(folder.path)).toEqual(before);
  writeFileSync(join(folder.path, "start/more.css"), "");
  expect(seen(folder.path).hash).not.toBe(before.hash);
});
