import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MARK_NAME, type Place, type Storage } from "./storage/storage.ts";
import { HOUR_MS, type Kit, type KitOptions, makeKit } from "./testing/kit.ts";
import { ALONE } from "./testing/storage.suite.ts";

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});
async function newKit(options?: KitOptions): Promise<Kit> {
  const kit = await makeKit(options);
  kits.push(kit);
  return kit;
}

const names = (kit: Kit): string[] =>
  readdirSync(kit.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
    .map((entry) => entry.name)
    .sort();

const part = (kit: Kit, id: string): Promise<number> =>
  kit.uploads.write(kit.app, id, {
    range: { kind: "bytes", span: { first: 0, last: 4 }, total: 10 },
    length: 5,
    body: new Blob([new Uint8Array(5)]).stream(),
  });

const NOTHING = { abandoned: 0, expired: 0, strays: 0, leftovers: 0, restored: 0, purged: 0 };

/** Sets the time of a file to this many hours ago. */
function age(path: string, hours: number): void {
  const then = Date.now() / 1000 - hours * 3600;
  utimesSync(path, then, then);
}

const fileOf = (kit: Kit, id: string): string => join(kit.folder, "files", kit.app, id.slice(-2), id);

const placeIn = (kit: Kit, id: string): Place => ({ app: kit.app, id, locator: "" });

describe("abandoned uploads", () => {
  test("end after 24 hours without a write, with their bytes, and not before", async () => {
    const kit = await newKit();
    const [quiet, alive] = [await kit.begin(), await kit.begin()];
    await part(kit, quiet);
    kit.aheadMs = 23.9 * HOUR_MS;
    expect(await kit.sweep()).toEqual(NOTHING);
    await part(kit, alive);
    kit.aheadMs = 24.1 * HOUR_MS;
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 1 });
    expect(names(kit)).toEqual([alive]);
    expect(await kit.store.recordings.upload(kit.app, quiet)).toBeUndefined();
    expect(await kit.store.recordings.discardedUploads(10)).toEqual([]);
    await expect(part(kit, quiet)).rejects.toThrow("This upload does not exist");
    expect(kit.metrics.text()).toContain('parley_uploads_ended_total{why="abandoned"} 1');
  });

  test("one that a client is writing to is left alone", async () => {
    const kit = await newKit();
    const id = await kit.begin();
    kit.aheadMs = 30 * HOUR_MS;
    await kit.locks.exclusively(kit.app, id, async () => expect(await kit.sweep()).toEqual(NOTHING));
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 1 });
  });

  test("are ended once each by two nodes that sweep at the same time", async () => {
    const kit = await newKit();
    for (let i = 0; i < 5; i++) await part(kit, await kit.begin());
    kit.aheadMs = 25 * HOUR_MS;
    const swept = (await Promise.all([kit.sweep(), kit.sweep(), kit.sweep()])) as { abandoned: number }[];
    expect(swept.reduce((sum, one) => sum + one.abandoned, 0)).toBe(5);
    expect(names(kit)).toEqual([]);
  });
});

describe("an abandoned upload whose file is finished", () => {
  /** The state after a restored backup: the upload is open, and its file was finished after the backup was made. */
  async function completedLater(kit: Kit): Promise<string> {
    const id = await kit.begin();
    await kit.storage.append(placeIn(kit, id), 0, new Blob(["whole"]).stream(), ALONE);
    await kit.storage.finish(placeIn(kit, id), 5);
    kit.aheadMs = 25 * HOUR_MS;
    return id;
  }
  const quarantined = (kit: Kit): string[] =>
    existsSync(join(kit.folder, "quarantine"))
      ? readdirSync(join(kit.folder, "quarantine"), { recursive: true, encoding: "utf8" })
      : [];

  test("is set aside and not removed, so that its recording can be restored", async () => {
    const kit = await newKit();
    const id = await completedLater(kit);
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 1 });
    expect(existsSync(fileOf(kit, id))).toBe(false);
    expect(quarantined(kit).filter((path) => path.endsWith(id))).toHaveLength(1);
    expect(await kit.store.recordings.discardedUploads(10)).toEqual([]);
    expect(kit.metrics.text()).toContain('parley_recording_strays_total{outcome="quarantined"} 1');
  });

  test("is left alone where strays are not swept; unfinished bytes are removed there too", async () => {
    const kit = await newKit();
    kit.sweepStrays = "off";
    const partial = await kit.begin();
    await part(kit, partial);
    const id = await completedLater(kit);
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 2 });
    expect(names(kit)).toEqual([id]);
    expect(existsSync(fileOf(kit, id))).toBe(true);
  });

  test("is left alone in a storage of another store, and so are unfinished bytes", async () => {
    const kit = await newKit();
    const partial = await kit.begin();
    await part(kit, partial);
    const id = await completedLater(kit);
    writeFileSync(join(kit.folder, MARK_NAME), JSON.stringify({ owner: "another", refused: [] }));
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 2 });
    expect(names(kit)).toEqual([partial, id].sort());
    expect(await kit.store.recordings.discardedUploads(10)).toEqual([]);
  });
});

describe("bytes", () => {
  test("of an upload that cannot be removed delay neither other uploads nor retention", async () => {
    let stuck = "";
    const wrap = (storage: Storage): Storage =>
      Object.assign(Object.create(storage) as Storage, {
        ...Object.fromEntries(
          (["remove", "discard"] as const).map((call) => [
            call,
            (place: Place) => (place.id === stuck ? Promise.reject(new Error("stuck")) : storage[call](place)),
          ]),
        ),
      });
    const kit = await newKit({ wrap });
    const made = await kit.record();
    const [first, second] = [await kit.begin(), await kit.begin()];
    for (const id of [first, second]) await part(kit, id);
    stuck = first;
    kit.aheadMs = 25 * HOUR_MS;
    kit.retentionDays = 1;
    expect(await kit.sweep()).toEqual({ ...NOTHING, abandoned: 2, expired: 1 });
    expect(names(kit)).toEqual([first]);
    expect(kit.errors).toHaveLength(1);
    expect(await kit.store.recordings.recording(kit.app, made.id)).toBeUndefined();
    stuck = "";
    await kit.sweep();
    expect(names(kit)).toEqual([]);
  });

  test("of an ended upload and of a deleted recording are removed by the sweep after a crash", async () => {
    const kit = await newKit();
    const open = await kit.begin();
    await part(kit, open);
    const made = await kit.record();
    // The state after a crash: the rows are changed, and the bytes are still there.
    await kit.store.recordings.discardUpload(open, 1);
    await kit.store.recordings.deleteRecordings(kit.app, [made.id]);
    expect(names(kit)).toEqual([open, made.id].sort());
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(names(kit)).toEqual([]);
    expect(await kit.store.recordings.deletedRecordings(10)).toEqual([]);
  });

  test("that cannot be removed are retried, and their recording is not listed", async () => {
    let isStuck = true;
    const wrap = (storage: Storage): Storage =>
      Object.assign(Object.create(storage) as Storage, {
        remove: (place: Parameters<Storage["remove"]>[0]) =>
          isStuck ? Promise.reject(new Error("stuck")) : storage.remove(place),
      });
    const kit = await newKit({ wrap });
    const made = await kit.record();
    await kit.recordings.delete(kit.app, made.id);
    await kit.sweep();
    expect(names(kit)).toEqual([made.id]);
    expect(await kit.store.recordings.totalOf(kit.app, {})).toBe(0);
    expect(kit.errors.length).toBeGreaterThan(0);
    isStuck = false;
    await kit.sweep();
    expect(names(kit)).toEqual([]);
  });

  test("left by an upload are removed when they are older than any open upload can be, and not before", async () => {
    const kit = await newKit();
    const [open, made] = [await kit.begin(), await kit.record()];
    await part(kit, open);
    await kit.sweep();
    const paths = ["a", "b", "c.g3", made.id].map((name) => {
      const [id = "", generation] = name.split(".");
      return join(kit.folder, "uploads", `${id.padEnd(24, "0")}${generation ? `.${generation}` : ""}`);
    });
    for (const path of paths) writeFileSync(path, "x");
    for (const path of paths) age(path, 25.1);
    age(paths[0] ?? "", 24.5);
    // Files that the store knows stay, however old they are.
    age(join(kit.folder, "uploads", open), 1000);
    age(fileOf(kit, made.id), 1000);
    expect(await kit.sweep()).toEqual({ ...NOTHING, leftovers: 3 });
    expect(names(kit)).toEqual([open, made.id, "a".padEnd(24, "0")].sort());
    expect(kit.metrics.text()).toContain('parley_recording_strays_total{outcome="leftover"} 3');
  });
});

describe("retention", () => {
  test("deletes recordings that were completed before the application's retention", async () => {
    const kit = await newKit();
    const old = [await kit.record(), await kit.record()];
    kit.aheadMs = 5 * 24 * HOUR_MS;
    const young = await kit.record();
    kit.aheadMs = 8 * 24 * HOUR_MS;
    expect(await kit.sweep()).toEqual(NOTHING);
    kit.retentionDays = 7;
    expect(await kit.sweep()).toEqual({ ...NOTHING, expired: 2 });
    expect(names(kit)).toEqual([young.id]);
    expect(await kit.store.recordings.seqOf(kit.app, old[0]?.id ?? "")).toBe(1);
    expect(kit.metrics.text()).toContain('parley_recordings_deleted_total{why="retention"} 2');
    kit.aheadMs = 13 * 24 * HOUR_MS;
    expect(await kit.sweep()).toEqual({ ...NOTHING, expired: 1 });
  });

  test("deletes nothing by a clock that was set forward a moment ago", async () => {
    const kit = await newKit();
    await kit.record();
    await part(kit, await kit.begin());
    kit.retentionDays = 1;
    kit.aheadMs = kit.doubtedMs = 365 * 24 * HOUR_MS;
    expect(await kit.sweep()).toEqual(NOTHING);
    kit.doubtedMs = 0;
    expect(await kit.sweep()).toMatchObject({ abandoned: 1, expired: 1 });
  });

  test("deletes more recordings than one transaction does", async () => {
    const kit = await newKit();
    for (let i = 0; i < 205; i++) await kit.record();
    kit.retentionDays = 1;
    kit.aheadMs = 25 * HOUR_MS;
    expect(await kit.sweep()).toEqual({ ...NOTHING, expired: 205 });
    expect(names(kit)).toEqual([]);
  });
});
