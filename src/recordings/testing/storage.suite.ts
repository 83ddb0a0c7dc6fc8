/** The suite of every storage: each MUST of storage.ts, for the storage that `make` creates. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { IS_FULL } from "../../../test/support/slack.ts";
import { newObjectId } from "../../access/keys/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { LeaseLost } from "../../store/contract/leases.ts";
import type { Place, Quarantined, Storage, StoredEntry, WriterLease } from "../storage/storage.ts";
import { smallPartsSuite } from "./suite-small-parts.ts";

export interface StorageUnderTest {
  readonly storage: Storage;
  /** The bytes of a finished place, as a client gets them. */
  read(place: Place): Promise<Uint8Array>;
  /** Another instance with the same bytes, as after a crash. */
  reopen(): Storage;
}

const MIB = 1024 * 1024;

/** Bytes in which a missing, repeated or moved one is noticed. */
export function pattern(size: number, seed = 1): Uint8Array {
  const numbers = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < numbers.length; i++) numbers[i] = Math.imul(i + seed, 2654435761);
  return new Uint8Array(numbers.buffer, 0, size);
}

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Yields the bytes in pieces; fails after `failAt` bytes. */
async function* source(bytes: Uint8Array, piece = 100_003, failAt = Number.POSITIVE_INFINITY) {
  for (let at = 0; at < bytes.length; at += piece) {
    if (at >= failAt) throw new Error("cut");
    yield bytes.subarray(at, Math.min(at + piece, failAt));
  }
}

/** The lease of a writer without competitors. */
export const ALONE: WriterLease = { generation: 0, confirm: async () => undefined };

/** The lease of a writer that freezes after its `at`th confirmation, and finds the lease lost when it continues. */
function freezing(generation: number, at: number): { lease: WriterLease; frozen: Promise<void>; resume: () => void } {
  const [frozen, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let confirmed = 0;
  const confirm = async (): Promise<void> => {
    if (confirmed++ > at) throw new LeaseLost();
    if (confirmed <= at) return;
    frozen.resolve();
    await resumed.promise;
  };
  return { lease: { generation, confirm }, frozen: frozen.promise, resume: resumed.resolve };
}

const newId = (): string => newObjectId(Date.now());

async function begin(storage: Storage): Promise<Place> {
  const [app, id] = [anAppId(newId()), newId()];
  return { app, id, locator: await storage.begin(app, id) };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const entriesOf = async (storage: Storage, id: string): Promise<StoredEntry[]> =>
  (await all(storage.contents())).filter(({ place }) => place.id === id);

const quarantinedOf = async (storage: Storage, id: string): Promise<Quarantined[]> =>
  (await all(storage.quarantined())).filter(({ place }) => place.id === id);

async function finished(storage: Storage, bytes: Uint8Array): Promise<Place> {
  const place = await begin(storage);
  await storage.append(place, 0, source(bytes), ALONE);
  await storage.finish(place, bytes.length);
  return place;
}

export function storageSuite(name: string, make: () => Promise<StorageUnderTest>): void {
  describe(name, () => {
    test("bytes appended in several calls become one file, whatever their sizes", async () => {
      const { storage, read } = await make();
      const place = await begin(storage);
      const bytes = pattern(17 * MIB + 5);
      let at = 0;
      for (const size of [1, 3 * MIB, 5 * MIB - 1, 0, 8 * MIB, MIB + 5]) {
        expect(await storage.storedBytes(place)).toBe(at);
        await storage.append(place, at, source(bytes.subarray(at, at + size)), ALONE);
        at += size;
      }
      expect(await storage.storedBytes(place)).toBe(bytes.length);
      await storage.finish(place, bytes.length);
      expect(hash(await read(place))).toBe(hash(bytes));
      expect(await storage.head(place, 64)).toEqual(bytes.slice(0, 64));
      for (const [first, last] of [
        [0, 0],
        [8 * MIB - 1, 8 * MIB],
        [5, bytes.length - 1],
      ] as const)
        expect(hash((await storage.read(place, first, last)) ?? pattern(1))).toBe(hash(bytes.slice(first, last + 1)));
      await storage.remove(place);
      expect(await storage.read(place, 0, 9)).toBeUndefined();
    });

    test("bytes from before a cut are held, and another process continues from there", async () => {
      const { storage, read, reopen } = await make();
      const place = await begin(storage);
      const bytes = pattern(10 * MIB + 1);
      await expect(storage.append(place, 0, source(bytes, 65_536, 9 * MIB + 7), ALONE)).rejects.toThrow("cut");
      const other = reopen();
      const stored = await other.storedBytes(place);
      expect(stored).toBe(9 * MIB + 7);
      await other.append(place, stored, source(bytes.subarray(stored)), ALONE);
      await reopen().finish(place, bytes.length);
      expect(hash(await read(place))).toBe(hash(bytes));
      await storage.remove(place);
    });

    smallPartsSuite(make);

    test("finishing is all or nothing, and can be repeated", async () => {
      const { storage, read, reopen } = await make();
      const place = await begin(storage);
      const bytes = pattern(1000);
      await storage.append(place, 0, source(bytes), ALONE);
      await expect(storage.finish(place, 1001)).rejects.toThrow();
      expect(await storage.storedBytes(place)).toBe(1000);
      await storage.finish(place, 1000);
      await reopen().finish(place, 1000);
      expect(await storage.storedBytes(place)).toBe(1000);
      expect(await read(place)).toEqual(bytes);
      await storage.remove(place);
    });

    test("an empty file can be finished and read", async () => {
      const { storage, read } = await make();
      const place = await begin(storage);
      await storage.append(place, 0, source(new Uint8Array()), ALONE);
      await storage.finish(place, 0);
      expect(await storage.storedBytes(place)).toBe(0);
      expect(await storage.head(place, 64)).toHaveLength(0);
      expect(await read(place)).toHaveLength(0);
      await storage.remove(place);
    });

    test.each(["begun", "written to", "finished"])(
      "a place that was %s and removed leaves nothing behind",
      async (state) => {
        const { storage } = await make();
        const place = await begin(storage);
        if (state !== "begun") await storage.append(place, 0, source(pattern(MIB)), ALONE);
        if (state === "finished") await storage.finish(place, MIB);
        await storage.remove(place);
        await storage.remove(place);
        expect(await storage.storedBytes(place)).toBe(0);
        expect(await entriesOf(storage, place.id)).toEqual([]);
      },
    );

    test("a finished place can be removed without its locator", async () => {
      const { storage } = await make();
      const place = await begin(storage);
      await storage.append(place, 0, source(pattern(9 * MIB)), ALONE);
      await storage.finish(place, 9 * MIB);
      await storage.remove({ ...place, locator: "" });
      expect(await entriesOf(storage, place.id)).toEqual([]);
    });

    test("contents list every place with bytes, when it was written, and whether it is finished", async () => {
      const { storage } = await make();
      const open = await begin(storage);
      await storage.append(open, 0, source(pattern(100)), ALONE);
      const whole = await finished(storage, pattern(100));
      const [half] = await entriesOf(storage, open.id);
      expect(half?.isOpen).toBe(true);
      const [one, ...others] = await entriesOf(storage, whole.id);
      expect([one?.isOpen, one?.place, others]).toEqual([false, { ...whole, locator: "" }, []]);
      expect(Math.abs((one?.modifiedMs ?? 0) - Date.now())).toBeLessThan(60_000);
      for (const place of [open, whole]) await storage.remove(place);
    });

    test("discarding removes leftover bytes of an upload, and nothing that is finished", async () => {
      const { storage, read } = await make();
      const open = await begin(storage);
      await storage.append(open, 0, source(pattern(9 * MIB)), ALONE);
      for (const { place } of await entriesOf(storage, open.id)) await storage.discard(place);
      expect(await entriesOf(storage, open.id)).toEqual([]);
      const whole = await finished(storage, pattern(100));
      await storage.discard({ ...whole, locator: "" });
      expect(await read(whole)).toEqual(pattern(100));
      await storage.remove(whole);
    });

    test("a place in quarantine is not in the contents, and can be restored or removed", async () => {
      const { storage, read } = await make();
      const [kept, gone] = [await finished(storage, pattern(100)), await finished(storage, pattern(200))];
      for (const place of [kept, gone]) {
        await storage.quarantine({ ...place, locator: "" }, Date.now());
        expect(await entriesOf(storage, place.id)).toEqual([]);
      }
      const [one] = await quarantinedOf(storage, kept.id);
      const [other] = await quarantinedOf(storage, gone.id);
      if (!one || !other) throw new Error("they are not in quarantine");
      expect(Math.abs(one.sinceMs - Date.now())).toBeLessThan(25 * 3_600_000);
      await storage.restore(one);
      await storage.purge(other);
      await storage.purge(other);
      expect(await read(kept)).toEqual(pattern(100));
      expect(await storage.storedBytes(gone)).toBe(0);
      expect([...(await quarantinedOf(storage, kept.id)), ...(await quarantinedOf(storage, gone.id))]).toEqual([]);
      await storage.remove(kept);
    });

    test("the mark that was written last is read", async () => {
      const { storage, reopen } = await make();
      await storage.writeMark("one");
      await storage.writeMark("two");
      expect(await reopen().readMark()).toBe("two");
    });

    describe.each(["before", "after"])("a writer that was overtaken and continues %s the file is finished", (when) => {
      test.each(IS_FULL ? [0, 1, 2] : [0, 2])("in its write number %i: its writes change nothing", async (at) => {
        const { storage, read, reopen } = await make();
        const place = await begin(storage);
        const [theirs, ours] = [pattern(18 * MIB, 1), pattern(18 * MIB, 77)];
        const { lease, frozen, resume } = freezing(1, at);
        const overtaken = storage.append(place, 0, source(theirs), lease).catch((error: unknown) => error);
        await frozen;
        const other = reopen();
        const { locator, clear } = await other.takeOver(place, 2, undefined);
        const taken = { ...place, locator: locator };
        await clear();
        const stored = await other.storedBytes(taken);
        await other.append(taken, stored, source(ours.subarray(stored)), { ...ALONE, generation: 2 });
        if (when === "before") {
          resume();
          await overtaken;
        }
        expect(await other.storedBytes(taken)).toBe(ours.length);
        await other.finish(taken, ours.length);
        resume();
        await overtaken;
        const wanted = Buffer.concat([theirs.subarray(0, stored), ours.subarray(stored)]);
        expect(hash(await read(taken))).toBe(hash(wanted));
        expect((await entriesOf(storage, place.id)).filter(({ isOpen }) => !isOpen)).toHaveLength(1);
        for (const { place: left, isOpen } of await entriesOf(storage, place.id))
          if (isOpen) await storage.discard(left);
        await storage.remove(taken);
      });
    });

    test.each(["../../../etc", "..", "", "a/b", "A".repeat(24), `${"a".repeat(24)}/`, `${"a".repeat(23)}%`])(
      "no path is built from %p",
      async (id) => {
        const { storage } = await make();
        const app = anAppId("a".repeat(24));
        for (const place of [
          { app, id, locator: "x" },
          { app: anAppId(id), id: app, locator: "x" },
        ]) {
          await expect((async () => storage.storedBytes(place))()).rejects.toThrow("a place is named by");
          await expect((async () => storage.remove(place))()).rejects.toThrow("a place is named by");
          await expect((async () => storage.append(place, 0, source(pattern(1)), ALONE))()).rejects.toThrow();
        }
      },
    );
  });
}
