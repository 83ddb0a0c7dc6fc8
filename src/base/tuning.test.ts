import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TUNING, tunedEnvironment } from "./tuning.ts";

test("the settings are those of bin/parley", () => {
  const launcher = readFileSync(join(import.meta.dir, "../../bin/parley"), "utf8");
  const exported = [...launcher.matchAll(/^export (\w+)="\$\{\1:-(\d+)\}"$/gm)].map(([, name, value]) => [name, value]);
  expect(Object.fromEntries(exported)).toEqual(TUNING);
});

test("a service starts again with what is missing, and keeps what the user has set", () => {
  const set = { PATH: "/bin", MIMALLOC_PURGE_DELAY: "7" };
  expect(tunedEnvironment(["up", "--port", "0"], set, 42)).toEqual({ ...TUNING, ...set, PARLEY_TUNED: "42" });
  expect(tunedEnvironment(["--port", "0", "up"], set, 42)).toBeDefined();
});

test("it does so once, also if the settings are lost on the way", () => {
  const [first] = Object.keys(TUNING);
  const next = tunedEnvironment(["up"], {}, 42);
  expect(tunedEnvironment(["up"], next ?? {}, 42)).toBeUndefined();
  expect(tunedEnvironment(["up"], { PARLEY_TUNED: "42", [String(first)]: "1" }, 42)).toBeUndefined();
  // Another process that has inherited the mark has not.
  expect(tunedEnvironment(["up"], { PARLEY_TUNED: "42" }, 43)).toBeDefined();
});

test("short commands, and processes that have the settings already, do not start twice", () => {
  expect(tunedEnvironment(["version"], {}, 42)).toBeUndefined();
  expect(tunedEnvironment(["up"], TUNING, 42)).toBeUndefined();
});
