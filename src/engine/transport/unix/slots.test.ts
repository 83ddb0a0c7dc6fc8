import { expect, test } from "bun:test";
import { Slots } from "./slots.ts";
import type { WorkerConnection } from "./worker-connection.ts";

const LONG_MS = 10_000;

function started(slots = 3): { slots: Slots; events: string[]; pass: (ms: number) => void } {
  let nowMs = 0;
  const events: string[] = [];
  const made = new Slots({
    slots,
    own: 0,
    nowMs: () => nowMs,
    down: () => events.push("down"),
    up: () => events.push("up"),
  });
  const pass = (ms: number): void => {
    nowMs += ms;
    made.check();
  };
  return { slots: made, events, pass };
}

const linkTo = (incarnation: string): WorkerConnection => ({ worker: { slot: 0, incarnation } }) as WorkerConnection;
const connection = (slots: Slots, slot: number, one: WorkerConnection): WorkerConnection | undefined => {
  const earlier = slots.connected(slot, one);
  slots.check();
  return earlier;
};

test("a worker alone is up, and stays up when others come and go", () => {
  const { slots, events, pass } = started();
  pass(LONG_MS);
  const b = linkTo("b");
  connection(slots, 1, b);
  slots.lost(1, b);
  slots.absent(1);
  pass(LONG_MS);
  expect([slots.isUp, events]).toEqual([true, []]);
});

test("a new process in the slot is no outage", () => {
  const { slots, events, pass } = started();
  const b = linkTo("b");
  connection(slots, 1, b);
  slots.lost(1, b);
  connection(slots, 1, linkTo("b2"));
  pass(LONG_MS);
  expect(events).toEqual([]);
});

test("the same process again: down, then up, also when its slot seemed empty", () => {
  const { slots, events } = started();
  const b = linkTo("b");
  connection(slots, 1, b);
  slots.lost(1, b);
  connection(slots, 1, linkTo("b"));
  expect(events).toEqual(["down", "up"]);
  const c = linkTo("c");
  connection(slots, 2, c);
  slots.lost(2, c);
  slots.absent(2);
  connection(slots, 2, linkTo("c"));
  expect(events).toEqual(["down", "up", "down", "up"]);
});

test("several that come back together cause one repair", () => {
  const { slots, events, pass } = started();
  const [b, c] = [linkTo("b"), linkTo("c")];
  connection(slots, 1, b);
  connection(slots, 2, c);
  slots.lost(1, b);
  slots.lost(2, c);
  connection(slots, 1, linkTo("b"));
  connection(slots, 2, linkTo("c"));
  pass(LONG_MS);
  expect(events).toEqual(["down", "up"]);
});

test("the first that comes back ends the time in which nothing seemed lost, although others are awaited", () => {
  const { slots, events, pass } = started();
  const [b, c] = [linkTo("b"), linkTo("c")];
  connection(slots, 1, b);
  connection(slots, 2, c);
  slots.lost(1, b);
  slots.lost(2, c);
  connection(slots, 1, linkTo("b"));
  expect([slots.isUp, events]).toEqual([false, ["down"]]);
  pass(LONG_MS);
  expect([slots.isUp, events]).toEqual([true, ["down", "up"]]);
});

test("a worker that has lost all connections is down after a moment, until it has one or the others are gone", () => {
  const { slots, events, pass } = started();
  const b = linkTo("b");
  connection(slots, 1, b);
  slots.lost(1, b);
  pass(1);
  expect(slots.isUp).toBeTrue();
  pass(LONG_MS);
  expect([slots.isUp, events]).toEqual([false, ["down"]]);
  const second = linkTo("b");
  connection(slots, 1, second);
  pass(LONG_MS);
  expect([slots.isUp, events]).toEqual([true, ["down", "up"]]);
  slots.lost(1, second);
  pass(LONG_MS);
  slots.absent(1);
  expect([slots.isUp, events]).toEqual([true, ["down", "up", "down", "up"]]);
});

test("one lost worker of several is no outage for the others", () => {
  const { slots, events, pass } = started();
  const b = linkTo("b");
  connection(slots, 1, b);
  connection(slots, 2, linkTo("c"));
  slots.lost(1, b);
  pass(LONG_MS);
  expect([slots.isUp, events]).toEqual([true, []]);
});

test("a second connection of the same process replaces the first; one of a new process does not", () => {
  const { slots } = started();
  const b = linkTo("b");
  expect(connection(slots, 1, b)).toBeUndefined();
  const second = linkTo("b");
  expect(connection(slots, 1, second)).toBe(b);
  expect(slots.lost(1, b)).toBeFalse();
  expect(connection(slots, 1, linkTo("b2"))).toBeUndefined();
});

test("settled: each other worker is connected or absent", async () => {
  const { slots } = started();
  let isSettled = false;
  const settled = slots.settle().then(() => {
    isSettled = true;
  });
  slots.absent(1);
  await Promise.resolve();
  expect(isSettled).toBeFalse();
  connection(slots, 2, linkTo("c"));
  await settled;
  expect(isSettled).toBeTrue();
});
