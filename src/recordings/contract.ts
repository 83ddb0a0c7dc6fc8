/** The suite of storages: every MUST of storage.ts, for whatever stands behind `make`. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { newObjectId } from "../access/ids.ts";
import type { Place, Storage } from "./storage.ts";

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

const newId = (): string => newObjectId(Date.now());

async function begin(storage: Storage): Promise<Place> {
  const [app, id] = [newId(), newId()];
  return { app, id, ticket: await storage.begin(app, id) };
}

async function found(storage: Storage, before: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of storage.strays(before)) ids.push(id);
  return ids;
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
        await storage.append(place, at, source(bytes.subarray(at, at + size)));
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
      await expect(storage.append(place, 0, source(bytes, 65_536, 9 * MIB + 7))).rejects.toThrow("cut");
      const other = again();
      const held = await other.held(place);
      expect(held).toBe(9 * MIB + 7);
      await other.append(place, held, source(bytes.subarray(held)));
      await again().finish(place, bytes.length);
      expect(hash(await read(place))).toBe(hash(bytes));
      await storage.remove(place);
    });

    test("finishing is all or nothing, and may be asked for again", async () => {
      const { storage, read, again } = await make();
      const place = await begin(storage);
      const bytes = pattern(1000);
      await storage.append(place, 0, source(bytes));
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
      await storage.append(place, 0, source(new Uint8Array()));
      await storage.finish(place, 0);
      expect(await storage.held(place)).toBe(0);
      expect(await storage.head(place, 64)).toHaveLength(0);
      expect(await read(place)).toHaveLength(0);
      await storage.remove(place);
    });

    test.each(["begun", "written to", "finished"])("nothing is left of one that was %s and removed", async (state) => {
      const { storage } = await make();
      const place = await begin(storage);
      if (state !== "begun") await storage.append(place, 0, source(pattern(MIB)));
      if (state === "finished") await storage.finish(place, MIB);
      await storage.remove(place);
      await storage.remove(place);
      expect(await storage.held(place)).toBe(0);
      expect(await found(storage, Date.now() + 60_000)).not.toContain(place.id);
    });

    test("what is finished can be removed without its ticket", async () => {
      const { storage } = await make();
      const place = await begin(storage);
      await storage.append(place, 0, source(pattern(9 * MIB)));
      await storage.finish(place, 9 * MIB);
      await storage.remove({ ...place, ticket: "" });
      expect(await found(storage, Date.now() + 60_000)).not.toContain(place.id);
    });

    test("everything older is named as a possible stray, nothing younger", async () => {
      const { storage } = await make();
      const [open, whole] = [await begin(storage), await begin(storage)];
      for (const place of [open, whole]) await storage.append(place, 0, source(pattern(100)));
      await storage.finish(whole, 100);
      const young = await found(storage, Date.now() - 3_600_000);
      const old = await found(storage, Date.now() + 60_000);
      for (const { id } of [open, whole]) {
        expect(young).not.toContain(id);
        expect(old).toContain(id);
      }
      for (const place of [open, whole]) await storage.remove(place);
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
          await expect((async () => storage.append(place, 0, source(pattern(1))))()).rejects.toThrow();
        }
      },
    );
  });
}
