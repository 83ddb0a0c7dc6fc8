import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { announcedFolder, RunFolder, removeLeftFolder } from "./run-folder.ts";

let place: string;
let data: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "run-folder-test-"));
  data = join(place, "data");
});
afterEach(() => {
  delete process.env.RUNTIME_DIRECTORY;
  rmSync(place, { recursive: true, force: true });
});

const announce = (folder: string): void => {
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "workers.json"), JSON.stringify({ folder }));
};

test("the folder is in RUNTIME_DIRECTORY, which is seen from outside of a unit with a /tmp of its own", () => {
  process.env.RUNTIME_DIRECTORY = `${place}:/run/other`;
  const run = new RunFolder(data);
  expect(dirname(run.path)).toBe(place);
  run.announce();
  expect(announcedFolder(data)).toBe(run.path);
  run.remove();
  expect([existsSync(run.path), announcedFolder(data)]).toEqual([false, undefined]);
});

test("it is in the folder for temporary files if RUNTIME_DIRECTORY is not set, or cannot be used", () => {
  for (const value of [undefined, "", "relative", join(place, "missing")]) {
    if (value !== undefined) process.env.RUNTIME_DIRECTORY = value;
    const run = new RunFolder(data);
    expect(dirname(run.path)).toBe(tmpdir());
    run.remove();
  }
});

/** Runs `work` with TMPDIR set. */
function withTemporary(folder: string, work: () => void): void {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    work();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

test("a TMPDIR that does not exist, or is too long for sockets, is not used", () => {
  const long = join(place, "l".repeat(100));
  mkdirSync(long);
  for (const folder of [join(place, "missing"), long])
    withTemporary(folder, () => {
      const run = new RunFolder(data);
      expect(dirname(run.path)).toBe("/tmp");
      run.announce();
      removeLeftFolder(data);
      expect(existsSync(run.path)).toBe(false);
    });
});

test("the folder that an earlier service has left is removed", () => {
  for (const runtime of ["", place]) {
    process.env.RUNTIME_DIRECTORY = runtime;
    const left = new RunFolder(data);
    left.announce();
    removeLeftFolder(data);
    expect(existsSync(left.path)).toBe(false);
  }
});

test("what is no folder of this user with such a name stays", () => {
  process.env.RUNTIME_DIRECTORY = place;
  const [file, link, other] = [join(place, "parley-file"), join(place, "parley-link"), join(place, "other")];
  writeFileSync(file, "");
  mkdirSync(other);
  mkdirSync(join(place, "parley-x"));
  mkdirSync(join(place, "parley-x", "deep"));
  symlinkSync(other, link);
  for (const path of [file, link, other, join(place, "parley-x", "deep"), `${place}/parley-x/../other`]) {
    announce(path);
    removeLeftFolder(data);
    expect([path, existsSync(path)]).toEqual([path, true]);
  }
});

test.skipIf(process.getuid?.() !== 0)("a folder of another user stays", async () => {
  process.env.RUNTIME_DIRECTORY = place;
  const folder = join(place, "parley-others");
  mkdirSync(folder);
  await Bun.$`chown 65534 ${folder}`.quiet();
  announce(folder);
  removeLeftFolder(data);
  expect(existsSync(folder)).toBe(true);
});

test.skipIf(process.getuid?.() === 0)("a folder that cannot be removed does not keep a service from starting", () => {
  process.env.RUNTIME_DIRECTORY = place;
  const left = new RunFolder(data);
  left.announce();
  chmodSync(place, 0o500);
  expect(() => removeLeftFolder(data)).not.toThrow();
  chmodSync(place, 0o700);
});
