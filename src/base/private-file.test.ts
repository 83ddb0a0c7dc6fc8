import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOfOtherUser, readWithOwner, writePrivateFile } from "./private-file.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-private-"));
  path = join(folder, "file");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("what had the name before is replaced, and neither written to nor followed", () => {
  writeFileSync(path, "old");
  chmodSync(path, 0o666);
  const held = openSync(path, "r");
  writePrivateFile(path, "secret");
  expect(readFileSync(held, "utf8")).toBe("old");
  closeSync(held);
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["secret", 0o600]);
  const link = join(folder, "link");
  symlinkSync(join(folder, "elsewhere"), link);
  writePrivateFile(link, "secret", { flush: true });
  expect([readFileSync(link, "utf8"), existsSync(join(folder, "elsewhere"))]).toEqual(["secret", false]);
});

test("nothing is left of a file that cannot be put in its place", () => {
  mkdirSync(join(path, "not empty"), { recursive: true });
  expect(() => writePrivateFile(path, "secret")).toThrow();
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("a file is read with its owner; a pipe, a folder and a long file are none", () => {
  expect(readWithOwner(path, 10)).toBeUndefined();
  writeFileSync(path, "0123456789");
  expect(readWithOwner(path, 10)).toMatchObject({ text: "0123456789", owner: statSync(path).uid });
  expect([readWithOwner(path, 9), readWithOwner(folder, 10_000), readWithOwner(join(path, "x"), 10)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
  expect(readWithOwner(join(folder, "pipe"), 10)).toBeUndefined();
  expect([isOfOtherUser(path), isOfOtherUser(join(folder, "none"))]).toEqual([false, false]);
});
