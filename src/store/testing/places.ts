/** For tests: places for stores, so that one suite runs with every database. */
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../contract/store.ts";
import { openStore } from "../open.ts";
import { appRow } from "./rows.ts";

/** Opens the store at that place; it is empty at first. */
export type Place = () => Promise<Store>;
export type NewPlace = () => Promise<Place>;

/** Creates folders that are removed after the tests of the file. */
export function newFolders(): () => string {
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true });
  });
  return () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-store-"));
    folders.push(folder);
    return folder;
  };
}

export function sqlitePlaces(): NewPlace {
  const newFolder = newFolders();
  return async () => {
    const folder = newFolder();
    return () => openStore(folder);
  };
}

/** Opens a store with the applications `a` and `b`. */
export async function withApps(place: Place): Promise<Store> {
  const store = await place();
  await store.change(async (change) => {
    for (const id of ["a", "b"]) await change.putApp(appRow(id));
  });
  return store;
}
