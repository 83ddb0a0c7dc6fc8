import { expect, test } from "bun:test";
import { join } from "node:path";
import { bitsFrom } from "./random.ts";
import { header, type Line, readLedger, runSlices, seedsIn, totals } from "./seeds.ts";
import { scratch } from "./temp.ts";

test("seeds are a number or a range", () => {
  expect(seedsIn("7")).toEqual([7]);
  expect(seedsIn("100-103")).toEqual([100, 101, 102, 103]);
  for (const text of ["", "x", "3-1", "1-", "-1", "1-9999999999"]) expect(seedsIn(text)).toBeUndefined();
});

const line = (seed: number, count: number, ok = true): Line => ({ ...header("a", seed), count, ok, seconds: 2 });

test("a seed counts once, by its last line, and a failed seed adds nothing", () => {
  const lines = [line(1, 10), line(2, 0, false), line(1, 10), line(2, 10), line(3, 5, false)];
  expect(totals(lines)).toEqual([{ what: "a", count: 20, seeds: 3, failed: 1, seconds: 6 }]);
});

test("a run skips seeds that passed in its ledger, repeats failed ones, and reports which command fails or hangs", async () => {
  using folder = scratch();
  const ledger = join(folder.path, "ledger.jsonl");
  const script = (seed: number): string =>
    seed === 3 ? "exit 1" : seed === 4 ? "exec sleep 60" : `echo '${JSON.stringify(line(seed, 10))}'`;
  const run = (seeds: readonly number[]): Promise<boolean> =>
    runSlices({ what: "a", seeds, command: (seed) => ["sh", "-c", script(seed)], processes: 2, maxSeconds: 1, ledger });
  expect(await run([1, 2])).toBe(true);
  expect(await run([1, 2, 3, 4])).toBe(false);
  const inOrder = readLedger(ledger).toSorted((one, other) => one.seed - other.seed);
  expect(inOrder.map(({ seed, ok }) => [seed, ok])).toEqual([
    [1, true],
    [2, true],
    [3, false],
    [4, false],
  ]);
  expect(inOrder.at(-1)?.why).toBe("it took longer than 1 s");
  expect(await run([3])).toBe(false);
  expect(readLedger(ledger)).toHaveLength(5);
});

test("the same seed gives the same bits, another one others", () => {
  const first = (seed: number): number[] => Array.from({ length: 8 }, bitsFrom(seed));
  expect(first(5)).toEqual(first(5));
  const seen = new Set([...Array(1000).keys()].flatMap((seed) => first(seed)));
  expect(seen.size).toBeGreaterThan(7990);
  expect(first(5)).not.toEqual(first(5 + 2 ** 32));
});
