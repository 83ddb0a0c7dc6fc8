/** Part of the suite of every store: the contract of leases.ts. postgres-leases.test.ts has the leases that expire. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Store } from "../contract/store.ts";
import { type NewPlace, withApps } from "./places.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

export function leasesSuite(newPlace: NewPlace): void {
  describe("leases", () => {
    // One store for all tests: creating a PostgreSQL database for each would take long.
    let store: Store;
    beforeAll(async () => {
      store = await withApps(await newPlace());
      for (const id of ["one", "two", "three"]) await store.recordings.addUpload(uploadRow(id), 5);
      await store.recordings.addUpload(uploadRow("deleted", { app: anAppId("b") }), 5);
    });
    afterAll(() => store.close());

    test("one of several callers gets the lease; after its release another does", async () => {
      const { leases } = store;
      const given = (await Promise.all(Array.from({ length: 6 }, () => leases.take("one")))).filter((one) => one);
      expect(given).toHaveLength(1);
      expect(given[0]?.isTakeover).toBe(false);
      expect(await leases.take("one")).toBeUndefined();
      // The leases of two uploads are independent.
      const other = await leases.take("two");
      expect(await other?.release(true)).toBe(true);
      expect(await given[0]?.release(true)).toBe(true);
      expect(await given[0]?.release(true)).toBe(false);
      const next = await leases.take("one");
      expect(next?.isTakeover).toBe(false);
      await next?.confirm(true);
      await next?.release(true);
    });

    test("only the generation of the holder can change the upload", async () => {
      const { leases, recordings } = store;
      const generation = (await leases.take("three"))?.generation ?? -1;
      expect(await recordings.touchUpload("three", generation + 1, 7, 2000)).toBeUndefined();
      expect(await recordings.moveUpload("three", generation + 1, "elsewhere")).toBe(false);
      expect(await recordings.complete("three", generation + 1, COMPLETION)).toBeUndefined();
      expect((await recordings.touchUpload("three", generation, 7, 2000))?.total).toBe(7);
      expect(await recordings.moveUpload("three", generation, "elsewhere")).toBe(true);
      expect((await recordings.upload(anAppId("a"), "three"))?.locator).toBe("elsewhere");
      expect((await recordings.complete("three", generation, COMPLETION))?.id).toBe("three");
    });

    test("uploads of a deleted application can be neither changed nor completed", async () => {
      const { leases, recordings } = store;
      const generation = (await leases.take("deleted"))?.generation ?? -1;
      await store.change(async (change) => {
        const row = await change.app("b");
        if (row) await change.putApp({ ...row, deleted: 1 });
      });
      expect(await recordings.touchUpload("deleted", generation, 7, 2000)).toBeUndefined();
      expect(await recordings.moveUpload("deleted", generation, "elsewhere")).toBe(false);
      expect(await recordings.complete("deleted", generation, COMPLETION)).toBeUndefined();
    });
  });
}
