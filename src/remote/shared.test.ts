/** What several workers share: locks, leases of uploads, and everything that the embedded store keeps in memory. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { retried } from "../../test/support/wait.ts";
import { anAppId } from "../base/testing/ids.ts";
import { LeaseLost } from "../store/contract/leases.ts";
import type { Store } from "../store/contract/store.ts";
import { openStore } from "../store/open.ts";
import { newFolders } from "../store/testing/places.ts";
import { appRow, roomRow, uploadRow } from "../store/testing/rows.ts";
import type { RemoteStores } from "./client.ts";
import { Served } from "./testing/served.ts";

const A = anAppId("a");

const NOW = 1_800_000_000_123;
const newFolder = newFolders();
let folder: string;
let served: Served;
let one: Store;
let other: Store;
let first: RemoteStores;

beforeEach(async () => {
  folder = newFolder();
  served = await Served.open(folder);
  first = await served.worker();
  one = first.store;
  other = (await served.worker()).store;
  await one.change(async (change) => change.putApp(appRow("a")));
  await one.recordings.addUpload(uploadRow("u"), 5);
});
afterEach(() => served.close());

const disconnect = async ({ store, history }: RemoteStores): Promise<void> => {
  await store.close();
  await history.close();
};

describe("locks", () => {
  test("have one holder at a time, and end with the connection of their worker", async () => {
    const release = await one.lock("name");
    let given = false;
    const waiting = other.lock("name").then((release) => {
      given = true;
      return release;
    });
    const free = await other.lock("another name");
    await free();
    expect(given).toBe(false);
    await release();
    await (await waiting)();
    await one.lock("name");
    const next = other.lock("name");
    await disconnect(first);
    await (await next)();
  });
});

describe("leases", () => {
  test("that are released are followed by others without a takeover", async () => {
    const lease = await one.leases.take("u");
    expect(lease).toMatchObject({ generation: 1, isTakeover: false, row: { id: "u" } });
    expect(await other.leases.take("u")).toBeUndefined();
    lease?.note?.({ bytes: 70, touched: 5000 });
    // Read before, so that the server has the row in memory.
    expect((await other.recordings.upload(A, "u"))?.bytes).toBe(0);
    expect(await lease?.release(true)).toBe(true);
    expect(await other.recordings.upload(A, "u")).toMatchObject({ bytes: 70, touched: 5000 });
    expect(await other.leases.take("u")).toMatchObject({ generation: 2, isTakeover: false });
  });

  test("of a worker whose connection closes are taken over, and the worker can change nothing any more", async () => {
    const lease = await one.leases.take("u");
    await lease?.confirm(true);
    await served.stopServing();
    await served.serve();
    // The worker is alive, and connects again; its lease is lost all the same.
    await retrying(() => one.revisions());
    await expect(lease?.confirm()).rejects.toBeInstanceOf(LeaseLost);
    const taken = await retrying(() => other.leases.take("u"));
    expect(taken).toMatchObject({ generation: 2, isTakeover: true });
    expect(await lease?.release(true)).toBe(false);
    expect(await retrying(() => one.recordings.touchUpload("u", 1, 7, 2000))).toBeUndefined();
    expect((await other.recordings.touchUpload("u", 2, 7, 2000))?.total).toBe(7);
    expect(await other.leases.look?.("u")).toEqual({ locator: "t", flushed: undefined });
    // Unclean: the file of the earlier writer was not replaced.
    expect(await taken?.release(false)).toBe(true);
    expect(await other.leases.take("u")).toMatchObject({ generation: 3, isTakeover: true });
  });

  test("that workers have left are taken over by a process that uses the store alone", async () => {
    await one.recordings.addUpload(uploadRow("clean"), 5);
    await (await one.leases.take("clean"))?.release(true);
    await one.leases.take("u");
    await served.close();
    const alone = await openStore(folder);
    const clean = await alone.leases.take("clean");
    expect(clean).toMatchObject({ generation: 1, isTakeover: false });
    expect((await alone.recordings.touchUpload("clean", 1, 7, 2000))?.total).toBe(7);
    const left = await alone.leases.take("u");
    expect(left).toMatchObject({ generation: 2, isTakeover: true });
    expect(await alone.recordings.touchUpload("u", 1, 7, 2000)).toBeUndefined();
    expect(await alone.recordings.moveUpload("u", 2, "elsewhere")).toBe(true);
    await left?.release(true);
    expect(await alone.leases.take("u")).toMatchObject({ generation: 2, isTakeover: false });
    await alone.close();
    served = await Served.open(folder);
  });
});

describe("what the embedded store keeps in memory", () => {
  test("rooms: a worker sees what another has changed or archived", async () => {
    const room = roomRow("r1");
    await one.rooms.addRoom(room);
    expect(await other.rooms.room(A, room.name, NOW)).toEqual(room);
    await one.rooms.replaceRoom({ ...room, fields: { maxParticipants: 3 } });
    expect((await other.rooms.room(A, room.name, NOW))?.fields).toEqual({ maxParticipants: 3 });
    expect(await one.rooms.archiveRoom(A, room.name, NOW)).toBe(true);
    expect(await other.rooms.roomById(A, "r1", NOW)).toBeUndefined();
  });

  test("places: workers together never hold more than a room has", async () => {
    const holding = Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? one : other).meetings.reserve(A, "r1", `p${i}`, 7, NOW + 10_000, NOW),
    );
    expect((await Promise.all(holding)).filter((outcome) => outcome === "reserved")).toHaveLength(7);
  });

  test("uploads: a worker sees what another has written", async () => {
    expect((await one.recordings.upload(A, "u"))?.total).toBeNull();
    const lease = await other.leases.take("u");
    await other.recordings.touchUpload("u", lease?.generation ?? -1, 9, 2000);
    expect((await one.recordings.upload(A, "u"))?.total).toBe(9);
  });

  test("the application's secrets and keys: the revision of one worker's change is seen by the others", async () => {
    const before = await other.revisions();
    await one.change((change) => change.putMeta("m", "v"));
    expect((await other.revisions()).keys).toBe(before.keys + 1);
    expect((await other.snapshot()).meta.get("m")).toBe("v");
  });
});

describe("announcements", () => {
  test("a worker is notified of changes and blocks of the others, and when its connection is lost and back", async () => {
    let notified = 0;
    const { promise: isBack, resolve: back } = Promise.withResolvers<void>();
    let own = 0;
    one.onChange?.(() => own++);
    other.onChange?.(() => ++notified === 4 && back());
    await one.change((change) => change.putMeta("m", "v"));
    await other.revisions();
    expect(notified).toBe(1);
    await one.putBlock({ app: A, peerId: "p", untilMs: NOW + 1000 }, NOW);
    await other.revisions();
    await one.removeBlock(A, "p", NOW);
    await other.revisions();
    expect([notified, own]).toEqual([3, 0]);
    await served.stopServing();
    await served.serve();
    await isBack;
    await retrying(() => other.revisions());
    expect(notified).toBe(5);
  });
});

/** A worker whose server is new needs a moment until it is connected again. */
const retrying = <T>(call: () => Promise<T>): Promise<T> => retried("the worker is connected again", call);
