import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TooManyWaiting } from "../base/fair-queue.ts";
import { anAppId } from "../base/testing/ids.ts";
import type { RoomStore } from "../store/contract/rooms.ts";
import { openStore } from "../store/open.ts";
import type { SqlStore } from "../store/sql/store.ts";
import { appRow } from "../store/testing/rows.ts";
import { Expiry } from "./expiry.ts";
import { findRoom, Rooms } from "./rooms.ts";

const APP = anAppId("app");
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

/** The rooms of one node. Its timer never runs, so that only its calls change anything. */
function node(rooms: RoomStore = store.rooms, nowMs = Date.now, maxPerApp = 1000): Rooms {
  const expiry = new Expiry({
    store: rooms,
    nowMs,
    archived: () => undefined,
    failed: () => undefined,
    guarded: (callback) => () => void callback(),
  });
  expiry.schedule = () => undefined;
  return new Rooms(rooms, expiry, nowMs, maxPerApp);
}

describe("a name that is an address of the service", () => {
  const refused = { code: "invalid_request", message: expect.stringContaining("docs") };

  test("is refused when a room is made or renamed", async () => {
    const rooms = node();
    await expect(rooms.create(APP, { roomName: "docs" })).rejects.toMatchObject(refused);
    await rooms.create(APP, { roomName: "standup" });
    await expect(rooms.update(APP, "standup", { roomName: "docs" })).rejects.toMatchObject(refused);
    expect((await rooms.create(APP, { roomName: "Docs" })).roomName).toBe("Docs");
  });

  test("stays with a room that had it before, which can be edited and renamed", async () => {
    const rooms = node();
    await store.rooms.addRoom({ id: "a", app: APP, name: "docs", fields: {}, created: 1, archiveAt: null, version: 1 });
    expect(await rooms.update(APP, "docs", { roomName: "docs", enableChat: false })).toMatchObject({
      enableChat: false,
    });
    expect(await rooms.update(APP, "docs", { roomName: "papers" })).toMatchObject({ roomName: "papers" });
  });
});

describe("a listener", () => {
  test("hears of each edit and of the archiving, by the id of the room", async () => {
    const rooms = node();
    const heard: unknown[] = [];
    rooms.onChange((change) => heard.push(change));
    const { _id: room } = await rooms.create(APP, { roomName: "one" });
    expect(heard).toEqual([]);
    await rooms.update(APP, "one", { roomName: "two", enableChat: false });
    await rooms.archive(APP, "two");
    expect(heard).toEqual([
      {
        app: APP,
        room,
        before: expect.objectContaining({ id: room, name: "one" }),
        after: expect.objectContaining({ id: room, name: "two", fields: { enableChat: false } }),
      },
      { app: APP, room },
    ]);
  });

  test("does not hear of what failed", async () => {
    const rooms = node();
    await rooms.create(APP, { roomName: "one" });
    await rooms.create(APP, { roomName: "two" });
    rooms.onChange(() => expect.unreachable());
    await expect(rooms.update(APP, "one", { roomName: "two" })).rejects.toMatchObject({ code: "room_already_exists" });
    await expect(rooms.archive(APP, "three")).rejects.toMatchObject({ code: "room_not_found" });
  });
});

describe("two nodes", () => {
  test("that edit one room at the same time lose no edit", async () => {
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
    // Renamed in between: no room has the old name any more.
    between = () => other.update(APP, "one", { roomName: "two" });
    await expect(node(slow).update(APP, "one", { lang: "fr" })).rejects.toMatchObject({ code: "room_not_found" });
    between = () => other.archive(APP, "two");
    await expect(node(slow).update(APP, "two", { lang: "fr" })).rejects.toMatchObject({ code: "room_not_found" });
  });

  test("can reuse the name of an expired room that is not archived yet", async () => {
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

test("24 hex digits are tried as an id first, then as a name", async () => {
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
  expect(await findRoom(store.rooms, anAppId("other"), "first", Date.now())).toBeUndefined();
});

describe("the limit of rooms", () => {
  test("is named in the error with its setting, and an expired room does not count", async () => {
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

describe("a search", () => {
  /** A store that counts the pages that are read in one turn of the event loop. */
  function counted(): { readonly rooms: RoomStore; readonly mostPerTurn: () => number; readonly end: () => void } {
    let [inTurn, most, isOver] = [0, 0, false];
    const newTurn = (): void => {
      inTurn = 0;
      if (!isOver) setImmediate(newTurn);
    };
    newTurn();
    const read: RoomStore["rooms"] = (...page) => {
      most = Math.max(most, ++inTurn);
      return store.rooms.rooms(...page);
    };
    const rooms = new Proxy(store.rooms, {
      get: (target, name: keyof RoomStore) => (name === "rooms" ? read : target[name].bind(target)),
    });
    const end = (): void => {
      isOver = true;
    };
    return { rooms, mostPerTurn: () => most, end };
  }

  const add = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const id = i.toString(16).padStart(24, "0");
      await store.rooms.addRoom({
        id,
        app: APP,
        name: `Room-${i}`,
        fields: {},
        created: 1,
        archiveAt: null,
        version: 1,
      });
    }
  };

  test("waits for the others of its application, a page of rooms per turn of the event loop", async () => {
    await add(450);
    const { rooms, mostPerTurn, end } = counted();
    const one = node(rooms);
    const found = await Promise.all(
      Array.from({ length: 15 }, (_, i) => one.find(APP, { limit: 50, search: `room-${i}7` })),
    );
    end();
    expect(found.map(({ data }) => data.at(-1)?.roomName)).toEqual(
      Array.from({ length: 15 }, (_, i) => (i === 0 ? undefined : `Room-${i}7`)),
    );
    expect(mostPerTurn()).toBe(1);
  });

  test("is refused if too many wait; lists without one are not", async () => {
    await add(3);
    const one = node();
    const searches = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) => one.find(APP, { limit: 5, search: `room-${i}` })),
    );
    const refused = searches.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(refused).toHaveLength(9);
    for (const reason of refused) expect(reason).toBeInstanceOf(TooManyWaiting);
    expect((await one.find(APP, { limit: 2 })).data.map(({ roomName }) => roomName)).toEqual(["Room-2", "Room-1"]);
    const rest = await one.find(APP, { limit: 2, after: `${"0".repeat(23)}1` });
    expect([rest.data.length, rest.next, rest.total]).toEqual([1, null, 3]);
  });
});
