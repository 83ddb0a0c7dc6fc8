/** Part of the suite of every store: the contract of rooms.ts. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { RoomRow, RoomStore } from "../contract/rooms.ts";
import type { Store } from "../contract/store.ts";
import { type NewPlace, withApps } from "./places.ts";
import { roomRow } from "./rows.ts";

const A = anAppId("a");
const B = anAppId("b");

const row = (id: string, fields: Partial<RoomRow> = {}): RoomRow =>
  roomRow(id, { fields: { lang: "ü'\"\\", maxParticipants: 3, enableChat: false }, ...fields });

export function roomsSuite(newPlace: NewPlace): void {
  let store: Store;
  let rooms: RoomStore;
  beforeEach(async () => {
    store = await withApps(await newPlace());
    rooms = store.rooms;
  });
  afterEach(() => store.close());

  describe("rooms", () => {
    test("are read as they were written, by name and by id, in their own application only", async () => {
      expect(await rooms.addRoom(row("1"))).toBe("added");
      expect(await rooms.room(A, "name-1", 5)).toEqual(row("1"));
      expect(await rooms.roomById(A, "1", 5)).toEqual(row("1"));
      expect(await rooms.room(B, "name-1", 5)).toBeUndefined();
      expect(await rooms.roomById(B, "1", 5)).toBeUndefined();
    });

    test("are live until they are due, whether or not a sweep has run", async () => {
      await rooms.addRoom(row("1", { archiveAt: 100 }));
      expect(await rooms.rooms(A, 9, undefined, 99)).toHaveLength(1);
      for (const found of [await rooms.room(A, "name-1", 100), await rooms.roomById(A, "1", 100)])
        expect(found).toBeUndefined();
      expect(await rooms.rooms(A, 9, undefined, 100)).toEqual([]);
      expect(await rooms.roomPage(A, 5, undefined, 100)).toEqual({ rows: [], total: 0 });
      expect(await rooms.archiveRoom(A, "name-1", 100)).toBe(false);
      expect(await rooms.archiveDue(99, 5)).toBe(0);
      expect(await rooms.archiveDue(100, 5)).toBe(1);
      expect(await rooms.archiveDue(100, 5)).toBe(0);
    });

    test("that are due are archived by name, or of one application, where that is asked for", async () => {
      for (const id of ["1", "2", "3"]) await rooms.addRoom(row(id, { archiveAt: 100 }));
      expect(await rooms.archiveDue(99, 5, { app: A, name: "name-1" })).toBe(0);
      expect(await rooms.archiveDue(100, 5, { app: A, name: "name-9" })).toBe(0);
      expect(await rooms.archiveDue(100, 5, { app: B, name: "name-1" })).toBe(0);
      expect(await rooms.archiveDue(100, 5, { app: B })).toBe(0);
      expect(await rooms.archiveDue(100, 5, { app: A, name: "name-1" })).toBe(1);
      expect(await rooms.archiveDue(100, 1, { app: A })).toBe(1);
      expect(await rooms.archiveDue(100, 5, { app: A })).toBe(1);
      expect(await rooms.archiveDue(100, 5)).toBe(0);
    });

    test("a read shows every change before it, also of rooms that were read before", async () => {
      const both = async (name: string, nowMs = 5) => [
        await rooms.room(A, name, nowMs),
        await rooms.roomById(A, "1", nowMs),
      ];
      await rooms.addRoom(row("1"));
      await both("name-1");
      const renamed = row("1", { name: "n", fields: { lang: "de" }, archiveAt: 100 });
      expect(await rooms.replaceRoom(renamed)).toBe("replaced");
      expect(await both("n")).toEqual(Array(2).fill({ ...renamed, version: 2 }));
      expect(await rooms.room(A, "name-1", 5)).toBeUndefined();
      expect(await both("n", 100)).toEqual([undefined, undefined]);
      await rooms.archiveDue(100, 5);
      expect(await both("n")).toEqual([undefined, undefined]);
      await rooms.addRoom(row("2", { name: "n" }));
      expect(await rooms.room(A, "n", 5)).toEqual(row("2", { name: "n" }));
      await rooms.archiveRoom(A, "n", 7);
      expect(await rooms.room(A, "n", 5)).toBeUndefined();
      await rooms.addRoom(row("3", { name: "n" }));
      expect(await rooms.roomById(A, "3", 5)).toEqual(row("3", { name: "n" }));
      await store.change((change) => change.archiveRooms(A, 8));
      expect(await rooms.room(A, "n", 5)).toBeUndefined();
      expect(await rooms.roomById(A, "3", 5)).toBeUndefined();
      // It can be read as what it was.
      expect(await rooms.archivedRoom(A, "3")).toMatchObject({ id: "3", name: "n" });
      expect(await rooms.archivedRoom(B, "3")).toBeUndefined();
      expect(await rooms.roomById(A, "3", 5)).toBeUndefined();
    });

    test("names are unique among rooms that are not archived; a refused write changes nothing", async () => {
      await rooms.addRoom(row("1", { name: "n" }));
      await rooms.addRoom(row("2"));
      expect(await rooms.addRoom(row("3", { name: "n" }))).toBe("taken");
      expect(await rooms.replaceRoom(row("2", { name: "n", fields: {} }))).toBe("taken");
      expect(await rooms.roomById(A, "2", 0)).toEqual(row("2"));
      expect(await rooms.addRoom(row("4", { name: "n", app: B }))).toBe("added");
      expect(await rooms.archiveRoom(A, "n", 7)).toBe(true);
      expect(await rooms.replaceRoom(row("2", { name: "n" }))).toBe("replaced");
    });

    test("a room that has changed since it was read is not overwritten", async () => {
      await rooms.addRoom(row("1"));
      expect(await rooms.replaceRoom(row("1", { fields: { lang: "de" } }))).toBe("replaced");
      expect(await rooms.replaceRoom(row("1", { fields: { lang: "fr" } }))).toBe("changed");
      expect(await rooms.roomById(A, "1", 0)).toMatchObject({ fields: { lang: "de" }, version: 2 });
      await rooms.archiveRoom(A, "name-1", 7);
      expect(await rooms.replaceRoom(row("1", { version: 3 }))).toBe("changed");
    });

    test("come in pages of any size, newest first, each once, while others are added and archived", async () => {
      const ids = Array.from({ length: 25 }, (_, i) => (i + 10).toString(16).padStart(4, "0"));
      for (const id of ids) await rooms.addRoom(row(id));
      const seen: string[] = [];
      for (let endId: string | undefined; ; endId = seen.at(-1)) {
        const page = await rooms.rooms(A, 10, endId, 0);
        seen.push(...page.map(({ id }) => id));
        if (page.length < 10) break;
        await rooms.addRoom(row(`f${seen.length}`));
        await rooms.archiveRoom(A, `name-${ids[0]}`, 7);
      }
      expect(seen).toEqual(ids.slice(1).reverse());
    });

    test("are limited in number, however many are added and archived at the same time", async () => {
      const add = (id: number): Promise<string> => rooms.addRoom(row(`${id}`, { archiveAt: id < 3 ? 100 : null }), 5);
      const first = await Promise.all(Array.from({ length: 12 }, (_, i) => add(i)));
      expect(first.filter((outcome) => outcome === "added")).toHaveLength(5);
      expect(first.filter((outcome) => outcome === "full")).toHaveLength(7);
      const total = async (): Promise<number | undefined> => (await rooms.roomPage(A, 1, undefined, 0))?.total;
      expect(await total()).toBe(5);
      // Another application has its own limit, and a refused name is not counted.
      expect(await rooms.addRoom(row("b1", { app: B }), 2)).toBe("added");
      expect(await rooms.addRoom(row("b2", { app: B, name: "name-b1" }), 2)).toBe("taken");
      expect(await rooms.addRoom(row("b3", { app: B }), 2)).toBe("added");
      expect(await rooms.addRoom(row("b4", { app: B }), 2)).toBe("full");
      const names = (await rooms.rooms(A, 9, undefined, 0)).map(({ name }) => name);
      expect(await rooms.archiveRoom(A, names[0] as string, 7)).toBe(true);
      expect(await rooms.archiveRoom(A, names[0] as string, 7)).toBe(false);
      expect(await total()).toBe(4);
      await Promise.all([rooms.archiveDue(100, 10), rooms.archiveDue(100, 10), add(20), add(21), add(22), add(23)]);
      const left = (await rooms.rooms(A, 99, undefined, 0)).length;
      expect(await total()).toBe(left);
      expect(left).toBeLessThanOrEqual(5);
      await rooms.recount();
      expect(await total()).toBe(left);
      await store.change((change) => change.archiveRooms(A, 8));
      expect(await total()).toBe(0);
      expect(await add(30)).toBe("added");
    });

    test("that are due are not counted in the total of a page, whether or not a sweep has run", async () => {
      await rooms.addRoom(row("1", { archiveAt: 100 }));
      await rooms.addRoom(row("2"));
      expect((await rooms.roomPage(A, 1, undefined, 99))?.total).toBe(2);
      expect((await rooms.roomPage(A, 1, undefined, 100))?.total).toBe(1);
      await rooms.archiveDue(100, 5);
      expect((await rooms.roomPage(A, 1, undefined, 100))?.total).toBe(1);
    });

    test("a queued write is not rolled back with another change that fails", async () => {
      const failing = store.change(async () => {
        await nextTurn();
        throw new Error("no");
      });
      const adding = rooms.addRoom(row("1"));
      await expect(failing).rejects.toThrow("no");
      expect(await adding).toBe("added");
      expect(await rooms.roomById(A, "1", 0)).toEqual(row("1"));
    });
  });
}
