import { beforeEach, describe, expect, test } from "bun:test";
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
  lines = [];
  metrics = new Metrics();
  const error = (fields: Record<string, unknown>, text: string): void => void lines.push({ fields, text });
  faults = new Faults({ error: error as never }, metrics);
});

const here = (message: string): Error => new Error(message);
const elsewhere = (message: string): Error => new TypeError(message);

describe("a fault", () => {
  test("is counted by its place, and every place has a counter from the start", () => {
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

  test("names the line of code as its cause, whatever its text, so that the log can count repetitions", () => {
    for (let i = 0; i < 3; i++) faults.caught("socket", here(`input ${i}`));
    faults.caught("socket", elsewhere("another"));
    const causes = lines.map(({ fields }) => String(fields.cause));
    expect(causes[0]).toContain("faults.test.ts");
    expect(new Set(causes.slice(0, 3)).size).toBe(1);
    expect(causes[3]).not.toBe(causes[0]);
  });

  test("may be any value, even one that cannot be described", () => {
    const undescribable = new Error("x");
    Object.defineProperty(undescribable, "stack", {
      get: () => {
        throw new Error("no stack");
      },
    });
    for (const thrown of ["text", undefined, null, 7, { toString: null }, undescribable])
      faults.caught("timer", thrown);
    expect(metrics.text()).toContain('{where="timer"} 6');
  });

  test("is logged with at most the start of a long message", () => {
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
