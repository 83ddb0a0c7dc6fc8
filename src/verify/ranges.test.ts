import { expect, test } from "bun:test";
import fc from "fast-check";
import { Ranges } from "./ranges.ts";

const list = (ranges: Ranges): number[] =>
  [...ranges].flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at));
const sorted = (numbers: Set<number>): number[] => [...numbers].sort((a, b) => a - b);
const small = fc.integer({ min: 0, max: 40 });

test("it contains what a plain set would, in ranges that do not touch", () => {
  const step = fc.record({ add: fc.boolean(), at: small, length: fc.integer({ min: 0, max: 5 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ranges = new Ranges();
      const plain = new Set<number>();
      for (const { add, at, length } of steps) {
        if (add) {
          ranges.add(at, at + length);
          for (let n = at; n <= at + length; n++) plain.add(n);
        } else expect(ranges.delete(at)).toBe(plain.delete(at));
        expect(list(ranges)).toEqual(sorted(plain));
        expect(ranges.count).toBe(plain.size);
        const all = [...ranges];
        for (const [i, [first]] of all.entries()) if (i > 0) expect(first).toBeGreaterThan(all[i - 1]![1] + 1);
        for (let n = 0; n <= 45; n++) expect(ranges.has(n)).toBe(plain.has(n));
      }
    }),
  );
});

test("differences and sections equal those of a plain set", () => {
  const numbers = fc.array(small, { maxLength: 30 });
  fc.assert(
    fc.property(numbers, numbers, small, small, (a, b, low, high) => {
      const [one, other] = [new Ranges(), new Ranges()];
      for (const n of a) one.add(n);
      for (const n of b) other.add(n);
      expect(list(one.without(other))).toEqual(sorted(new Set(a).difference(new Set(b))));
      expect(list(one.within(low, high))).toEqual(sorted(new Set(a)).filter((n) => n >= low && n <= high));
    }),
  );
});

test("the text has the first few ranges", () => {
  const ranges = new Ranges();
  for (const n of [3, 7, 8, 9, 12, 20, 21]) ranges.add(n);
  expect(`${ranges}`).toBe("3, 7–9, 12 and 2 more");
});
