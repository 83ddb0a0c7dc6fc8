import { describe, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { OutgoingSequences, REDUCE_CROWDED_AFTER_MS, SEQUENCES_CROWDED } from "./outgoing-sequences.ts";
import { REMEMBERED_MAX } from "./remembered-sequences.ts";

const APP = anAppId("app");

function made(areLossesReported = false) {
  let now = 0;
  const sequences = new OutgoingSequences(
    "a",
    (spaceId, channel) => `${spaceId}/${channel}`,
    () => now,
    areLossesReported,
  );
  const append = (channel: string, text = "x", isMessage = true) =>
    sequences.append(APP, channel, ({ epoch, n }) => `${epoch}.${n} ${text}`, isMessage);
  const pass = (ms: number) => (now += ms);
  /** All sequences become idle, until only their ends are remembered. */
  const reduceAll = () => {
    for (let i = 0; i < 4; i++) {
      pass(60_000);
      sequences.tick(true);
    }
  };
  return { sequences, append, pass, reduceAll };
}

const from = (n: number, epoch = 1) => ({ node: "a", app: APP, channel: "c", epoch, n });
const MIB = 1024 * 1024;

describe("an outgoing sequence", () => {
  test("gives sequence numbers per channel", () => {
    const { append } = made();
    expect(["c", "c", "d", "c"].map((channel) => append(channel).item)).toEqual(["1.1 x", "1.2 x", "2.1 x", "1.3 x"]);
  });

  test("replays a range completely or not at all", () => {
    const { sequences, append } = made();
    for (let i = 0; i < 4; i++) append("c");
    expect(sequences.replay(from(2), 3)).toEqual(["1.2 x", "1.3 x"]);
    expect(sequences.replay(from(2), 5)).toBeUndefined();
    expect(sequences.replay(from(2, 9), 3)).toBeUndefined();
    expect(sequences.replay({ ...from(1), channel: "d" }, 1)).toBeUndefined();
  });

  test("keeps items for 30 seconds, not counting outages", () => {
    const { sequences, append, pass } = made();
    append("c");
    pass(40_000);
    sequences.tick(false);
    // Other nodes can request a replay only after the outage.
    for (const [ms, kept] of [
      [0, true],
      [29_000, true],
      [2000, false],
    ] as const) {
      pass(ms);
      sequences.tick(true);
      expect(sequences.replay(from(1), 1) !== undefined).toBe(kept);
    }
  });

  test("keeps the newest 32 MiB of all sequences", () => {
    const { sequences, append } = made();
    for (let i = 0; i < 40; i++) append(i % 2 === 0 ? "c" : "d", "x".repeat(MIB));
    expect(sequences.replay(from(1), 1)).toBeUndefined();
    expect(sequences.replay(from(20), 20)?.length).toBe(1);
  });

  test("repeats its last sequence number three times when it is idle, and continues later", () => {
    const { sequences, append, pass } = made();
    append("c");
    const repeats: number[] = [];
    for (let second = 1; second <= 100; second++) {
      pass(1000);
      if (sequences.tick(true).length > 0) repeats.push(second);
    }
    expect(repeats).toEqual([1, 4, 15]);
    expect(sequences.replay(from(1), 1)).toBeUndefined();
    // A node that was cut off since before the item must not take it for a channel without messages.
    expect(sequences.state(APP, "c")).toMatchObject({ epoch: 1, n: 1, idleMs: 100_000 });
    expect(append("c").item).toBe("1.2 x");
    expect(sequences.replay(from(2), 2)).toEqual(["1.2 x"]);
  });

  test("says when its last message was published, whatever members have done since", () => {
    const { sequences, append, pass, reduceAll } = made();
    const never = Number.MAX_SAFE_INTEGER;
    expect(sequences.state(APP, "c")).toEqual({ epoch: 0, n: 0, idleMs: never, earlierIdleMs: never, clockMs: 0 });
    append("c", "x", false);
    expect(sequences.state(APP, "c")).toEqual({ epoch: 1, n: 1, idleMs: never, earlierIdleMs: never, clockMs: 0 });
    append("c");
    pass(1000);
    append("c", "x", false);
    expect(sequences.state(APP, "c")).toEqual({ epoch: 1, n: 3, idleMs: 1000, earlierIdleMs: never, clockMs: 1000 });
    reduceAll();
    expect(sequences.state(APP, "c")).toEqual({
      epoch: 1,
      n: 3,
      idleMs: 241_000,
      earlierIdleMs: never,
      clockMs: 241_000,
    });
  });

  test("starts another epoch when its end is forgotten, and says how long ago that epoch was used at the latest", () => {
    const { sequences, append, pass, reduceAll } = made();
    append("c");
    pass(5000);
    append("d");
    reduceAll();
    // The end of `c` is forgotten, that of `d` is not.
    for (let i = 0; i < REMEMBERED_MAX - 1; i++) append(`other${i}`);
    reduceAll();
    const idleMs = 485_000;
    expect(sequences.state(APP, "c")).toMatchObject({ epoch: 0, n: 0, idleMs, earlierIdleMs: idleMs });
    expect(sequences.state(APP, "d")).toMatchObject({ epoch: 2, n: 1, idleMs: 480_000 });
    append("c", "x", false);
    pass(1000);
    expect(sequences.state(APP, "c")).toMatchObject({ n: 1, idleMs: idleMs + 1000, earlierIdleMs: idleMs + 1000 });
    append("c");
    expect(sequences.state(APP, "c")).toMatchObject({ n: 2, idleMs: 0, earlierIdleMs: idleMs + 1000 });
  });

  test("repeats nothing over a transport that reports losses, except after it has reported one", () => {
    const { sequences, append, pass } = made(true);
    append("c");
    pass(20_000);
    expect(sequences.tick(true)).toEqual([]);
    sequences.repeatAll();
    expect(sequences.tick(true)).toHaveLength(1);
    // What is sent after the loss shows the gap by itself.
    append("c");
    pass(20_000);
    expect(sequences.tick(true)).toEqual([]);
  });

  test("drops what it has kept earlier when there are very many, but not before its last sequence number was repeated twice", () => {
    const { sequences, append, pass } = made();
    for (let i = 0; i <= SEQUENCES_CROWDED; i++) append(`c${i}`);
    for (const ms of [1000, 3000]) {
      pass(ms);
      expect(sequences.tick(true)).toHaveLength(SEQUENCES_CROWDED + 1);
    }
    pass(REDUCE_CROWDED_AFTER_MS - 4000);
    const kept = () => sequences.replay({ ...from(1, 8), channel: "c7" }, 1);
    sequences.tick(false);
    expect(kept()).toHaveLength(1);
    sequences.tick(true);
    expect(kept()).toBeUndefined();
    expect(sequences.state(APP, "c7")).toMatchObject({ epoch: 8, n: 1 });
  });

  test("repeats its last sequence number after an outage", () => {
    const { sequences, append, pass } = made();
    append("c");
    pass(20_000);
    for (let i = 0; i < 3; i++) sequences.tick(true);
    expect(sequences.tick(true)).toEqual([]);
    sequences.repeatAll();
    expect(sequences.tick(true).map(({ n }) => n)).toEqual([1]);
  });
});
