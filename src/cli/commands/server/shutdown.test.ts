import { expect, test } from "bun:test";
import { Shutdown } from "./shutdown.ts";

/** By now a signal would count as the second one, which ends the process. */
const LATER_MS = 1100;

interface Fixture {
  readonly shutdown: Shutdown;
  /** The levels of the log lines. */
  readonly logged: string[];
  readonly exits: number[];
  readonly stops: () => number;
  readonly stopped: PromiseWithResolvers<void>;
  readonly exited: Promise<number>;
}

function setup(drainMaxMs = 60_000): Fixture {
  const logged: string[] = [];
  const exits: number[] = [];
  let stops = 0;
  const stopped = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<number>();
  const log = { info: () => void logged.push("info"), fatal: () => void logged.push("fatal") };
  const shutdown = new Shutdown({
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
  return { shutdown, logged, exits, stops: () => stops, stopped, exited: exited.promise };
}

test("after a signal the node drains and exits with 0", async () => {
  const it = setup();
  it.shutdown.signalled("SIGTERM");
  it.shutdown.signalled("SIGTERM");
  expect(it.exits).toEqual([]);
  it.stopped.resolve();
  expect(await it.exited).toBe(0);
  expect(it.stops()).toBe(1);
});

test("a supervisor may ask more than once, also after a signal, without cutting the drain short", async () => {
  const it = setup();
  it.shutdown.asked();
  await Bun.sleep(LATER_MS);
  it.shutdown.asked();
  expect([it.stops(), it.exits]).toEqual([1, []]);
  it.stopped.resolve();
  expect(await it.exited).toBe(0);
});

test("after an uncaught exception, which is logged, the node drains and exits with 1", async () => {
  const it = setup();
  it.shutdown.uncaught(new Error("x"));
  expect([it.logged, it.stops(), it.exits]).toEqual([["fatal"], 1, []]);
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
});

test("further exceptions while it drains start no other drain, and their log lines are limited", async () => {
  const it = setup();
  for (let i = 0; i < 1000; i++) it.shutdown.uncaught(new Error("x"));
  it.shutdown.signalled("SIGTERM");
  expect([it.logged.length, it.stops()]).toEqual([11, 1]);
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
});

test("an exception during the drain after a signal makes the exit code 1", async () => {
  const it = setup();
  it.shutdown.signalled("SIGTERM");
  it.shutdown.uncaught(new Error("x"));
  it.stopped.resolve();
  expect(await it.exited).toBe(1);
  expect(it.stops()).toBe(1);
});

test("a stop that fails exits with 1", async () => {
  const it = setup();
  it.shutdown.signalled("SIGTERM");
  it.stopped.reject(new Error("x"));
  expect(await it.exited).toBe(1);
});

test("a drain that hangs after an uncaught exception has a timeout", async () => {
  const it = setup(5);
  it.shutdown.uncaught(new Error("x"));
  // Keeps the event loop alive, because the timer of the shutdown is unreferenced.
  const alive = setInterval(() => undefined, 1);
  expect(await it.exited).toBe(1);
  clearInterval(alive);
});
