import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { Faults } from "./faults.ts";
import { Metrics } from "./metrics.ts";

interface Line {
  readonly fields: Record<string, unknown>;
  readonly text: string;
}

let lines: Line[];
let metrics: Metrics;
let faults: Faults;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  metrics = new Metrics();
  const error = (fields: Record<string, unknown>, text: string): void => void lines.push({ fields, text });
  faults = new Faults({ error: error as never }, metrics);
});
afterEach(() => {
  jest.useRealTimers();
});

const here = (message: string): Error => new Error(message);
const elsewhere = (message: string): Error => new TypeError(message);

describe("a fault", () => {
  test("is counted by its place, and all places are there from the start", () => {
    faults.caught("socket", here("a"));
    expect(metrics.text()).toContain(
      'parley_faults_total{where="timer"} 0\nparley_faults_total{where="socket"} 1\nparley_faults_total{where="engine"} 0',
    );
  });

  test("is logged with its cause and context", () => {
    faults.caught("engine", here("no such thing"), { app: "demo" });
    expect(lines[0]?.fields).toMatchObject({
      where: "engine",
      app: "demo",
      err: { type: "Error", message: "no such thing", stack: expect.stringContaining("faults.test.ts") },
    });
  });

  test("that repeats gets five lines a minute and then the number of the others; another cause is still seen", () => {
    for (let i = 0; i < 1000; i++) faults.caught("socket", here(`input ${i}`));
    faults.caught("socket", elsewhere("another"));
    expect(lines.map(({ fields }) => (fields.err as Error).message)).toEqual([
      ...Array.from({ length: 5 }, (_, i) => `input ${i}`),
      "another",
    ]);
    jest.advanceTimersByTime(60_000);
    expect(lines.slice(6).map(({ text }) => text)).toEqual([
      "a fault was caught: and 995 more like this within a minute",
    ]);
    faults.caught("socket", here("next minute"));
    expect(lines.at(-1)?.fields).toMatchObject({ err: { message: "next minute" } });
  });

  test("of a thousand causes makes a bounded number of lines", () => {
    for (let i = 0; i < 1000; i++) faults.caught("timer", Object.assign(new Error("x"), { name: `Error${i}` }));
    expect(lines.length).toBe(105);
  });

  test("may be anything, also what cannot be described", () => {
    const hostile = new Error("x");
    Object.defineProperty(hostile, "stack", {
      get: () => {
        throw new Error("no stack");
      },
    });
    for (const thrown of ["text", undefined, null, 7, { toString: null }, hostile]) faults.caught("timer", thrown);
    expect(metrics.text()).toContain('{where="timer"} 6');
  });

  test("with a long message is cut", () => {
    faults.caught("socket", here("x".repeat(1_000_000)));
    expect(JSON.stringify(lines[0]).length).toBeLessThan(10_000);
  });
});

describe("a guarded callback", () => {
  test("does not throw", () => {
    faults.guarded("timer", () => {
      throw here("thrown");
    })();
    expect(lines.length).toBe(1);
  });

  test("does not reject either", async () => {
    faults.guarded("timer", async () => {
      throw here("rejected");
    })();
    await Promise.resolve();
    await Promise.resolve();
    expect(lines[0]?.fields).toMatchObject({ where: "timer", err: { message: "rejected" } });
  });
});
