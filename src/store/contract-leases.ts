/** The contract of leases (leases.ts), for every store. What lapses is in postgres-leases.test.ts. */
import { afterEach, describe, expect, test } from "bun:test";
import type { SqlStore } from "./sql.ts";
import { type NewPlace, withApps } from "./test-places.ts";
import { COMPLETION, upload } from "./test-recordings.ts";

export function leasesContract(newPlace: NewPlace): void {
  let opened: SqlStore | undefined;
  const newStore = async (): Promise<SqlStore> => {
    opened = await withApps(await newPlace());
    await opened.recordings.addUpload(upload("u"), 5);
    return opened;
  };
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });

  describe("leases", () => {
    test("of several that ask at once one gets it; when it is released, another does", async () => {
      const { leases } = await newStore();
      const given = (await Promise.all(Array.from({ length: 6 }, () => leases.take("u")))).filter((one) => one);
      expect(given).toHaveLength(1);
      expect(given[0]?.isTakeover).toBe(false);
      expect(await leases.take("u")).toBeUndefined();
      expect(await given[0]?.release(true)).toBe(true);
      expect(await given[0]?.release(true)).toBe(false);
      const next = await leases.take("u");
      expect(next?.isTakeover).toBe(false);
      await next?.confirm(true);
      await next?.release(true);
    });

    test("uploads do not wait for each other", async () => {
      const { leases, recordings } = await newStore();
      await recordings.addUpload(upload("v"), 5);
      expect(await leases.take("u")).toBeDefined();
      expect(await leases.take("v")).toBeDefined();
    });

    test("the holder's generation is the one that may change the upload", async () => {
      const { leases, recordings } = await newStore();
      const lease = await leases.take("u");
      const generation = lease?.generation ?? -1;
      expect(await recordings.touchUpload("u", generation + 1, 7, 2000)).toBeUndefined();
      expect(await recordings.moveUpload("u", generation + 1, "elsewhere")).toBe(false);
      expect(await recordings.complete("u", generation + 1, COMPLETION)).toBeUndefined();
      expect((await recordings.touchUpload("u", generation, 7, 2000))?.total).toBe(7);
      expect(await recordings.moveUpload("u", generation, "elsewhere")).toBe(true);
      expect((await recordings.upload("a", "u"))?.ticket).toBe("elsewhere");
      expect((await recordings.complete("u", generation, COMPLETION))?.id).toBe("u");
    });

    test("nothing of a deleted application is changed or completed any more", async () => {
      const store = await newStore();
      const { leases, recordings } = store;
      const generation = (await leases.take("u"))?.generation ?? -1;
      await store.change(async (change) => {
        const row = await change.app("a");
        if (row) await change.putApp({ ...row, deleted: 1 });
      });
      expect(await recordings.touchUpload("u", generation, 7, 2000)).toBeUndefined();
      expect(await recordings.moveUpload("u", generation, "elsewhere")).toBe(false);
      expect(await recordings.complete("u", generation, COMPLETION)).toBeUndefined();
    });
  });
}
