/** The suite of storages: every MUST of storage.ts, for whatever stands behind `make`. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { newObjectId } from "../../access/ids.ts";
import { LeaseLost } from "../../store/leases.ts";
import type { Found, Place, Quarantined, Storage, WriterLease } from "../storage.ts";

export interface StorageUnderTest {
  readonly storage: Storage;
  /** The bytes of what is finished, as a client gets them. */
  read(place: Place): Promise<Uint8Array>;
  /** Another one on the same bytes, as after a crash. */
  again(): Storage;
}

const MIB = 1024 * 1024;

/** Bytes that tell when one is missing, doubled or moved. */
export function pattern(size: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + seed, 2654435761);
  return new Uint8Array(words.buffer, 0, size);
}

const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** In pieces of no particular size; `failAt`: then the source breaks. */
async function* source(bytes: Uint8Array, piece = 100_003, failAt = Number.POSITIVE_INFINITY) {
  for (let at = 0; at < bytes.length; at += piece) {
    if (at >= failAt) throw new Error("cut");
    yield bytes.subarray(at, Math.min(at + piece, failAt));
  }
}

/** Of a writer that has no rivals. */
export const ALONE: WriterLease = { generation: 0, confirm: async () => undefined };

/** A writer that freezes once it has been told for the `at`th time that its lease is good, and finds it lost when it wakes. */
function freezing(generation: number, at: number): { lease: WriterLease; frozen: Promise<void>; wake: () => void } {
  const [frozen, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  const confirm = async (): Promise<void> => {
    if (asked++ > at) throw new LeaseLost();
    if (asked <= at) return;
    frozen.resolve();
    await awake.promise;
  };
  return { lease: { generation, confirm }, frozen: frozen.promise, wake: awake.resolve };
}

const newId = (): string => newObjectId(Date.now());

async function begin(storage: Storage): Promise<Place> {
  const [app, id] = [newId(), newId()];
  return { app, id, ticket: await storage.begin(app, id) };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const foundOf = async (storage: Storage, id: string): Promise<Found[]> =>
  (await all(storage.contents())).filter(({ place }) => place.id === id);

const asideOf = async (storage: Storage, id: string): Promise<Quarantined[]> =>
  (await all(storage.quarantined())).filter(({ place }) => place.id === id);

async function finished(storage: Storage, bytes: Uint8Array): Promise<Place> {
  const place = await begin(storage);
  await storage.append(place, 0, source(bytes), ALONE);
  await storage.finish(place, bytes.length);
  return place;
}

export function storageContract(name: string, make: () => Promise<StorageUnderTest>): void {
  describe(name, () => {
    test("what is appended in several goes is one file, whatever their sizes", async () => {
      const { storage, read } = await make();
      const place = await begin(storage);
      const bytes = pattern(17 * MIB + 5);
      let at = 0;
      for (const size of [1, 3 * MIB, 5 * MIB - 1, 0, 8 * MIB, MIB + 5]) {
        expect(await storage.held(place)).toBe(at);
        await storage.append(place, at, source(bytes.subarray(at, at + size)), ALONE);
        at += size;
      }
      expect(await storage.held(place)).toBe(bytes.length);
      await storage.finish(place, bytes.length);
      expect(hash(await read(place))).toBe(hash(bytes));
      expect(await storage.head(place, 64)).toEqual(bytes.slice(0, 64));
      await storage.remove(place);
    });

    test("what came before a cut is held, and another process goes on from there", async () => {
      const { storage, read, again } = await make();
      const place = await begin(storage);
      const bytes = pattern(10 * MIB + 1);
      await expect(storage.append(place, 0, source(bytes, 65_536, 9 * MIB + 7), ALONE)).rejects.toThrow("cut");
      const other = again();
      const held = await other.held(place);
      expect(held).toBe(9 * MIB + 7);
      await other.append(place, held, source(bytes.subarray(held)), ALONE);
      await again().finish(place, bytes.length);
      expect(hash(await read(place))).toBe(hash(bytes));
      await storage.remove(place);
    });

    test("finishing is all or nothing, and may be asked for again", async () => {
      const { storage, read, again } = await make();
      const place = await begin(storage);
      const bytes = pattern(1000);
      await storage.append(place, 0, source(bytes), ALONE);
      await expect(storage.finish(place, 1001)).rejects.toThrow();
      expect(await storage.held(place)).toBe(1000);
      await storage.finish(place, 1000);
      await again().finish(place, 1000);
      expect(await storage.held(place)).toBe(1000);
      expect(await read(place)).toEqual(bytes);
      await storage.remove(place);
    });

    test("an empty one is one too", async () => {
      const { storage, read } = await make();
      const place = await begin(storage);
      await storage.append(place, 0, source(new Uint8Array()), ALONE);
      await storage.finish(place, 0);
      expect(await storage.held(place)).toBe(0);
      expect(await storage.head(place, 64)).toHaveLength(0);
      expect(await read(place)).toHaveLength(0);
      await storage.remove(place);
    });

    test.each(["begun", "written to", "finished"])("nothing is left of one that was %s and removed", async (state) => {
      const { storage } = await make();
      const place = await begin(storage);
      if (state !== "begun") await storage.append(place, 0, source(pattern(MIB)), ALONE);
      if (state === "finished") await storage.finish(place, MIB);
      await storage.remove(place);
      await storage.remove(place);
      expect(await storage.held(place)).toBe(0);
      expect(await foundOf(storage, place.id)).toEqual([]);
    });

    test("what is finished can be removed without its ticket", async () => {
      const { storage } = await make();
      const place = await begin(storage);
      await storage.append(place, 0, source(pattern(9 * MIB)), ALONE);
      await storage.finish(place, 9 * MIB);
      await storage.remove({ ...place, ticket: "" });
      expect(await foundOf(storage, place.id)).toEqual([]);
    });

    test("everything that has bytes is named: when it was written, and whether it is finished", async () => {
      const { storage } = await make();
      const open = await begin(storage);
      await storage.append(open, 0, source(pattern(100)), ALONE);
      const whole = await finished(storage, pattern(100));
      const [half] = await foundOf(storage, open.id);
      expect(half?.isOpen).toBe(true);
      const [one, ...others] = await foundOf(storage, whole.id);
      expect([one?.isOpen, one?.place, others]).toEqual([false, { ...whole, ticket: "" }, []]);
      expect(Math.abs((one?.modifiedMs ?? 0) - Date.now())).toBeLessThan(60_000);
      for (const place of [open, whole]) await storage.remove(place);
    });

    test("what an upload has left behind is discarded, and nothing that is finished", async () => {
      const { storage, read } = await make();
      const open = await begin(storage);
      await storage.append(open, 0, source(pattern(9 * MIB)), ALONE);
      for (const { place } of await foundOf(storage, open.id)) await storage.discard(place);
      expect(await foundOf(storage, open.id)).toEqual([]);
      const whole = await finished(storage, pattern(100));
      await storage.discard({ ...whole, ticket: "" });
      expect(await read(whole)).toEqual(pattern(100));
      await storage.remove(whole);
    });

    test("what is set aside is not among the contents, and can be put back or removed for good", async () => {
      const { storage, read } = await make();
      const [kept, gone] = [await finished(storage, pattern(100)), await finished(storage, pattern(200))];
      for (const place of [kept, gone]) {
        await storage.quarantine({ ...place, ticket: "" }, Date.now());
        expect(await foundOf(storage, place.id)).toEqual([]);
      }
      const [one] = await asideOf(storage, kept.id);
      const [other] = await asideOf(storage, gone.id);
      if (!one || !other) throw new Error("they are not aside");
      expect(Math.abs(one.sinceMs - Date.now())).toBeLessThan(25 * 3_600_000);
      await storage.restore(one);
      await storage.purge(other);
      await storage.purge(other);
      expect(await read(kept)).toEqual(pattern(100));
      expect(await storage.held(gone)).toBe(0);
      expect([...(await asideOf(storage, kept.id)), ...(await asideOf(storage, gone.id))]).toEqual([]);
      await storage.remove(kept);
    });

    test("its mark is the last that was written", async () => {
      const { storage, again } = await make();
      await storage.writeMark("one");
      await storage.writeMark("two");
      expect(await again().readMark()).toBe("two");
    });

    describe.each(["before", "after"])("a writer that was overtaken and wakes up %s the file is finished", (when) => {
      test.each([0, 1, 2])("in its write number %i: what it writes changes nothing", async (at) => {
        const { storage, read, again } = await make();
        const place = await begin(storage);
        const [theirs, ours] = [pattern(18 * MIB, 1), pattern(18 * MIB, 77)];
        const { lease, frozen, wake } = freezing(1, at);
        const overtaken = storage.append(place, 0, source(theirs), lease).catch((error: unknown) => error);
        await frozen;
        const other = again();
        const { ticket, clear } = await other.takeOver(place, 2, undefined);
        const taken = { ...place, ticket };
        await clear();
        const held = await other.held(taken);
        await other.append(taken, held, source(ours.subarray(held)), { ...ALONE, generation: 2 });
        if (when === "before") {
          wake();
          await overtaken;
        }
        expect(await other.held(taken)).toBe(ours.length);
        await other.finish(taken, ours.length);
        wake();
        await overtaken;
        const wanted = Buffer.concat([theirs.subarray(0, held), ours.subarray(held)]);
        expect(hash(await read(taken))).toBe(hash(wanted));
        expect((await foundOf(storage, place.id)).filter(({ isOpen }) => !isOpen)).toHaveLength(1);
        for (const { place: left, isOpen } of await foundOf(storage, place.id)) if (isOpen) await storage.discard(left);
        await storage.remove(taken);
      });
    });

    test.each(["../../../etc", "..", "", "a/b", "A".repeat(24), `${"a".repeat(24)}/`, `${"a".repeat(23)}%`])(
      "no path is made of %p",
      async (id) => {
        const { storage } = await make();
        const app = "a".repeat(24);
        for (const place of [
          { app, id, ticket: "x" },
          { app: id, id: app, ticket: "x" },
        ]) {
          await expect((async () => storage.held(place))()).rejects.toThrow("a place is named by");
          await expect((async () => storage.remove(place))()).rejects.toThrow("a place is named by");
          await expect((async () => storage.append(place, 0, source(pattern(1)), ALONE))()).rejects.toThrow();
        }
      },
    );
  });
}
