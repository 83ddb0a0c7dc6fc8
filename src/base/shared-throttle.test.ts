import { expect, test } from "bun:test";
import { type Rates, SharedRates } from "./shared-throttle.ts";
import { BUCKETS_MAX } from "./throttle.ts";

function processes(count: number) {
  let nowMs = 0;
  const all = Array.from({ length: count }, () => {
    const rates = new SharedRates(
      () => nowMs,
      () => undefined,
    );
    return { rates, throttle: rates.make("connects", 10, 1), free: rates.make("free", 0, 0) };
  });
  const share = (): void => {
    const notes = all.map(({ rates }) => rates.takeNotes());
    for (const [at, { rates }] of all.entries())
      for (const [from, note] of notes.entries()) if (from !== at && note) rates.takenElsewhere(note);
  };
  return { all, share, pass: (ms: number) => (nowMs += ms) };
}

test("what one process takes is missing in the others once it is shared", () => {
  const { all, share } = processes(2);
  const [one, other] = all;
  for (let i = 0; i < 10; i++) expect(one?.throttle.take("a")).toBe(0);
  expect(other?.throttle.take("a")).toBe(0);
  share();
  // Ten here and one there: both owe one.
  expect([one?.throttle.take("a"), other?.throttle.take("a")]).toEqual([2, 2]);
  expect(other?.throttle.take("b")).toBe(0);
});

test("processes that share every time exceed a rate by what they take between two times", () => {
  const { all, share, pass } = processes(4);
  let taken = 0;
  for (let tenth = 0; tenth < 100; tenth++) {
    for (const { throttle } of all) if (throttle.take("a") === 0) taken++;
    share();
    pass(100);
  }
  // The burst, one a second for ten seconds, and at most three more whenever one is left.
  expect(taken).toBeGreaterThanOrEqual(19);
  expect(taken).toBeLessThanOrEqual(20 + 3);
});

test("charges and what is given back are shared; nothing is shared twice, nor where there is no limit", () => {
  const { all, share } = processes(2);
  const [one, other] = all;
  one?.throttle.take("a");
  one?.throttle.charge("a", 9);
  one?.throttle.charge("a", -2);
  one?.free.take("a");
  share();
  expect(other?.throttle.take("a")).toBe(0);
  expect(other?.throttle.take("a")).toBe(0);
  expect(other?.throttle.take("a")).toBeGreaterThan(0);
  share();
  expect([one?.rates.takeNotes(), other?.rates.takeNotes()]).toEqual([undefined, undefined]);
});

test("unknown names are ignored, and the number of keys that are shared at once is bounded", () => {
  let notes = 0;
  const rates = new SharedRates(
    () => 0,
    () => notes++,
  );
  rates.takenElsewhere({ unknown: { a: 1 } } as Rates);
  const throttle = rates.make("connects", 1, 1);
  for (let i = 0; i < 5000; i++) throttle.take(`key ${i}`);
  expect(Object.keys(rates.takeNotes()?.connects ?? {})).toHaveLength(1000);
  expect(notes).toBe(1);
  throttle.take("one more");
  expect(notes).toBe(2);
});

test("keys of any length are shared in a bounded text", () => {
  const { all, share } = processes(2);
  const [one, other] = all;
  const long = "\0".repeat(40_000);
  for (let i = 0; i < 10; i++) expect(one?.throttle.take(long)).toBe(0);
  expect(JSON.stringify(one?.rates.takeNotes()).length).toBeLessThan(200);
  one?.throttle.charge(long, 1);
  one?.throttle.charge(long, 9);
  share();
  expect(other?.throttle.take(long)).toBe(1);
  expect(other?.throttle.take(`${long}x`)).toBe(0);
});

test("a process that only hears of keys forgets those that are full again, and counts later ones", () => {
  const { all, pass } = processes(1);
  const [one] = all;
  for (let i = 0; i < BUCKETS_MAX; i++) one?.rates.takenElsewhere({ connects: { [`old ${i}`]: 1 } });
  pass(60_000);
  // Nothing is taken here meanwhile.
  for (let i = 0; i < 20_000; i++) one?.rates.takenElsewhere({ connects: { "someone else": 0 } });
  one?.rates.takenElsewhere({ connects: { new: 10 } });
  expect(one?.throttle.take("new")).toBeGreaterThan(0);
});
