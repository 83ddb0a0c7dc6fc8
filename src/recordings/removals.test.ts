import { afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../store/open.ts";
import { newFolders } from "../store/testing/places.ts";
import { Removals } from "./removals.ts";
import { HOUR_MS, type Kit, makeKit } from "./testing/kit.ts";

const newFolder = newFolders();
const kits: Kit[] = [];
afterEach(async () => {
  for (const kit of kits.splice(0)) await kit.close();
});

test("while a backup is made, the bytes of deleted recordings and abandoned uploads stay; a later sweep removes them", async () => {
  const kit = await makeKit();
  kits.push(kit);
  const { id } = await kit.record();
  const file = join(kit.folder, "files", kit.app, id.slice(-2), id);
  const upload = await kit.begin();
  await kit.part(upload, 0, new Uint8Array(10));
  kit.areRemovalsHeld = true;
  await kit.recordings.delete(kit.app, id);
  kit.aheadMs = 25 * HOUR_MS;
  await kit.sweep();
  expect([existsSync(file), existsSync(join(kit.folder, "uploads", upload))]).toEqual([true, true]);
  await expect(kit.recordings.get(kit.app, id)).rejects.toThrow();
  kit.areRemovalsHeld = false;
  await kit.sweep();
  expect([existsSync(file), existsSync(join(kit.folder, "uploads", upload))]).toEqual([false, false]);
});

test("removals are held until they are released, for ten minutes at most, and by no clock that was ahead", async () => {
  const store = await openStore(newFolder());
  let now = 1_700_000_000_000;
  const removals = new Removals(store, () => now);
  expect(await removals.areHeld()).toBeFalse();
  await removals.hold();
  expect(await removals.areHeld()).toBeTrue();
  await removals.release();
  expect(await removals.areHeld()).toBeFalse();
  await removals.hold();
  now += 10 * 60_000;
  expect(await removals.areHeld()).toBeFalse();
  await removals.hold();
  now -= HOUR_MS;
  expect(await removals.areHeld()).toBeFalse();
  await store.close();
});
