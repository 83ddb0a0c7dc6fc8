import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MendingFolder } from "./folder.ts";
import { MEND_COMMAND, ProcessMender } from "./process-mender.ts";
import { MendingTrial } from "./trial.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parley-trial-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function trialOf(command: readonly string[], { folder = join(root, "mending"), minFreeBytes = 0 } = {}) {
  const changes: [boolean, string][] = [];
  const trial = new MendingTrial({
    mender: new ProcessMender({ command }),
    folder: new MendingFolder(folder, minFreeBytes),
    monotonicMs: () => 0,
    changed: (works, why) => changes.push([works, why instanceof Error ? why.message : ""]),
  });
  return { trial, changes };
}

test("where recordings can be mended, the trial says so, and leaves nothing behind", async () => {
  const { trial, changes } = trialOf(MEND_COMMAND);
  expect(await trial.run()).toBe(true);
  expect([readdirSync(join(root, "mending")), changes, trial.hasWorked]).toEqual([[], [], true]);
  await trial.stop();
});

test("a program that does not start is found, and so is its return", async () => {
  const program = join(root, "program");
  const { trial, changes } = trialOf([program]);
  expect(await trial.run()).toBe(false);
  expect(changes).toEqual([[false, "its process ended with 127 and without a result"]]);
  // Asking begins another trial, which must have ended before the next.
  expect([trial.hasWorked, await trial.works()]).toEqual([false, false]);
  writeFileSync(program, `#!/bin/sh\necho x >"$3"; echo '{"durationMs":80}'\n`, { mode: 0o755 });
  expect(await trial.run()).toBe(true);
  expect(changes.at(-1)).toEqual([true, ""]);
});

test("a folder that cannot be written to, or is almost full, is found", async () => {
  writeFileSync(join(root, "file"), "");
  const blocked = trialOf(MEND_COMMAND, { folder: join(root, "file/mending") });
  expect([await blocked.trial.run(), blocked.changes[0]?.[1]]).toEqual([false, expect.stringContaining("ENOTDIR")]);
  const full = trialOf(MEND_COMMAND, { minFreeBytes: Number.MAX_SAFE_INTEGER });
  expect([await full.trial.run(), full.changes[0]?.[1]]).toEqual([false, "the data folder has too little space"]);
});
