import { describe, expect, test } from "bun:test";
import { chownSync, linkSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { giveToOwner } from "./give-to-owner.ts";

const OTHER_USER = 65_534;
const ANOTHER = 65_533;

function newFolder(): { readonly path: string; readonly outside: string } & Disposable {
  const outside = mkdtempSync(join(tmpdir(), "parley-owner-"));
  const path = join(outside, "data");
  mkdirSync(join(path, "recordings", "files"), { recursive: true });
  return { path, outside, [Symbol.dispose]: () => rmSync(outside, { recursive: true }) };
}

/** Only root can give a file away. */
describe.if(process.getuid?.() === 0 && process.platform === "linux")("as root", () => {
  test("files and folders of root get the owner of the folder, and no others do", () => {
    using folder = newFolder();
    const { path, outside } = folder;
    const made = ["parley.sqlite", "recordings/files/one", "theirs", "twice", "link"].map((name) => join(path, name));
    const [store = "", recording = "", theirs = "", twice = "", link = ""] = made;
    for (const file of [store, recording, theirs]) writeFileSync(file, "");
    const secret = join(outside, "secret");
    writeFileSync(secret, "");
    linkSync(secret, twice);
    symlinkSync(secret, link);
    symlinkSync(outside, join(path, "folder-link"));
    Bun.spawnSync(["mkfifo", join(path, "pipe")]);
    chownSync(theirs, ANOTHER, ANOTHER);
    chownSync(path, OTHER_USER, OTHER_USER);
    giveToOwner(path);
    const owners = [...made, join(path, "recordings/files"), secret, outside].map((one) => lstatSync(one).uid);
    expect(owners).toEqual([OTHER_USER, OTHER_USER, ANOTHER, 0, 0, OTHER_USER, 0, 0]);
    expect(lstatSync(store).gid).toBe(OTHER_USER);
  });

  test("a part of the folder only", () => {
    using folder = newFolder();
    const { path } = folder;
    writeFileSync(join(path, "parley.sqlite"), "");
    chownSync(path, OTHER_USER, OTHER_USER);
    giveToOwner(path, join(path, "recordings"));
    giveToOwner(path, join(path, "not-there"));
    expect(["recordings/files", "parley.sqlite"].map((name) => lstatSync(join(path, name)).uid)).toEqual([
      OTHER_USER,
      0,
    ]);
  });

  test("the folder of root stays its own", () => {
    using folder = newFolder();
    giveToOwner(folder.path);
    expect(lstatSync(join(folder.path, "recordings")).uid).toBe(0);
  });
});
