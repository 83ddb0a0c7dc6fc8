import { expect, test } from "bun:test";
import { unheardWorkers } from "./unheard-workers.ts";

const LONG_MS = 5000;

function setup(serving: readonly number[] | undefined) {
  const now = { ms: 0, heard: 0 };
  const state = { ready: 0, count: 3, isStopping: false, lead: 0, serving, reports: {} };
  const unheard = unheardWorkers({
    team: { slot: 1, state },
    heard: () => now.heard,
    monotonicMs: () => now.ms,
  });
  return { now, unheard };
}

test("workers count once they are not heard for some seconds, until they are", () => {
  const { now, unheard } = setup([0, 1, 2]);
  now.heard = 1;
  expect(unheard()).toBe(0);
  now.ms = LONG_MS;
  expect(unheard()).toBe(1);
  now.heard = 2;
  expect(unheard()).toBe(0);
  now.heard = 1;
  expect(unheard()).toBe(0);
});

test.each([
  ["this worker only", [1]],
  ["not this one yet", [0]],
  ["nothing, because the supervisor is of an earlier version", undefined],
])("the supervisor lists %s: none is missing", (_, serving) => {
  const { now, unheard } = setup(serving);
  // One that starts, drains, or is not listed is heard as well.
  now.heard = 1;
  unheard();
  now.ms = LONG_MS;
  expect(unheard()).toBe(0);
});
