import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anAppId } from "../../../base/testing/ids.ts";
import type { LeaseNote } from "../../../store/contract/leases.ts";
import { ALONE, pattern, storageSuite } from "../../testing/storage.suite.ts";
import { type Place, StorageError, StorageFull } from "../storage.ts";
import { Folder } from "./folder.ts";

const made: string[] = [];
const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "parley-folder-"));
  made.push(path);
  return path;
};
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true });
});

storageSuite("a folder", async () => {
  const root = folder();
  const storage = new Folder(root, 0);
  const read = async (place: Place): Promise<Uint8Array> => (await storage.file(place))?.bytes() ?? new Uint8Array();
  return { storage, read, reopen: () => new Folder(root, 0) };
});

const PLACE: Place = { app: anAppId("a".repeat(24)), id: "b".repeat(24), locator: "" };
async function* once(bytes: Uint8Array) {
  yield bytes;
}

describe("a folder", () => {
  test("only its owner can read it and the files in it", async () => {
    const root = folder();
    const storage = new Folder(root, 0);
    await storage.append(PLACE, 0, once(pattern(10)), ALONE);
    const upload = join(root, "uploads", PLACE.id);
    expect([statSync(join(root, "uploads")).mode & 0o777, statSync(upload).mode & 0o777]).toEqual([0o700, 0o600]);
    await storage.finish(PLACE, 10);
    const whole = join(root, "files", PLACE.app, "bb", PLACE.id);
    expect([statSync(join(root, "files", PLACE.app)).mode & 0o777, statSync(whole).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
    expect(readdirSync(join(root, "uploads"))).toEqual([]);
  });

  test("with too little free disk space it accepts no bytes, and keeps those it has", async () => {
    const root = folder();
    await new Folder(root, 0).append(PLACE, 0, once(pattern(10)), ALONE);
    const full = new Folder(root, Number.MAX_SAFE_INTEGER);
    await expect(full.checkSpace(0)).rejects.toBeInstanceOf(StorageFull);
    await expect(full.append(PLACE, 10, once(pattern(10)), ALONE)).rejects.toBeInstanceOf(StorageFull);
    expect(await full.storedBytes(PLACE)).toBe(10);
    await expect(new Folder(root, 0).checkSpace(2 ** 52)).rejects.toBeInstanceOf(StorageFull);
  });

  test("its contents do not include files with foreign names", async () => {
    const root = folder();
    const storage = new Folder(root, 0);
    mkdirSync(join(root, "files", "lost+found", "xx"), { recursive: true });
    const foreign = [
      join(root, "files", "lost+found", "xx", "c".repeat(24)),
      join(root, "uploads", "notes.txt"),
      join(root, "uploads", `${"c".repeat(24)}.bak`),
    ];
    for (const path of foreign) {
      writeFileSync(path, "mine");
      utimesSync(path, 0, 0);
    }
    for await (const { place } of storage.contents()) throw new Error(`it names ${place.id}`);
  });

  test("a takeover continues with the bytes that were flushed, in a file of its own", async () => {
    const root = folder();
    const storage = new Folder(root, 0);
    await storage.append(PLACE, 0, once(pattern(10)), ALONE);
    const { locator, clear } = await storage.takeOver(PLACE, 7, 4);
    expect(readdirSync(join(root, "uploads")).sort()).toEqual([PLACE.id, `${PLACE.id}.g7`]);
    expect(await storage.storedBytes({ ...PLACE, locator })).toBe(4);
    await clear();
    expect(readdirSync(join(root, "uploads"))).toEqual([`${PLACE.id}.g7`]);
  });

  test("where a takeover is possible, a writer flushes and stores how many bytes it has, and notes at its end what the release stores", async () => {
    const storage = new Folder(folder(), 0);
    const kept: number[] = [];
    const noted: LeaseNote[] = [];
    const lease = {
      ...ALONE,
      keep: async (bytes: number) => void kept.push(bytes),
      note: (note: LeaseNote) => void noted.push(note),
    };
    async function* parts() {
      for (let i = 0; i < 5; i++) yield pattern(8 * 1024 * 1024);
    }
    await storage.append(PLACE, 0, parts(), lease);
    expect(kept.at(-1)).toBeGreaterThanOrEqual(32 * 1024 * 1024);
    expect(kept.length).toBeGreaterThanOrEqual(2);
    expect(noted).toEqual([{ kept: 40 * 1024 * 1024 }]);
  });

  test("an upload that was begun in a bucket starts from its beginning, and can be removed", async () => {
    const storage = new Folder(folder(), 0);
    for (const locator of ["2~abc/..+", '{"uploadId":"x","void":[3]}', "../g1"]) {
      const place = { ...PLACE, locator };
      expect(await storage.storedBytes(place)).toBe(0);
      await storage.append(place, 0, once(pattern(10)), ALONE);
      expect(await storage.storedBytes(place)).toBe(10);
      await storage.remove(place);
      expect(await storage.storedBytes(place)).toBe(0);
    }
  });

  test("a folder that cannot be created gives a clear error for the operator", () => {
    expect(() => new Folder("/proc/nothing", 0)).toThrow(StorageError);
    expect(() => new Folder("/proc/nothing", 0)).toThrow("the folder for recordings /proc/nothing cannot be written");
  });
});
