/** Part of the suite of every store: what is removed for good because of its age. */
import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Walk, Walked } from "../contract/clearing.ts";
import type { Store } from "../contract/store.ts";
import { type NewPlace, withApps } from "./places.ts";
import { record } from "./recordings.ts";
import { appRow, keyRow, roomRow, uploadRow } from "./rows.ts";

const A = anAppId("a");
const B = anAppId("b");

/** All of it, some rows at a time. */
async function walked(step: (from?: Walk) => Promise<Walked>): Promise<number> {
  let count = 0;
  for (let from: Walk | undefined, isFirst = true; isFirst || from; isFirst = false) {
    const { removed, next } = await step(from);
    count += removed;
    from = next;
  }
  return count;
}

const archived = async (store: Store, names: readonly string[], nowMs: number): Promise<void> => {
  for (const name of names) {
    await store.rooms.addRoom(roomRow(name, { name }));
    await store.rooms.archiveRoom(A, name, nowMs);
  }
};

export function clearingSuite(newPlace: NewPlace): void {
  const opened = async (): Promise<Store> => withApps(await newPlace());

  test("archived rooms are forgotten when they are old enough, unless a recording or an upload names them", async () => {
    const store = await opened();
    await store.rooms.addRoom(roomRow("live"));
    await archived(store, ["old", "recorded", "uploading"], 1000);
    await archived(store, ["young"], 2000);
    await record(store.recordings, "r1", { room: "recorded" });
    await store.recordings.addUpload(uploadRow("u1", { room: "uploading" }), 10);
    const forget = (before: number): Promise<number> => walked((from) => store.clearing.forgetRooms(before, 1, from));
    expect(await forget(1000)).toBe(0);
    expect(await forget(2000)).toBe(1);
    const left = async (): Promise<string[]> =>
      [...(await store.recordings.roomNames(A, ["live", "old", "recorded", "uploading", "young"])).keys()].sort();
    expect(await left()).toEqual(["live", "recorded", "uploading", "young"]);
    await store.recordings.deleteRecordings(A, ["r1"]);
    await store.recordings.discardUpload("u1", 5);
    expect(await forget(2001)).toBe(3);
    expect(await left()).toEqual(["live"]);
    await store.close();
  });

  test("numbers of deleted recordings are forgotten, except those of the newest recordings and those with bytes", async () => {
    const store = await opened();
    const ids = ["r1", "r2", "r3", "r4"];
    for (const id of ids) await record(store.recordings, id);
    await store.recordings.deleteRecordings(A, ids);
    await store.recordings.markRemoved(["r1", "r2", "r4"], 1000);
    const forget = (before: number): Promise<number> =>
      walked((from) => store.clearing.forgetRecordingNumbers(before, 1, 1, from));
    expect(await forget(1000)).toBe(0);
    expect(await forget(1001)).toBe(2);
    const left = await Promise.all(ids.map((id) => store.recordings.seqOf(A, id)));
    expect(left).toEqual([undefined, undefined, 3, 4]);
    await store.close();
  });

  test("keys are forgotten some time after they are revoked, and their secrets whenever one is left", async () => {
    const store = await opened();
    await store.change(async (change) => {
      for (const [id, revoked] of [
        ["live", null],
        ["old", 1000],
        ["young", 2000],
      ] as const) {
        await change.putKey(keyRow(id, { revoked }));
        await change.putSecret({ keyId: id, seq: 1, sealed: "s", digest: "d", created: 1, ends: null });
      }
    });
    while ((await store.clearing.forgetKeys(2000, 1)) > 0);
    expect((await store.keys(A)).map(({ id }) => id).sort()).toEqual(["live", "young"]);
    expect([(await store.secrets("live")).length, (await store.secrets("young")).length]).toEqual([1, 0]);
    await store.close();
  });

  test("operators are forgotten some time after they are revoked", async () => {
    const store = await opened();
    const operator = { role: "read", digest: "d", created: 1, lastUsed: null } as const;
    await store.change(async (change) => {
      for (const [id, revoked] of [
        ["live", null],
        ["old", 1000],
        ["young", 2000],
      ] as const)
        await change.putOperator({ ...operator, id, name: id, digest: id, revoked });
    });
    expect([await store.clearing.forgetOperators(2000, 5), await store.clearing.forgetOperators(2000, 5)]).toEqual([
      1, 0,
    ]);
    const found = await Promise.all(["live", "old", "young"].map((id) => store.operator(id)));
    expect(found.map((row) => row?.id)).toEqual(["live", undefined, "young"]);
    await store.close();
  });

  test("usage is forgotten by its period, and that of an application some time after its deletion, with its name", async () => {
    const store = await opened();
    const row = { messages: 1, guestMessages: 0, peakConnections: 1 };
    const periods = async (): Promise<number[][]> =>
      Promise.all([A, B].map(async (app) => (await store.usageOf(app, 0)).map(({ period }) => period)));
    const rows = [A, B].flatMap((app) => [100, 200].map((period) => ({ ...row, app, period })));
    await store.addUsage(rows, { writer: "w", seq: 1, atMs: 1 });
    expect([await store.clearing.forgetUsage(200, 1), await store.clearing.forgetUsage(200, 5)]).toEqual([1, 1]);
    expect(await periods()).toEqual([[200], [200]]);
    await store.change((change) => change.putApp(appRow("b", { deleted: 1000 })));
    // Not before everything else of it is gone.
    expect(await store.clearing.forgetDeletedApps(1001, 5)).toBe(0);
    await store.clearing.setCleared(B, 1500);
    expect(await store.clearing.forgetDeletedApps(1000, 5)).toBe(0);
    expect(await store.deletedApp(B)).toMatchObject({ id: B, name: "name-b", deleted: 1000 });
    while ((await store.clearing.forgetDeletedApps(1001, 1)) > 0);
    expect([await periods(), await store.deletedApp(B)]).toEqual([[[200], []], undefined]);
    expect(await store.deletedApp(A)).toBeUndefined();
    await store.close();
  });
}
