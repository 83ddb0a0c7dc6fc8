import { expect, test } from "bun:test";
import { backupName } from "../targets/names.ts";
import { removeOldest } from "./keeping.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2030, 0, 31);
const named = (ageHours: number): string => backupName(NOW_MS - ageHours * HOUR_MS);

function targetWith(ages: readonly number[], refused: readonly string[] = []) {
  const kept = new Set(ages.toSorted((a, b) => b - a).map(named));
  return {
    kept,
    list: async () => [...kept].map((name) => ({ name, bytes: 1, timeMs: timeOf(name) })),
    remove: async (name: string) => {
      if (refused.includes(name)) throw new Error(`${name} cannot be removed`);
      kept.delete(name);
    },
  };
}
const timeOf = (name: string): number => {
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(name) ?? [];
  return Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
};

test("the oldest beyond the number are removed", async () => {
  const target = targetWith([0, 1, 2, 3, 4]);
  await removeOldest(target, 3, named(0), NOW_MS);
  expect([...target.kept]).toEqual([2, 1, 0].map(named));
});

test("with fewer than that, none is removed", async () => {
  const target = targetWith([0, 1]);
  await removeOldest(target, 3, named(0), NOW_MS);
  expect(target.kept.size).toBe(2);
});

test("after the clock was set back, those that are ahead go first, and the one that was just made stays", async () => {
  const target = targetWith([0, 1, -500, -400]);
  await removeOldest(target, 2, named(0), NOW_MS);
  expect([...target.kept]).toEqual([1, 0].map(named));
});

test("the one that was just made stays also if its name is the oldest", async () => {
  const target = targetWith([0, 1, 2]);
  await removeOldest(target, 1, named(2), NOW_MS);
  expect([...target.kept]).toEqual([named(2)]);
});

test("one that cannot be removed does not keep the others from it, and is reported", async () => {
  const target = targetWith([0, 1, 2, 3], [named(3)]);
  await expect(removeOldest(target, 1, named(0), NOW_MS)).rejects.toThrow(`${named(3)} cannot be removed`);
  expect([...target.kept]).toEqual([3, 0].map(named));
});
