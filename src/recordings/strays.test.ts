/** Files without a recording: set aside for 30 days, a limited number at a time, and only in a storage that the store owns. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MARK_NAME } from "./storage/storage.ts";
import { HOUR_MS, type Kit, type KitOptions, makeKit } from "./testing/kit.ts";

const DAY_MS = 24 * HOUR_MS;
const NOTHING = { abandoned: 0, expired: 0, strays: 0, leftovers: 0, restored: 0, purged: 0 };
const APP = "a".repeat(24);

const kits: Kit[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});
async function newKit(options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  return kit;
}
/** A folder that several kits use one after the other. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-strays-"));
  folders.push(folder);
  return folder;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

/** Adds files without a recording that are old enough to be strays. */
function addStrays(folder: string, count: number): void {
  for (let i = 0; i < count; i++) {
    const id = i.toString(16).padStart(24, "0");
    const shard = join(folder, "files", APP, id.slice(-2));
    mkdirSync(shard, { recursive: true });
    writeFileSync(join(shard, id), "x");
    utimesSync(join(shard, id), 0, 0);
  }
}

async function records(kit: Kit, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await kit.record();
}

/** Makes all files old enough to be strays. */
function ageAll(folder: string): void {
  for (const path of filesIn(folder)) utimesSync(join(folder, path), 0, 0);
}

/** Makes the storage look like that of a version without marks. */
const removeMark = (kit: Kit): void => rmSync(join(kit.folder, MARK_NAME), { force: true });

describe("strays", () => {
  test("are set aside, and removed 30 days later", async () => {
    const kit = await newKit();
    await records(kit, 20);
    await kit.sweep();
    addStrays(kit.folder, 2);
    expect(await kit.sweep()).toEqual({ ...NOTHING, strays: 2 });
    const aside = filesIn(kit.folder).filter((path) => path.startsWith("quarantine/"));
    const day = new Date().toISOString().slice(0, 10);
    expect(aside).toEqual(["0", "1"].map((id) => `quarantine/${day}/${APP}/${id.padStart(24, "0")}`));
    kit.aheadMs = 30 * DAY_MS - HOUR_MS;
    expect(await kit.sweep()).toEqual(NOTHING);
    kit.aheadMs = 31 * DAY_MS + HOUR_MS;
    expect(await kit.sweep()).toEqual({ ...NOTHING, purged: 2 });
    expect(filesIn(kit.folder)).toHaveLength(20);
    expect(readdirSync(join(kit.folder, "quarantine"))).toEqual([]);
    expect(kit.metrics.text()).toContain('parley_recording_strays_total{outcome="removed"} 2');
  });

  test("that are too young are left alone", async () => {
    const kit = await newKit();
    await records(kit, 20);
    await kit.sweep();
    addStrays(kit.folder, 1);
    const path = join(kit.folder, "files", APP, "00", "0".repeat(24));
    utimesSync(path, Date.now() / 1000 - 24.5 * 3600, Date.now() / 1000 - 24.5 * 3600);
    expect(await kit.sweep()).toEqual(NOTHING);
  });

  test("are all left alone if they are more than 10 % of all files, and the log says how many there are", async () => {
    const kit = await newKit();
    await records(kit, 17);
    await kit.sweep();
    addStrays(kit.folder, 2);
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(filesIn(kit.folder)).toHaveLength(19);
    expect(kit.warnings).toHaveLength(1);
    expect(kit.warnings[0]).toContain("2 of 19 files in the folder");
    expect(kit.warnings[0]).toContain("PARLEY_SWEEP_STRAYS=on");
    expect(kit.metrics.text()).toContain("parley_recording_strays_refused 2");
  });

  test("are compared with finished files only, and set aside once there are enough of those", async () => {
    const kit = await newKit();
    await records(kit, 8);
    for (let i = 0; i < 5; i++) {
      const body = new Blob([new Uint8Array(10)]).stream();
      await kit.uploads.write(kit.app, await kit.begin(), { range: undefined, length: 10, body });
    }
    await kit.sweep();
    addStrays(kit.folder, 1);
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(kit.warnings[0]).toContain("1 of 9 files in the folder");
    await records(kit, 1);
    expect(await kit.sweep()).toEqual({ ...NOTHING, strays: 1 });
    expect(kit.metrics.text()).toContain("parley_recording_strays_refused 0");
  });

  test("are all left alone if they are more than 100, until the operator says otherwise", async () => {
    const kit = await newKit();
    await kit.sweep();
    // 101 of 1,011: more than 100, but less than 10 %.
    addStrays(kit.folder, 1011);
    const known = new Set(Array.from({ length: 910 }, (_, i) => (i + 101).toString(16).padStart(24, "0")));
    const { knownIds } = kit.store.recordings;
    kit.store.recordings.knownIds = async (ids) =>
      new Map(ids.filter((id) => known.has(id)).map((id) => [id, "recording"]));
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(kit.warnings[0]).toContain("101 of 1011 files");
    known.add("0".repeat(24));
    kit.sweepStrays = "off";
    expect(await kit.sweep()).toEqual(NOTHING);
    kit.sweepStrays = "auto";
    expect(await kit.sweep()).toEqual({ ...NOTHING, strays: 100 });
    kit.store.recordings.knownIds = knownIds;
    kit.sweepStrays = "on";
    expect(await kit.sweep()).toEqual({ ...NOTHING, strays: 911 });
    expect(filesIn(kit.folder).every((path) => path.startsWith("quarantine/"))).toBe(true);
  });

  test("are restored if they turn out to have a recording", async () => {
    const kit = await newKit();
    const made = await kit.record();
    await kit.sweep();
    await kit.storage.quarantine({ app: kit.app, id: made.id, locator: "" }, Date.now());
    expect(await kit.recordings.file(made)).toBeUndefined();
    expect(await kit.sweep()).toEqual({ ...NOTHING, restored: 1 });
    expect((await kit.recordings.file(made))?.size).toBe(10);
  });
});

describe("a storage", () => {
  test("of a store that was replaced by an empty one keeps all its recordings, and the start warns about it", async () => {
    const folder = newFolder();
    const before = await newKit({ folder });
    await records(before, 3);
    await before.sweep();
    ageAll(folder);
    const files = filesIn(folder);

    const after = await newKit({ folder });
    expect(await after.sweep()).toEqual(NOTHING);
    expect(after.warnings[0]).toContain(`the folder ${folder} belongs to another store`);
    expect(after.warnings[0]).toContain("PARLEY_SWEEP_STRAYS=on");
    // Recordings that the new store makes do not change that.
    await records(after, 40);
    after.aheadMs = 100 * DAY_MS;
    expect(await after.sweep()).toEqual(NOTHING);
    expect(filesIn(folder)).toEqual(expect.arrayContaining(files));

    before.aheadMs = 100 * DAY_MS;
    expect(await before.sweep()).toEqual(NOTHING);
    expect(before.warnings.join()).toContain("40 of 43 files");
  });

  test("of an older version, without a mark, is kept in the same way", async () => {
    const folder = newFolder();
    const before = await newKit({ folder });
    await records(before, 3);
    removeMark(before);
    ageAll(folder);
    const files = filesIn(folder);

    const after = await newKit({ folder });
    expect(await after.sweep()).toEqual(NOTHING);
    expect(after.warnings[0]).toContain(`the folder ${folder} holds recordings that this store does not know`);
    await records(after, 40);
    after.aheadMs = 100 * DAY_MS;
    expect(await after.sweep()).toEqual(NOTHING);
    expect(filesIn(folder)).toEqual(expect.arrayContaining(files));
  });

  test("of an older version is adopted by the store it belongs to", async () => {
    const kit = await newKit();
    await records(kit, 20);
    addStrays(kit.folder, 2);
    removeMark(kit);
    expect(await kit.sweep()).toEqual({ ...NOTHING, strays: 2 });
    expect(kit.warnings).toEqual([]);
    expect(JSON.parse(readFileSync(join(kit.folder, MARK_NAME), "utf8")).owner).toBeString();
  });

  test("of an older version is not adopted by a store that knows only a part of it", async () => {
    const kit = await newKit();
    await records(kit, 5);
    addStrays(kit.folder, 5);
    removeMark(kit);
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(kit.warnings[0]).toContain("holds recordings that this store does not know");
  });

  test("remembers a limited number of the stores that it was refused to", async () => {
    const kit = await newKit();
    addStrays(kit.folder, 5);
    const refused = Array.from({ length: 30 }, (_, i) => `store ${i}`);
    writeFileSync(join(kit.folder, MARK_NAME), JSON.stringify({ owner: null, refused }));
    expect(await kit.sweep()).toEqual(NOTHING);
    const mark = JSON.parse(readFileSync(join(kit.folder, MARK_NAME), "utf8"));
    expect([mark.refused.length, mark.refused.includes("store 29")]).toEqual([20, true]);
  });

  test("of another store keeps what that store has set aside", async () => {
    const folder = newFolder();
    const before = await newKit({ folder });
    await records(before, 20);
    await before.sweep();
    addStrays(folder, 2);
    expect(await before.sweep()).toEqual({ ...NOTHING, strays: 2 });
    const after = await newKit({ folder });
    after.aheadMs = 100 * DAY_MS;
    expect(await after.sweep()).toEqual(NOTHING);
  });

  test("that an empty store has refused is adopted by its own store later", async () => {
    const folder = newFolder();
    const before = await newKit({ folder });
    await records(before, 20);
    removeMark(before);
    const after = await newKit({ folder });
    expect(await after.sweep()).toEqual(NOTHING);
    addStrays(folder, 2);
    expect(await before.sweep()).toEqual({ ...NOTHING, strays: 2 });
  });

  test("of another store is adopted when the operator says so; its files are set aside, and restored when its own store is used again", async () => {
    const folder = newFolder();
    const before = await newKit({ folder });
    await records(before, 3);
    await before.sweep();
    ageAll(folder);
    const files = filesIn(folder);
    const after = await newKit({ folder });
    after.sweepStrays = "on";
    expect(await after.sweep()).toEqual({ ...NOTHING, strays: 3 });
    after.sweepStrays = "auto";
    expect(await after.sweep()).toEqual(NOTHING);
    expect(after.warnings).toEqual([]);
    expect(await before.sweep()).toEqual({ ...NOTHING, restored: 3 });
    expect(filesIn(folder)).toEqual(files);
  });

  test("whose mark cannot be read is not swept", async () => {
    for (const text of ["", "{}", "[]", '{"owner":1,"refused":[]}', "null"]) {
      const kit = await newKit();
      await records(kit, 20);
      addStrays(kit.folder, 2);
      writeFileSync(join(kit.folder, MARK_NAME), text);
      expect(await kit.sweep()).toEqual(NOTHING);
      expect(kit.warnings[0]).toContain("belongs to another store");
    }
  });
});
