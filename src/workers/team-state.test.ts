import { expect, test } from "bun:test";
import { teamState } from "./team-state.ts";

const stateOf = (...workers: readonly { isFull: boolean; state?: "ready" | "draining" | "starting" }[]) =>
  teamState({
    workers: workers.map(({ isFull, state = "ready" }, slot) => ({
      slot,
      state,
      readyMs: 10 - slot,
      report: {},
      isFull,
    })),
    count: workers.length,
    isStopping: false,
    reports: {},
  });

const [FULL, FREE] = [{ isFull: true }, { isFull: false }];

test("full workers leave new connections to the others, as long as one of these can take them", () => {
  expect(stateOf(FREE, FREE).paused).toEqual([]);
  expect(stateOf(FREE, FULL, FULL).paused).toEqual([1, 2]);
  expect(stateOf(FULL, FULL).paused).toEqual([]);
  expect(stateOf(FULL).paused).toEqual([]);
});

test("a worker that drains, or has not started yet, takes no connections: the full ones go on listening", () => {
  expect(stateOf(FULL, { isFull: false, state: "draining" }).paused).toEqual([]);
  expect(stateOf(FULL, { isFull: false, state: "starting" }).paused).toEqual([]);
});

test("the oldest worker that is ready leads", () => {
  expect(stateOf(FREE, FREE)).toMatchObject({ lead: 1, serving: [0, 1], ready: 2 });
  expect(stateOf({ isFull: false, state: "starting" })).toMatchObject({ lead: null, serving: [], ready: 0 });
});
