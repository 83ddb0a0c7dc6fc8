/** For tests: `bun die-in-restore.ts FOLDER STEP` applies a restore, and kills itself at that call of the file system. */
import { mock } from "bun:test";
import * as fs from "node:fs";

const [folder = "", step = ""] = process.argv.slice(2);
let calls = 0;

const dying =
  <A extends unknown[], R>(call: (...args: A) => R) =>
  (...args: A): R => {
    if (++calls === Number(step)) process.kill(process.pid, "SIGKILL");
    return call(...args);
  };

mock.module("node:fs", () => ({
  ...fs,
  renameSync: dying(fs.renameSync),
  rmSync: dying(fs.rmSync),
  writeFileSync: dying(fs.writeFileSync),
  mkdirSync: dying(fs.mkdirSync),
  fsyncSync: dying(fs.fsyncSync),
}));

const { applyRestore } = await import("../pending-restore.ts");
applyRestore(folder);
// What the test asks for last: it was never reached.
console.log(calls);
