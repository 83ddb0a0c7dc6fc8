/** The suite of every target of many backups: each MUST of target.ts, for the place that `make` creates. */
import { describe, expect, test } from "bun:test";
import { backupName } from "../targets/names.ts";
import { type Target, TargetError } from "../targets/target.ts";
import { gathered, inChunks, NOW_MS, noise } from "./archives.ts";

export interface TargetUnderTest {
  readonly target: Target;
  /** Another instance of the same place, as in another process. */
  reopen(): Target;
  /** One file in the same place. */
  single(name: string, force: boolean): Promise<Target>;
  /** Names of everything that the place has, unfinished things included. */
  everything(): Promise<string[]>;
  /** Puts a file of another program there. */
  addForeign(name: string): Promise<void>;
}

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;
const NAME = backupName(NOW_MS);

async function* failing(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield bytes;
  throw error;
}

export function targetSuite(what: string, make: () => Promise<TargetUnderTest>): void {
  describe(`${what} as a target`, () => {
    test.each([0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 20 * MIB])(
      "returns the bytes it was given: %d",
      async (size) => {
        const { target, reopen } = await make();
        const bytes = noise(size);
        expect(target.nameAt(NOW_MS + 999)).toBe("parley-20261118T154330Z.backup");
        const backup = await target.write(NAME, inChunks(bytes, 100_003));
        expect(backup).toEqual({ name: NAME, bytes: size, timeMs: NOW_MS });
        expect(await reopen().list()).toEqual([backup]);
        expect((await gathered(reopen().read(NAME))).equals(bytes)).toBe(true);
      },
    );

    test("lists the oldest first, and what was removed no more", async () => {
      const { target } = await make();
      const times = [NOW_MS + DAY_MS, NOW_MS, NOW_MS + 1000];
      for (const timeMs of times) await target.write(target.nameAt(timeMs), inChunks(noise(10)));
      expect((await target.list()).map(({ timeMs }) => timeMs)).toEqual(times.toSorted());
      await target.remove(backupName(NOW_MS + 1000));
      await target.remove(backupName(NOW_MS + 1000));
      expect((await target.list()).map(({ timeMs }) => timeMs)).toEqual([NOW_MS, NOW_MS + DAY_MS]);
    });

    test("keeps all backups of one second, one after the other or at once", async () => {
      const { target, reopen } = await make();
      const bothHaveBegun = Promise.withResolvers<void>();
      let begun = 0;
      async function* atOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
        if (++begun === 2) bothHaveBegun.resolve();
        await bothHaveBegun.promise;
        yield bytes;
      }
      const first = await target.write(NAME, inChunks(noise(1, 1)));
      const second = await reopen().write(NAME, inChunks(noise(2, 2)));
      const [third, fourth] = await Promise.all([3, 4].map((size) => reopen().write(NAME, atOnce(noise(size, size)))));
      const backups = [first, second, third, fourth].map((one) => one ?? first);
      expect(new Set(backups.map(({ name }) => name)).size).toBe(4);
      expect(first.name).toBe(NAME);
      for (const [at, { name }] of backups.entries())
        expect((await gathered(target.read(name))).equals(noise(at + 1, at + 1))).toBe(true);
      expect((await target.list()).map(({ timeMs }) => timeMs)).toEqual(Array(4).fill(NOW_MS));
    });

    test("leaves nothing of a write whose source fails, and passes the error on", async () => {
      const { target, everything } = await make();
      for (const size of [10, 20 * MIB]) {
        const error = new Error("the source is gone");
        await expect(target.write(NAME, failing(noise(size), error))).rejects.toBe(error);
        expect(await everything()).toEqual([]);
      }
    });

    test("leaves nothing of a write that is aborted", async () => {
      const { target, everything } = await make();
      const stop = new AbortController();
      async function* endless(): AsyncGenerator<Uint8Array> {
        for (let count = 0; ; count++) {
          if (count === 20) stop.abort();
          yield noise(MIB);
        }
      }
      const outcome = target.write(NAME, endless(), { signal: stop.signal });
      await expect(outcome).rejects.toMatchObject({ reason: "aborted" });
      await expect(target.write(NAME, endless(), { signal: stop.signal })).rejects.toBeInstanceOf(TargetError);
      expect(await everything()).toEqual([]);
    });

    test("shows nothing of a backup before it is complete", async () => {
      const { target, reopen } = await make();
      const seen: number[] = [];
      async function* watched(): AsyncGenerator<Uint8Array> {
        for (let count = 0; count < 3; count++) {
          yield noise(9 * MIB);
          seen.push((await reopen().list()).length);
        }
      }
      await target.write(NAME, watched());
      expect(seen).toEqual([0, 0, 0]);
      expect(await target.list()).toHaveLength(1);
    });

    test("neither lists nor touches what has another name", async () => {
      const { target, addForeign, everything } = await make();
      const foreign = ["notes.txt", "parley-x.backup", `${NAME}.old`, `x${NAME}`, "parley-20261399T154330Z.backup"];
      for (const name of foreign) await addForeign(name);
      await target.write(NAME, inChunks(noise(5)));
      expect((await target.list()).map(({ name }) => name)).toEqual([NAME]);
      for (const name of [...foreign, "../notes.txt", "", "."]) {
        await expect(target.remove(name)).rejects.toThrow("only backups");
        await expect(gathered(target.read(name))).rejects.toThrow("only backups");
        await expect(target.write(name, inChunks(noise(1)))).rejects.toThrow("only backups");
      }
      await target.remove(NAME);
      expect((await everything()).sort()).toEqual(foreign.sort());
    });

    test("says that a backup is missing", async () => {
      const { target } = await make();
      await target.write(NAME, inChunks(noise(5)));
      await expect(gathered(target.read(backupName(0)))).rejects.toMatchObject({ reason: "missing" });
    });

    test("one file is written once, and replaced only with force", async () => {
      const { single } = await make();
      const target = await single(NAME, false);
      expect([target.isSingle, target.nameAt(0), await target.list()]).toEqual([true, NAME, []]);
      await target.write(NAME, inChunks(noise(10)));
      let isAsked = false;
      async function* asked(): AsyncGenerator<Uint8Array> {
        isAsked = true;
        yield noise(1);
      }
      await expect(target.write(NAME, asked())).rejects.toMatchObject({ reason: "exists" });
      expect(isAsked).toBe(false);
      await (await single(NAME, true)).write(NAME, inChunks(noise(20)));
      expect((await target.list()).map(({ name, bytes }) => [name, bytes])).toEqual([[NAME, 20]]);
      expect((await gathered(target.read(NAME))).equals(noise(20))).toBe(true);
    });

    test("one file that fails to be replaced is as it was", async () => {
      const { single, everything } = await make();
      await (await single(NAME, false)).write(NAME, inChunks(noise(10)));
      const target = await single(NAME, true);
      await expect(target.write(NAME, failing(noise(9 * MIB), new Error("gone")))).rejects.toThrow("gone");
      expect((await gathered(target.read(NAME))).equals(noise(10))).toBe(true);
      expect(await everything()).toEqual([NAME]);
    });
  });
}
