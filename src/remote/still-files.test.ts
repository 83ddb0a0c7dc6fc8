/** Files of the stores that a worker has held still, for a backup. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { historyFile } from "../history/sqlite/file.ts";
import { appendTexts, numbers } from "../history/testing/kit.ts";
import { newFolders } from "../store/testing/places.ts";
import { connectStore } from "./client.ts";
import { Served } from "./testing/served.ts";

const newFolder = newFolders();
let folder: string;
let served: Served;
beforeEach(async () => {
  folder = newFolder();
  served = await Served.open(folder);
});
afterEach(() => served.close());

describe("the files of the stores", () => {
  test("are still for a worker until it releases them", async () => {
    const { store, history, holdStill } = await served.worker();
    await appendTexts(history, numbers(1, 100));
    const still = await holdStill();
    expect(still.files.map(({ name }) => name)).toEqual(["parley.sqlite", "history.sqlite"]);
    await store.change((change) => change.putMeta("note", "later"));
    await appendTexts(history, numbers(1, 1000));
    expect(statSync(historyFile(folder)).size).toBe(still.files[1]?.bytes as number);
    expect(await still.release()).toBeTrue();
    expect(statSync(historyFile(folder)).size).toBeGreaterThan(still.files[1]?.bytes as number);
  });

  test("are not held any more when the connection of their worker has ended", async () => {
    const first = await connectStore({ path: served.path });
    const still = await first.holdStill();
    const second = await served.worker();
    const waiting = second.holdStill();
    await first.store.close();
    await first.history.close();
    expect(await (await waiting).release()).toBeTrue();
    expect(await still.release().catch(() => false)).toBeFalse();
  });
});
