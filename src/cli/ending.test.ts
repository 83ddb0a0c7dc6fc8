import { expect, test } from "bun:test";
import { Ending } from "./ending.ts";

interface Watched {
  readonly ending: Ending;
  /** Levels of what was logged. */
  readonly logged: string[];
  readonly exits: number[];
  readonly stops: () => number;
  readonly stopped: PromiseWithResolvers<void>;
  readonly exited: Promise<number>;
}

function watched(drainMaxMs = 60_000): Watched {
  const logged: string[] = [];
  const exits: number[] = [];
  let stops = 0;
  const stopped = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<number>();
  const log = { info: () => void logged.push("info"), fatal: () => void logged.push("fatal") };
  const ending = new Ending({
    stop: () => {
      stops++;
      return stopped.promise;
    },
    log,
    drainMaxMs,
    exit: (code) => {
      exits.push(code);
      exited.resolve(code);
    },
  });
  return { ending, logged, exits, stops: () => stops, stopped, exited: exited.promise };
}

test("a signal drains and ends with 0", async () => {
  const it = watched();
  it.ending.signalled("SIGTERM");
  it.ending.signalled("SIGTERM");
  expect(it.exits).toEqual([]);
  it.stopped.resolve();
  expect(await it.exited).toBe(0);
  expect(it.stops()).toBe(1);
});

test("an uncaught exception is logged, drains and ends with 1", async () => {
  const it = watched();
  it.ending.uncaught(new Error("x"));
  expect([it.logged, it.stops(), it.exits]).toEqual([["fatal"], 1, []]);
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
});

test("more of them while it drains begin no other drain and no flood of lines", async () => {
  const it = watched();
  for (let i = 0; i < 1000; i++) it.ending.uncaught(new Error("x"));
  it.ending.signalled("SIGTERM");
  expect([it.logged.length, it.stops()]).toEqual([11, 1]);
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
});

test("one while a signal's drain goes on makes the exit code 1", async () => {
  const it = watched();
  it.ending.signalled("SIGTERM");
  it.ending.uncaught(new Error("x"));
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
  expect(it.stops()).toBe(1);
});

test("a stop that fails ends with 1", async () => {
  const it = watched();
  it.ending.signalled("SIGTERM");
  it.stopped.reject(new Error("x"));
  expect(await it.exited).toBe(1);
});

test("a drain that hangs after an uncaught exception is cut short", async () => {
  const it = watched(5);
  it.ending.uncaught(new Error("x"));
  // Keeps the event loop going: the timer itself must not.
  const alive = setInterval(() => undefined, 1);
  expect(await it.exited).toBe(1);
  clearInterval(alive);
});
