import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { applyRestore, finishRestore, REPLACED_FOLDER, RESTORE_FOLDER } from "./pending-restore.ts";
import { newFolders } from "./testing/places.ts";

const newFolder = newFolders();
const NAMES = ["history.sqlite", "master.key", "parley.sqlite"];

/** A data folder with old files, their logs, and new ones that are to replace them. */
function prepared(): string {
  const folder = newFolder();
  mkdirSync(join(folder, RESTORE_FOLDER));
  for (const name of NAMES) {
    writeFileSync(join(folder, name), "old");
    writeFileSync(join(folder, RESTORE_FOLDER, name), "new");
  }
  writeFileSync(join(folder, "parley.sqlite-wal"), "old");
  writeFileSync(join(folder, "first-run.txt"), "other");
  return folder;
}

const contents = (folder: string): string[] => NAMES.map((name) => readFileSync(join(folder, name), "utf8"));

test("new files take the place of old ones with their logs, which are kept aside", () => {
  const folder = prepared();
  applyRestore(folder);
  expect(contents(folder)).toEqual(["new", "new", "new"]);
  expect(contents(join(folder, REPLACED_FOLDER))).toEqual(["old", "old", "old"]);
  expect(readdirSync(folder).sort()).toEqual([REPLACED_FOLDER, "first-run.txt", ...NAMES]);
  expect(existsSync(join(folder, REPLACED_FOLDER, "parley.sqlite-wal"))).toBeTrue();
});

test("the files that were replaced are those of the last restore", () => {
  const folder = prepared();
  applyRestore(folder);
  mkdirSync(join(folder, RESTORE_FOLDER));
  writeFileSync(join(folder, RESTORE_FOLDER, "parley.sqlite"), "newest");
  applyRestore(folder);
  expect(readdirSync(join(folder, REPLACED_FOLDER))).toEqual(["parley.sqlite"]);
  expect(readFileSync(join(folder, REPLACED_FOLDER, "parley.sqlite"), "utf8")).toBe("new");
});

test("a restore that was not complete when it was killed changes nothing", () => {
  const folder = prepared();
  finishRestore(folder);
  expect(contents(folder)).toEqual(["old", "old", "old"]);
});

test("killed at any step, all files are old ones or all are new ones", async () => {
  const outcomes = new Set<string>();
  for (let step = 1; ; step++) {
    const folder = prepared();
    const script = join(import.meta.dir, "testing/die-in-restore.ts");
    const child = Bun.spawn([process.execPath, script, folder, String(step)], { stdout: "pipe", stderr: "inherit" });
    const isWhole = (await child.exited) === 0;
    finishRestore(folder);
    const found = contents(folder).join(" ");
    expect(["old old old", "new new new"]).toContain(found);
    expect(existsSync(join(folder, "parley.sqlite-wal"))).toBe(found.startsWith("old"));
    outcomes.add(found);
    if (isWhole) break;
  }
  expect(outcomes.size).toBe(2);
});
