import { describe, expect, test } from "bun:test";
import { FORGET_CROWDED_AFTER_MS, LANES_CROWDED, Lanes } from "./outgoing-streams.ts";

function made() {
  let now = 0;
  const lanes = new Lanes(
    "a",
    (app, channel) => `${app}/${channel}`,
    () => now,
  );
  const give = (channel: string, text = "x") => lanes.give("app", channel, ({ epoch, n }) => `${epoch}.${n} ${text}`);
  return { lanes, give, pass: (ms: number) => (now += ms) };
}

const from = (n: number, epoch = 1) => ({ node: "a", app: "app", channel: "c", epoch, n });
const MIB = 1024 * 1024;

describe("a lane", () => {
  test("numbers what it is given, channel by channel", () => {
    const { give } = made();
    expect(["c", "c", "d", "c"].map((channel) => give(channel).item)).toEqual(["1.1 x", "1.2 x", "2.1 x", "1.3 x"]);
  });

  test("has again what it was given, whole or not at all", () => {
    const { lanes, give } = made();
    for (let i = 0; i < 4; i++) give("c");
    expect(lanes.again(from(2), 3)).toEqual(["1.2 x", "1.3 x"]);
    expect(lanes.again(from(2), 5)).toBeUndefined();
    expect(lanes.again(from(2, 9), 3)).toBeUndefined();
    expect(lanes.again({ ...from(1), channel: "d" }, 1)).toBeUndefined();
  });

  test("keeps half a minute, but not while nobody could have heard it", () => {
    const { lanes, give, pass } = made();
    give("c");
    pass(40_000);
    lanes.due(true);
    // Whoever missed it asks when it can be heard again, not before.
    for (const [ms, kept] of [
      [0, true],
      [29_000, true],
      [2000, false],
    ] as const) {
      pass(ms);
      lanes.due(false);
      expect(lanes.again(from(1), 1) !== undefined).toBe(kept);
    }
  });

  test("keeps so many bytes of all lanes, the newest", () => {
    const { lanes, give } = made();
    for (let i = 0; i < 40; i++) give(i % 2 === 0 ? "c" : "d", "x".repeat(MIB));
    expect(lanes.again(from(1), 1)).toBeUndefined();
    expect(lanes.again(from(20), 20)?.length).toBe(1);
  });

  test("that falls silent repeats its last number three times, then is forgotten", () => {
    const { lanes, give, pass } = made();
    give("c");
    const repeats: number[] = [];
    for (let second = 1; second <= 100; second++) {
      pass(1000);
      if (lanes.due(false).length > 0) repeats.push(second);
    }
    expect(repeats).toEqual([1, 4, 15]);
    expect(lanes.state("app", "c")).toEqual({ epoch: 0, n: 0 });
    expect(give("c").item).toBe("2.1 x");
  });

  test("is forgotten sooner while there are very many, but never before its last number was repeated twice", () => {
    const { lanes, give, pass } = made();
    for (let i = 0; i <= LANES_CROWDED; i++) give(`c${i}`);
    for (const ms of [1000, 3000]) {
      pass(ms);
      expect(lanes.due(false)).toHaveLength(LANES_CROWDED + 1);
    }
    pass(FORGET_CROWDED_AFTER_MS - 4000);
    lanes.due(true);
    expect(lanes.state("app", "c7").n).toBe(1);
    lanes.due(false);
    expect(lanes.state("app", "c7").n).toBe(0);
  });

  test("repeats everything once more after a time in which nothing got through", () => {
    const { lanes, give, pass } = made();
    give("c");
    pass(20_000);
    for (let i = 0; i < 3; i++) lanes.due(false);
    expect(lanes.due(false)).toEqual([]);
    lanes.repeatAll();
    expect(lanes.due(false).map(({ n }) => n)).toEqual([1]);
  });
});
