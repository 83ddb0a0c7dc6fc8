import { describe, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { OutgoingStreams, REDUCE_CROWDED_AFTER_MS, STREAMS_CROWDED } from "./outgoing-streams.ts";
import { REMEMBERED_MAX } from "./remembered-streams.ts";

const APP = anAppId("app");

function made(areLossesReported = false) {
  let now = 0;
  const streams = new OutgoingStreams(
    "a",
    (app, channel) => `${app}/${channel}`,
    () => now,
    areLossesReported,
  );
  const append = (channel: string, text = "x", isMessage = true) =>
    streams.append(APP, channel, ({ epoch, n }) => `${epoch}.${n} ${text}`, isMessage);
  const pass = (ms: number) => (now += ms);
  /** All streams become idle, until only their ends are remembered. */
  const reduceAll = () => {
    for (let i = 0; i < 4; i++) {
      pass(60_000);
      streams.tick(true);
    }
  };
  return { streams, append, pass, reduceAll };
}

const from = (n: number, epoch = 1) => ({ node: "a", app: APP, channel: "c", epoch, n });
const MIB = 1024 * 1024;

describe("an outgoing stream", () => {
  test("gives sequence numbers per channel", () => {
    const { append } = made();
    expect(["c", "c", "d", "c"].map((channel) => append(channel).item)).toEqual(["1.1 x", "1.2 x", "2.1 x", "1.3 x"]);
  });

  test("replays a range completely or not at all", () => {
    const { streams, append } = made();
    for (let i = 0; i < 4; i++) append("c");
    expect(streams.replay(from(2), 3)).toEqual(["1.2 x", "1.3 x"]);
    expect(streams.replay(from(2), 5)).toBeUndefined();
    expect(streams.replay(from(2, 9), 3)).toBeUndefined();
    expect(streams.replay({ ...from(1), channel: "d" }, 1)).toBeUndefined();
  });

  test("keeps items for 30 seconds, not counting outages", () => {
    const { streams, append, pass } = made();
    append("c");
    pass(40_000);
    streams.tick(false);
    // Other nodes can request a replay only after the outage.
    for (const [ms, kept] of [
      [0, true],
      [29_000, true],
      [2000, false],
    ] as const) {
      pass(ms);
      streams.tick(true);
      expect(streams.replay(from(1), 1) !== undefined).toBe(kept);
    }
  });

  test("keeps the newest 32 MiB of all streams", () => {
    const { streams, append } = made();
    for (let i = 0; i < 40; i++) append(i % 2 === 0 ? "c" : "d", "x".repeat(MIB));
    expect(streams.replay(from(1), 1)).toBeUndefined();
    expect(streams.replay(from(20), 20)?.length).toBe(1);
  });

  test("repeats its last sequence number three times when it is idle, and continues later", () => {
    const { streams, append, pass } = made();
    append("c");
    const repeats: number[] = [];
    for (let second = 1; second <= 100; second++) {
      pass(1000);
      if (streams.tick(true).length > 0) repeats.push(second);
    }
    expect(repeats).toEqual([1, 4, 15]);
    expect(streams.replay(from(1), 1)).toBeUndefined();
    // A node that was cut off since before the item must not take it for a channel without messages.
    expect(streams.state(APP, "c")).toMatchObject({ epoch: 1, n: 1, idleMs: 100_000 });
    expect(append("c").item).toBe("1.2 x");
    expect(streams.replay(from(2), 2)).toEqual(["1.2 x"]);
  });

  test("says when its last message was published, whatever members have done since", () => {
    const { streams, append, pass, reduceAll } = made();
    const never = Number.MAX_SAFE_INTEGER;
    expect(streams.state(APP, "c")).toEqual({ epoch: 0, n: 0, idleMs: never, earlierIdleMs: never, clockMs: 0 });
    append("c", "x", false);
    expect(streams.state(APP, "c")).toEqual({ epoch: 1, n: 1, idleMs: never, earlierIdleMs: never, clockMs: 0 });
    append("c");
    pass(1000);
    append("c", "x", false);
    expect(streams.state(APP, "c")).toEqual({ epoch: 1, n: 3, idleMs: 1000, earlierIdleMs: never, clockMs: 1000 });
    reduceAll();
    expect(streams.state(APP, "c")).toEqual({
      epoch: 1,
      n: 3,
      idleMs: 241_000,
      earlierIdleMs: never,
      clockMs: 241_000,
    });
  });

  test("starts another epoch when its end is forgotten, and says how long ago that epoch was used at the latest", () => {
    const { streams, append, pass, reduceAll } = made();
    append("c");
    pass(5000);
    append("d");
    reduceAll();
    // The end of `c` is forgotten, that of `d` is not.
    for (let i = 0; i < REMEMBERED_MAX - 1; i++) append(`other${i}`);
    reduceAll();
    const idleMs = 485_000;
    expect(streams.state(APP, "c")).toMatchObject({ epoch: 0, n: 0, idleMs, earlierIdleMs: idleMs });
    expect(streams.state(APP, "d")).toMatchObject({ epoch: 2, n: 1, idleMs: 480_000 });
    append("c", "x", false);
    pass(1000);
    expect(streams.state(APP, "c")).toMatchObject({ n: 1, idleMs: idleMs + 1000, earlierIdleMs: idleMs + 1000 });
    append("c");
    expect(streams.state(APP, "c")).toMatchObject({ n: 2, idleMs: 0, earlierIdleMs: idleMs + 1000 });
  });

  test("repeats nothing over a transport that reports losses, except after it has reported one", () => {
    const { streams, append, pass } = made(true);
    append("c");
    pass(20_000);
    expect(streams.tick(true)).toEqual([]);
    streams.repeatAll();
    expect(streams.tick(true)).toHaveLength(1);
    // What is sent after the loss shows the gap by itself.
    append("c");
    pass(20_000);
    expect(streams.tick(true)).toEqual([]);
  });

  test("drops what it has kept earlier when there are very many, but not before its last sequence number was repeated twice", () => {
    const { streams, append, pass } = made();
    for (let i = 0; i <= STREAMS_CROWDED; i++) append(`c${i}`);
    for (const ms of [1000, 3000]) {
      pass(ms);
      expect(streams.tick(true)).toHaveLength(STREAMS_CROWDED + 1);
    }
    pass(REDUCE_CROWDED_AFTER_MS - 4000);
    const kept = () => streams.replay({ ...from(1, 8), channel: "c7" }, 1);
    streams.tick(false);
    expect(kept()).toHaveLength(1);
    streams.tick(true);
    expect(kept()).toBeUndefined();
    expect(streams.state(APP, "c7")).toMatchObject({ epoch: 8, n: 1 });
  });

  test("repeats its last sequence number after an outage", () => {
    const { streams, append, pass } = made();
    append("c");
    pass(20_000);
    for (let i = 0; i < 3; i++) streams.tick(true);
    expect(streams.tick(true)).toEqual([]);
    streams.repeatAll();
    expect(streams.tick(true).map(({ n }) => n)).toEqual([1]);
  });
});
