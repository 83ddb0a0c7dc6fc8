/** What is kept of a node's traffic, and for how long. */
import { describe, expect, test } from "bun:test";
import type { AppId } from "../base/ids.ts";
import { anAppId } from "../base/testing/ids.ts";
import { COUNTED_KEYS_MAX, COUNTED_KEYS_PER_APP } from "./key-traffic.ts";
import { SAMPLE_EVERY_MS, Series, type SeriesRange } from "./series.ts";
import type { SeriesMetric } from "./series-tier.ts";
import { TRAFFIC_APPS_MAX, Traffic } from "./traffic.ts";

const A = anAppId("a");
const B = anAppId("b");
const C = anAppId("c");
const APP149 = anAppId("app149");
const APP1 = anAppId("app1");

const START = Date.UTC(2027, 0, 15, 12);

class Setup {
  readonly traffic = new Traffic();
  nowMs = START;
  readonly series = new Series(this.traffic, this.nowMs);

  /** Time goes on, with a sample every five seconds. */
  pass(seconds: number): void {
    for (let i = 0; i < seconds; i += 5) {
      this.nowMs += SAMPLE_EVERY_MS;
      this.series.sample(this.nowMs);
    }
  }

  /** The last values. */
  last(count: number, metric: SeriesMetric, range: SeriesRange = "15m", app?: AppId): (number | null)[] {
    return this.series.values(metric, range, { app }).values.slice(-count);
  }
}

describe("a series", () => {
  test("shows the most connections at one time, also if they have closed before the end of the step", () => {
    const setup = new Setup();
    setup.pass(5);
    const [a, b] = [setup.traffic.of(A), setup.traffic.of(B)];
    a.connections += 3;
    a.connections -= 2;
    b.connections += 2;
    b.connections -= 2;
    setup.pass(5);
    expect([A, B, undefined].map((app) => setup.last(1, "connections", "15m", app)[0])).toEqual([3, 2, 3]);
    setup.pass(5);
    expect([A, B, undefined].map((app) => setup.last(1, "connections", "15m", app)[0])).toEqual([1, 0, 1]);
    setup.pass(50);
    expect(setup.last(1, "connections", "3h")).toEqual([3]);
  });

  test("has one value per step, per second, and null before the start", () => {
    const setup = new Setup();
    const counters = setup.traffic.of(A);
    setup.pass(5);
    counters.messages += 50;
    setup.pass(5);
    setup.pass(5);
    counters.messages += 5;
    setup.pass(5);
    const { start, values } = setup.series.values("messages", "15m");
    expect(values).toHaveLength(180);
    expect(values.slice(-5)).toEqual([null, 0, 10, 0, 1]);
    expect(start + 180 * 5).toBe(setup.nowMs / 1000);
    expect(setup.series.values("messages", "24h").values).toEqual(Array(288).fill(null));
  });

  test("has coarser steps for longer ranges, which are complete", () => {
    const setup = new Setup();
    const counters = setup.traffic.of(A);
    for (let i = 0; i < 24; i++) {
      counters.bytesOut += 60;
      setup.pass(5);
    }
    expect(setup.last(3, "bytesOut", "3h")).toEqual([null, 12, 12]);
    setup.pass(3 * 3600);
    expect(setup.last(180, "bytesOut", "3h").every((value) => value === 0)).toBe(true);
    setup.pass(24 * 3600);
    expect(setup.series.values("connections", "24h").values).toEqual(Array(288).fill(0));
  });

  test("shows the most connections of a step", () => {
    const setup = new Setup();
    const counters = setup.traffic.of(A);
    for (const connections of [3, 9, 1]) {
      counters.connections = connections;
      setup.pass(5);
    }
    // The last step began with nine.
    expect(setup.last(3, "connections")).toEqual([3, 9, 9]);
    setup.pass(45);
    expect(setup.last(1, "connections", "3h")).toEqual([9]);
  });

  test("has quantiles of the steps in which messages were published", () => {
    const setup = new Setup();
    const { latency } = setup.traffic.of(A);
    for (let i = 0; i < 98; i++) latency.observeMs(0.02);
    for (let i = 0; i < 2; i++) latency.observeMs(9);
    setup.pass(5);
    setup.pass(5);
    const [p50, none] = setup.last(2, "p50Ms");
    expect(p50).toBeCloseTo(0.02, 2);
    expect(none).toBeNull();
    expect(setup.last(2, "p99Ms")[0]).toBeGreaterThan(8);
    setup.pass(50);
    expect(setup.last(1, "p99Ms", "3h")[0]).toBeGreaterThan(8);
  });

  test("has refusals in all and by reason", () => {
    const setup = new Setup();
    setup.pass(5);
    setup.traffic.unknown.refused("rate_limited", 10);
    setup.traffic.of(A).refused("token_expired", 5);
    setup.pass(5);
    const { values, byReason = {} } = setup.series.values("refusals", "15m");
    expect(values.slice(-3)).toEqual([null, 0, 3]);
    expect(Object.entries(byReason).map(([code, some]) => [code, some.slice(-2)])).toEqual([
      ["rate_limited", [0, 2]],
      ["token_expired", [0, 1]],
    ]);
    expect(Object.keys(setup.series.values("refusals", "15m", { app: A }).byReason ?? {})).toEqual(["token_expired"]);
    expect(setup.series.values("messages", "15m").byReason).toBeUndefined();
  });

  test("has a gap where the process was stopped, and no peak after it", () => {
    const setup = new Setup();
    const counters = setup.traffic.of(A);
    setup.pass(5);
    setup.nowMs += 15_000;
    counters.errors += 20;
    setup.pass(5);
    expect(setup.last(5, "errors")).toEqual([0, null, null, null, 1]);
    expect(setup.last(5, "messages")).toEqual([0, null, null, null, 0]);
    setup.nowMs += 48 * 3600 * 1000;
    setup.pass(5);
    expect(setup.last(180, "errors").filter((value) => value !== null)).toEqual([0]);
  });

  test("begins anew when the clock is set back", () => {
    const setup = new Setup();
    setup.traffic.of(A).messages += 10;
    setup.pass(20);
    setup.nowMs -= 3_600_000;
    setup.pass(10);
    expect(setup.last(3, "messages")).toEqual([null, null, 0]);
    expect(setup.last(3, "messages", "15m", A)).toEqual([null, null, 0]);
  });
});

describe("the series of an application", () => {
  test("counts only its own, and is zero while it has no traffic", () => {
    const setup = new Setup();
    setup.pass(10);
    setup.traffic.of(A).messages += 5;
    setup.traffic.of(B).messages += 10;
    setup.pass(5);
    const last = (app?: AppId): unknown => setup.last(4, "messages", "15m", app);
    expect([last(A), last(B), last(C), last()]).toEqual([
      [null, 0, 0, 1],
      [null, 0, 0, 2],
      [null, 0, 0, 0],
      [null, 0, 0, 3],
    ]);
    expect(setup.last(1, "p50Ms", "15m", C)).toEqual([null]);
    expect(setup.series.values("refusals", "15m", { app: C }).byReason).toEqual({});
  });

  test("a new application's first traffic is spread over its step", () => {
    const setup = new Setup();
    setup.pass(50);
    setup.traffic.of(A).messages += 60;
    setup.pass(10);
    expect(setup.last(1, "messages", "3h", A)).toEqual([1]);
    expect(setup.last(1, "messages", "3h")).toEqual([1]);
  });

  test("is kept for a bounded number; the others are in the total, and one idle for a day makes room", () => {
    const setup = new Setup();
    for (let i = 0; i < TRAFFIC_APPS_MAX + 50; i++) setup.traffic.of(anAppId(`app${i}`)).messages += 5;
    setup.pass(5);
    expect(setup.last(1, "messages")).toEqual([TRAFFIC_APPS_MAX + 50]);
    expect(setup.last(1, "messages", "15m", anAppId("app0"))).toEqual([1]);
    expect(setup.last(1, "messages", "15m", APP149)).toEqual([null]);
    expect(Reflect.get(setup.series, "byApp").size).toBe(TRAFFIC_APPS_MAX);
    setup.traffic.of(APP1).connections = 1;
    // One sample per hour: idleness depends on the time only.
    for (let hour = 0; hour <= 24; hour++) {
      setup.nowMs += 3_600_000;
      setup.pass(5);
    }
    expect([...setup.traffic.apps()].map(([app]) => app)).toEqual([APP1]);
    expect(setup.traffic.total().messages).toBe(5 * (TRAFFIC_APPS_MAX + 50));
    setup.traffic.of(APP149).messages += 5;
    setup.pass(5);
    expect(setup.last(1, "messages", "15m", APP149)).toEqual([1]);
    expect(Reflect.get(setup.series, "byApp").size).toBe(2);
  });

  test("takes a bounded amount of memory", () => {
    const setup = new Setup();
    const codes = Array.from({ length: 12 }, (_, i) => `code${i}`);
    for (let i = 0; i < TRAFFIC_APPS_MAX; i++) {
      const counters = setup.traffic.of(anAppId(`app${i}`));
      Object.assign(counters, { connections: 1, connects: 1, messages: 1, deliveries: 1, bytesOut: 1, errors: 1 });
      for (const code of codes) counters.refused(code);
      counters.latency.observeMs(1);
    }
    setup.pass(300);
    const tiers = [...(Reflect.get(setup.series, "byApp") as Map<string, Record<string, object>>).values()];
    const columns = tiers.flatMap((each) =>
      Object.values(each).flatMap((tier) => [...(Reflect.get(tier, "columns") as Map<string, Float32Array>).values()]),
    );
    const bytes = columns.reduce((sum, column) => sum + column.byteLength, 0);
    expect(bytes).toBe(TRAFFIC_APPS_MAX * (9 + codes.length) * (180 + 180 + 288) * 4);
    expect(bytes).toBeLessThan(6_000_000);
  });
});

describe("the series of a key", () => {
  const last = (setup: Setup, metric: SeriesMetric, keyId: string, app = A): unknown =>
    setup.series.values(metric, "15m", { app, keyId }).values.at(-1);

  test("counts only its own, and is zero while it has no traffic", () => {
    const setup = new Setup();
    setup.pass(5);
    const [one, other] = [setup.traffic.keys.of(A, "k1"), setup.traffic.keys.of(A, "k2")];
    one.connections += 2;
    one.connections -= 1;
    one.messages += 10;
    other.refusedInAll += 5;
    other.errors += 15;
    setup.pass(5);
    expect(["k1", "k2", "k3"].map((key) => last(setup, "connections", key))).toEqual([2, 0, 0]);
    expect(["k1", "k2", "k3"].map((key) => last(setup, "messages", key))).toEqual([2, 0, 0]);
    expect(["k1", "k2", "k3"].map((key) => last(setup, "refusals", key))).toEqual([0, 1, 0]);
    expect(last(setup, "errors", "k2")).toBe(3);
    expect(last(setup, "p99Ms", "k1")).toBeNull();
    setup.pass(5);
    expect([last(setup, "connections", "k1"), last(setup, "messages", "k1")]).toEqual([1, 0]);
  });

  test("is kept for a bounded number per application and in all; one idle for a day makes room", () => {
    const setup = new Setup();
    const { keys } = setup.traffic;
    for (let i = 0; i <= COUNTED_KEYS_PER_APP; i++) keys.of(A, `a${i}`).messages += 5;
    expect([...keys.ofApp(A)]).toHaveLength(COUNTED_KEYS_PER_APP);
    expect(keys.of(A, `a${COUNTED_KEYS_PER_APP}`)).toBe(keys.rest);
    for (let i = 0; i < COUNTED_KEYS_MAX; i++) keys.of(anAppId(`app${i}`), `b${i}`).messages += 5;
    expect([...keys.all()]).toHaveLength(COUNTED_KEYS_MAX);
    setup.pass(5);
    expect(last(setup, "messages", "a0")).toBe(1);
    expect(last(setup, "messages", `a${COUNTED_KEYS_PER_APP}`)).toBeNull();
    expect(Reflect.get(setup.series, "byKey").size).toBe(COUNTED_KEYS_MAX);
    keys.of(A, "a1").connections = 1;
    for (let hour = 0; hour <= 24; hour++) {
      setup.nowMs += 3_600_000;
      setup.pass(5);
    }
    expect([...keys.all()].map(([key]) => key)).toEqual(["a1"]);
    expect(Reflect.get(setup.series, "byKey").size).toBe(1);
    const columns = [...(Reflect.get(setup.series, "byKey") as Map<string, Record<string, object>>).values()].flatMap(
      (each) =>
        Object.values(each).flatMap((tier) => [...(Reflect.get(tier, "columns") as Map<string, unknown>).keys()]),
    );
    // Nothing is allocated for what no key counts.
    expect(new Set(columns)).toEqual(new Set(["connections", "messages"]));
  });
});

test("refused connects of which no application is known are a series of their own, and in the total", () => {
  const setup = new Setup();
  setup.pass(5);
  setup.traffic.unknown.refused("unauthorized", 10);
  setup.traffic.of(A).refused("token_expired", 5);
  setup.pass(5);
  const { values, byReason = {} } = setup.series.values("refusals", "15m", { isUnknown: true });
  expect([values.at(-1), Object.keys(byReason)]).toEqual([2, ["unauthorized"]]);
  expect(setup.last(1, "refusals")).toEqual([3]);
});
