/** Tests wait for events and states: a time that is only a number says neither what it waits for nor what breaks if it is too short. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const TESTS = /^test\/|\.test\.tsx?$|\/testing\//;
const FIXED = /\bBun\.sleep\(\s*[\d_]+\s*\)|\bsetTimeout\([^;]*?,\s*[\d_]+\s*\)/g;

/** Where polling and a turn of the event loop have their names, and the rules about timers. */
const ALLOWED = new Set(["test/support/wait.ts", "test/house/sleeps.test.ts", "test/house/timers.test.ts"]);

test("no test sleeps for a number: it waits for a state, or for a time with a name", () => {
  const fixed: string[] = [];
  for (const folder of ["src", "web", "client/src", "bench", "test"])
    for (const found of new Bun.Glob("**/*.{ts,tsx,mjs}").scanSync(join(ROOT, folder))) {
      const file = join(folder, found);
      if (!TESTS.test(file) || ALLOWED.has(file)) continue;
      for (const [call] of readFileSync(join(ROOT, file), "utf8").matchAll(FIXED)) fixed.push(`${file}: ${call}`);
    }
  expect(fixed).toEqual([]);
});
