import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../store/open.ts";
import type { RoomStore } from "../store/rooms.ts";
import type { SqlStore } from "../store/sql.ts";
import { appRow } from "../store/testing/rows.ts";
import { Expiry } from "./expiry.ts";
import { findRoom, Rooms } from "./rooms.ts";

const APP = "app";
let folder: string;
let store: SqlStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-rooms-"));
  store = await openStore(folder);
  await store.change((change) => change.putApp(appRow(APP)));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** As one node has them; its timer never runs, so that what happens is what its calls do. */
function node(rooms: RoomStore = store.rooms, nowMs = Date.now, maxPerApp = 1000): Rooms {
  const expiry = new Expiry({
    store: rooms,
    nowMs,
    archived: () => undefined,
    failed: () => undefined,
    guarded: (callback) => () => void callback(),
  });
  expiry.consider = () => undefined;
  return new Rooms(rooms, expiry, nowMs, maxPerApp);
}

describe("two nodes", () => {
  test("that edit one room at the same moment lose nothing", async () => {
    const other = node();
    let between: (() => Promise<unknown>) | undefined;
    const slow: RoomStore = Object.create(store.rooms, {
      replaceRoom: {
        value: async (...args: Parameters<RoomStore["replaceRoom"]>) => {
          const work = between;
          between = undefined;
          await work?.();
          return store.rooms.replaceRoom(...args);
        },
      },
    });
    await other.create(APP, { roomName: "one" });
    between = () => other.update(APP, "one", { lang: "de" });
    expect(await node(slow).update(APP, "one", { enableChat: false })).toMatchObject({ lang: "de", enableChat: false });
    // Renamed in between: the name that was meant is nobody's any more.
    between = () => other.update(APP, "one", { roomName: "two" });
    await expect(node(slow).update(APP, "one", { lang: "fr" })).rejects.toMatchObject({ code: "room_not_found" });
    between = () => other.archive(APP, "two");
    await expect(node(slow).update(APP, "two", { lang: "fr" })).rejects.toMatchObject({ code: "room_not_found" });
  });

  test("a name held by a room that is over, and that nobody has archived yet, is given when it is asked for", async () => {
    let now = 1_000_000;
    const rooms = node(store.rooms, () => now);
    await rooms.create(APP, { roomName: "one", deleteOnExp: true, expireUnixSec: 2000 });
    await rooms.create(APP, { roomName: "two" });
    await expect(rooms.create(APP, { roomName: "one" })).rejects.toMatchObject({ code: "room_already_exists" });
    now = 2_000_000;
    expect(await rooms.update(APP, "two", { roomName: "one" })).toMatchObject({ roomName: "one" });
    await expect(rooms.create(APP, { roomName: "one" })).rejects.toMatchObject({ code: "room_already_exists" });
  });
});

test("24 hex digits are an id first, then a name", async () => {
  const rooms = node();
  const first = await rooms.create(APP, { roomName: "first" });
  const find = async (text: string) => (await findRoom(store.rooms, APP, text, Date.now()))?.name;
  const named = await rooms.create(APP, { roomName: "0".repeat(24) });
  expect(await find(first._id)).toBe("first");
  expect(await find("first")).toBe("first");
  expect(await find(named.roomName)).toBe("0".repeat(24));
  await rooms.create(APP, { roomName: first._id });
  expect(await find(first._id)).toBe("first");
  await rooms.archive(APP, "first");
  expect(await find(first._id)).toBe(first._id);
  expect(await findRoom(store.rooms, "other", "first", Date.now())).toBeUndefined();
});

describe("the cap of rooms", () => {
  test("refuses with the number and its setting, and a room that is over makes way", async () => {
    let now = 1_000_000;
    const rooms = node(store.rooms, () => now, 2);
    await rooms.create(APP, { roomName: "one", deleteOnExp: true, expireUnixSec: 2000 });
    await rooms.create(APP, { roomName: "two" });
    await expect(rooms.create(APP, { roomName: "three" })).rejects.toMatchObject({
      code: "room_limit_reached",
      message: expect.stringMatching(/at most 2 rooms .*PARLEY_MAX_ROOMS_PER_APP/) as string,
    });
    now = 2_000_001;
    expect((await rooms.create(APP, { roomName: "three" })).roomName).toBe("three");
    await rooms.archive(APP, "two");
    expect((await rooms.create(APP, {})).roomName).toMatch(/^[a-z]{10}$/);
    await expect(rooms.create(APP, {})).rejects.toMatchObject({ code: "room_limit_reached" });
  });
});
