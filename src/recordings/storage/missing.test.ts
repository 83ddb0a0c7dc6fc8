/** A missing storage, for example a volume that is not mounted: nothing is written, removed or swept until it is present again. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { HOUR_MS, type Kit, makeKit } from "../testing/kit.ts";

const NOTHING = { abandoned: 0, expired: 0, strays: 0, leftovers: 0, restored: 0, purged: 0 };
const WARNING = "is empty and has no mark";

const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});
async function newKit(): Promise<Kit> {
  const kit = await makeKit();
  kits.push(kit);
  return kit;
}

const unmount = ({ folder }: Kit): void => renameSync(folder, `${folder}-unmounted`);
function mount({ folder }: Kit): void {
  rmSync(folder, { recursive: true, force: true });
  renameSync(`${folder}-unmounted`, folder);
}
const holds = ({ folder }: Kit, id: string): boolean =>
  readdirSync(folder, { recursive: true }).some((path) => String(path).endsWith(id));

const upload = (kit: Kit, id: string): Promise<number> =>
  kit.uploads.write(kit.app, id, { range: undefined, length: 10, body: new Blob([new Uint8Array(10)]).stream() });

describe("a missing storage is noticed", () => {
  test("by a store that has marked a storage, even if it has no recordings", async () => {
    const kit = await newKit();
    await kit.sweep();
    unmount(kit);
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(kit.warnings.join()).toContain(WARNING);
    expect(existsSync(kit.folder) && readdirSync(kit.folder).length > 0).toBeFalse();
  });

  test("by a store that has recordings, even if it has never marked a storage", async () => {
    const kit = await newKit();
    await kit.record();
    unmount(kit);
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(kit.warnings.join()).toContain(WARNING);
  });
});

describe("while the storage is missing", () => {
  test("no upload is begun, written or completed, and all of them continue when it is present again", async () => {
    const kit = await newKit();
    const [open, uploaded] = [await kit.begin(), await kit.begin()];
    await upload(kit, uploaded);
    await kit.sweep();
    unmount(kit);
    await kit.sweep();
    const refused = { code: "insufficient_storage" };
    await expect(kit.begin()).rejects.toMatchObject(refused);
    await expect(upload(kit, open)).rejects.toMatchObject(refused);
    await expect(kit.recordings.complete(kit.app, uploaded)).rejects.toMatchObject(refused);
    mount(kit);
    await upload(kit, open);
    for (const id of [open, uploaded]) expect((await kit.recordings.complete(kit.app, id)).id).toBe(id);
  });

  test("since a moment ago, what has come of a page's recording is neither ended nor sent again", async () => {
    const kit = await newKit();
    await kit.sweep();
    const id = await kit.beginOfStay("stay");
    expect(await kit.part(id, 0, new Uint8Array(1000))).toBe(1000);
    unmount(kit);
    const refused = { code: "insufficient_storage" };
    await expect(kit.part(id, 1000, new Uint8Array(10))).rejects.toMatchObject(refused);
    await expect(kit.uploads.finish(kit.app, id)).rejects.toMatchObject(refused);
    const asked = { range: { kind: "query", total: null }, length: 0, body: null } as const;
    await expect(kit.uploads.write(kit.app, id, asked)).rejects.toMatchObject(refused);
    mount(kit);
    expect(await kit.part(id, 1000, new Uint8Array(10))).toBe(1010);
    expect(await kit.uploads.finish(kit.app, id)).toBe("finished");
  });

  test("no upload is abandoned, and files of deleted recordings are removed once it is present again", async () => {
    const kit = await newKit();
    const [kept, deleted] = [await kit.record(), await kit.record()];
    const open = await kit.begin();
    await kit.sweep();
    unmount(kit);
    kit.aheadMs = 25 * HOUR_MS;
    expect(await kit.sweep()).toEqual(NOTHING);
    expect(await kit.recordings.deleteRows(kit.app, [deleted.id])).toBe(1);
    kit.aheadMs = 0;
    expect(await kit.sweep()).toEqual(NOTHING);
    mount(kit);
    expect([holds(kit, kept.id), holds(kit, deleted.id)]).toEqual([true, true]);
    await kit.sweep();
    expect([holds(kit, kept.id), holds(kit, deleted.id)]).toEqual([true, false]);
    await upload(kit, open);
  });
});
