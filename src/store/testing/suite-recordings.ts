/** Part of the suite of every store: the contract of recordings.ts, without lists (suite-listing.ts). */
import { afterEach, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import { type NewPlace, withApps } from "./places.ts";
import { ids, record } from "./recordings.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

const B = anAppId("b");
const A = anAppId("a");

export function recordingsSuite(newPlace: NewPlace): void {
  let opened: Store | undefined;
  const newStore = async (): Promise<Store> => {
    opened = await withApps(await newPlace());
    return opened;
  };
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });

  describe("uploads", () => {
    test("the number of open uploads per application is limited, also when all are begun at once", async () => {
      const { recordings: store } = await newStore();
      const added = await Promise.all(Array.from({ length: 9 }, (_, i) => store.addUpload(uploadRow(`u${i}`), 5)));
      expect(added.filter(Boolean)).toHaveLength(5);
      expect(await store.addUpload(uploadRow("other", { app: B }), 5)).toBe(true);
      expect(await store.discardUpload(`u${added.indexOf(true)}`, 1)).toBe(true);
      expect(await store.addUpload(uploadRow("again"), 5)).toBe(true);
    });

    test("the total is that of the first request that names one", async () => {
      const { recordings: store } = await newStore();
      await store.addUpload(uploadRow("u"), 5);
      expect((await store.touchUpload("u", 0, null, 2000))?.total).toBeNull();
      expect((await store.touchUpload("u", 0, 0, 2000))?.total).toBe(0);
      expect((await store.touchUpload("u", 0, null, 2000))?.total).toBe(0);
      expect((await store.touchUpload("u", 0, 7, 2000))?.total).toBe(7);
      expect(await store.touchUpload("u", 0, 9, 3000)).toMatchObject({ total: 7, touched: 3000 });
    });

    test("an upload is completed once, by one of several callers", async () => {
      const { recordings: store } = await newStore();
      await store.addUpload(uploadRow("u"), 5);
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => store.complete("u", 0, COMPLETION)));
      expect(outcomes.filter((row) => row !== undefined)).toHaveLength(1);
      expect(await store.totalOf(A, {})).toBe(1);
      expect(await store.hasRecordings()).toBe(true);
      expect(await store.upload(A, "u")).toBeUndefined();
      expect(await store.discardUpload("u", 1)).toBe(false);
    });

    test("an ended upload is not completed, and is listed until its bytes are removed", async () => {
      const { recordings: store } = await newStore();
      await store.addUpload(uploadRow("u"), 5);
      expect(await store.discardUpload("u", 9, 1000)).toBe(false);
      expect(await store.discardUpload("u", 9, undefined, 1)).toBe(false);
      expect(await store.discardUpload("u", 9, 1001, 0)).toBe(true);
      expect(await store.discardUpload("u", 9)).toBe(false);
      expect(await store.complete("u", 0, COMPLETION)).toBeUndefined();
      expect(await store.touchUpload("u", 0, 5, 9)).toBeUndefined();
      expect(ids(await store.discardedUploads(10))).toEqual(["u"]);
      expect(await store.knownIds(["u"])).toEqual(new Map([["u", "upload"]]));
      await store.forgetUpload("u");
      expect(await store.discardedUploads(10)).toEqual([]);
    });

    test("uploads that were not touched are found, and those of other applications are not mixed up", async () => {
      const { recordings: store } = await newStore();
      await store.addUpload(uploadRow("old", { touched: 1 }), 5);
      await store.addUpload(uploadRow("young", { touched: 50 }), 5);
      expect(ids(await store.uploadsTouchedBefore(50, 10))).toEqual(["old"]);
      expect(await store.upload(B, "old")).toBeUndefined();
    });
  });

  describe("the stored number of recordings and bytes", () => {
    test("follows completion and deletion, per application, and can be recomputed", async () => {
      const { recordings: store } = await newStore();
      expect(await store.stored(A)).toEqual({ recordings: 0, bytes: 0, uploading: 0 });
      for (const [id, app, sizeInBytes] of [
        ["u1", A, 5_000_000_000],
        ["u2", A, 7],
        ["u3", B, 11],
        ["u4", A, 0],
      ] as const) {
        await store.addUpload(uploadRow(id, { app }), 5);
        await store.complete(id, 0, { ...COMPLETION, sizeInBytes });
      }
      expect(await store.stored(A)).toEqual({ recordings: 3, bytes: 5_000_000_007, uploading: 0 });
      await store.deleteRecordings(A, ["u1", "u3", "nothing"]);
      await store.deleteRecordings(A, ["u1"]);
      expect(await store.stored(A)).toEqual({ recordings: 2, bytes: 7, uploading: 0 });
      expect(await store.stored(B)).toEqual({ recordings: 1, bytes: 11, uploading: 0 });
      await store.recount();
      expect(await store.stored(A)).toEqual({ recordings: 2, bytes: 7, uploading: 0 });
    });
  });

  describe("deleting", () => {
    test("keeps the number of the recording, and a row until its bytes are removed", async () => {
      const { recordings: store } = await newStore();
      for (const id of ["x", "y", "z"]) await record(store, id);
      expect(await store.deleteRecordings(B, ["y"])).toEqual([]);
      expect(await store.deleteRecordings(A, ["y", "nothing"])).toEqual(["y"]);
      expect(await store.deleteRecordings(A, ["y"])).toEqual([]);
      expect(await store.totalOf(A, {})).toBe(2);
      expect(await store.seqOf(A, "y")).toBe(2);
      expect(await store.seqOf(B, "y")).toBeUndefined();
      expect(await store.seqOf(A, "nothing")).toBeUndefined();
      expect(await store.deletedRecordings(10)).toEqual([{ app: A, id: "y" }]);
      await store.markRemoved(["y"], 1);
      expect(await store.deletedRecordings(10)).toEqual([]);
      expect(await store.seqOf(A, "y")).toBe(2);
      expect((await record(store, "later")).seq).toBe(4);
    });
  });
}
