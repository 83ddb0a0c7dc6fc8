/** Part of the suite of every store: how much it holds. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { type NewPlace, withApps } from "./places.ts";
import { record } from "./recordings.ts";
import { COMPLETION, roomRow } from "./rows.ts";

const A = anAppId("a");
const B = anAppId("b");

export function amountsSuite(newPlace: NewPlace): void {
  test("few rows are counted, of all applications and of one", async () => {
    const store = await withApps(await newPlace());
    for (const name of ["one", "two", "gone"]) await store.rooms.addRoom(roomRow(name, { name }));
    await store.rooms.archiveRoom(A, "gone", 1);
    await store.rooms.addRoom(roomRow("of-b", { app: B }));
    for (const id of ["r1", "r2"]) await record(store.recordings, id);
    const tables = ["apps", "rooms", "recordings", "keys"];
    const counts = (found: ReadonlyMap<string, { count: number; isAbout: boolean }>) =>
      tables.map((name) => [found.get(name)?.count, found.get(name)?.isAbout]);
    const exactly = (...all: number[]) => all.map((count) => [count, false]);
    expect(counts(await store.amounts.ofTables(tables))).toEqual(exactly(2, 4, 2, 0));
    expect(counts(await store.amounts.ofApp(A, tables))).toEqual(exactly(1, 3, 2, 0));
    expect(counts(await store.amounts.ofApp(B, tables))).toEqual(exactly(1, 1, 0, 0));
    expect(await store.amounts.recordedBytes()).toBe(2 * COMPLETION.sizeInBytes);
    expect(await store.amounts.bytes()).toBeGreaterThan(10_000);
    await store.close();
  });

  test("what is no table is refused", async () => {
    const store = await (await newPlace())();
    await expect(store.amounts.ofTables(["apps; DROP TABLE apps"])).rejects.toThrow();
    await expect(store.amounts.ofApp(A, ["stays"])).rejects.toThrow("cannot be counted");
    await store.close();
  });
}
