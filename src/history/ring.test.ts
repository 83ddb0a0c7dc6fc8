import { describe, expect, test } from "bun:test";
import { REPLAY_MAX_BYTES, REPLAY_MAX_MESSAGES } from "../protocol/limits.ts";
import type { StoredMessage } from "./contract/history.ts";
import { Ring, RingBudget } from "./ring.ts";

const message = (offset: number, bytes = 10): StoredMessage => ({
  offset,
  check: `c${offset}`,
  time: offset,
  from: "ann",
  metadataJson: undefined,
  dataJson: "x".repeat(bytes),
  connection: undefined,
  id: undefined,
  bytes: bytes + 256,
});

const ringOf = (from: number, to: number, budget = new RingBudget()): Ring => {
  const ring = new Ring(budget, from - 1, `c${from - 1}`);
  for (let offset = from; offset <= to; offset++) ring.add(message(offset));
  return ring;
};

const offsetsIn = (ring: Ring): number[] => {
  const offsets: number[] = [];
  for (let at = ring.reachesBackTo + 1; at <= ring.top; at++) offsets.push(ring.at(at)?.offset ?? Number.NaN);
  return offsets;
};

describe("a ring", () => {
  test("holds the messages behind its base, and knows their checks", () => {
    const ring = ringOf(6, 8);
    expect([ring.reachesBackTo, ring.top, offsetsIn(ring)]).toEqual([5, 8, [6, 7, 8]]);
    expect([4, 5, 6, 8, 9].map((offset) => ring.checkAt(offset))).toEqual([undefined, "c5", "c6", "c8", undefined]);
  });

  test("keeps as many messages as one replay may have", () => {
    const ring = ringOf(1, REPLAY_MAX_MESSAGES + 700);
    expect([ring.reachesBackTo, ring.top, ring.isFull]).toEqual([700, REPLAY_MAX_MESSAGES + 700, true]);
    expect(offsetsIn(ring)).toHaveLength(REPLAY_MAX_MESSAGES);
    expect(ring.checkAt(700)).toBe("c700");
    expect(offsetsIn(ring).every((offset, i) => offset === 701 + i)).toBeTrue();
  });

  test("keeps as many bytes as one replay may have", () => {
    const ring = new Ring(new RingBudget(), 0, "0");
    for (let offset = 1; offset <= 50; offset++) ring.add(message(offset, 60_000));
    expect(ring.bytes).toBeLessThanOrEqual(REPLAY_MAX_BYTES);
    expect(offsetsIn(ring).at(-1)).toBe(50);
  });

  test("reaches further back with what was read; the oldest becomes the base, unless the check before it is known", () => {
    const newestFirst = [5, 4, 3, 2].map((offset) => message(offset));
    const ring = ringOf(6, 8);
    ring.fill(newestFirst, undefined);
    expect([ring.reachesBackTo, offsetsIn(ring)]).toEqual([2, [3, 4, 5, 6, 7, 8]]);
    const whole = ringOf(6, 8);
    whole.fill(newestFirst, "c1");
    expect([whole.reachesBackTo, whole.checkAt(1), offsetsIn(whole)]).toEqual([1, "c1", [2, 3, 4, 5, 6, 7, 8]]);
  });

  test("is not filled with messages that do not end at its base, or of another history", () => {
    const ring = ringOf(6, 8);
    ring.fill([message(4), message(3)], undefined);
    ring.fill([{ ...message(5), check: "other" }, message(4)], undefined);
    ring.fill([], undefined);
    expect(offsetsIn(ring)).toEqual([6, 7, 8]);
  });
});

describe("all rings together", () => {
  test("have one budget: the ring used least recently is emptied, and can be filled again", () => {
    const size = message(1).bytes;
    const budget = new RingBudget(size * 10);
    const [first, second] = [ringOf(1, 4, budget), ringOf(1, 4, budget)];
    first.touch();
    const third = ringOf(1, 4, budget);
    expect([offsetsIn(first), offsetsIn(second), offsetsIn(third)]).toEqual([[1, 2, 3, 4], [], [1, 2, 3, 4]]);
    expect([budget.bytes, second.reachesBackTo, second.checkAt(4)]).toEqual([size * 8, 4, "c4"]);
    second.add(message(5));
    expect(offsetsIn(second)).toEqual([5]);
  });

  test("count what is removed and cleared", () => {
    const budget = new RingBudget();
    const rings = [ringOf(1, 1500, budget), ringOf(1, 20, budget)];
    rings[0]?.fill([message(500), message(499)], undefined);
    expect(budget.bytes).toBe(rings.reduce((sum, ring) => sum + ring.bytes, 0));
    for (const ring of rings) ring.clear();
    expect(budget.bytes).toBe(0);
  });
});
