/** What a node's state shows after a time in which nothing was received from it. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import type { SequenceItem } from "../wire/messages.ts";
import { UNNOTICED_MS } from "./incoming-sequence.ts";
import { IncomingSequences } from "./incoming-sequences.ts";

const APP = anAppId("app");

const OUTAGE_MS = 300_000;

const message = (n: number, epoch = 1): SequenceItem => ({
  kind: "message",
  place: { node: "b", app: APP, channel: "c", epoch, n },
  envelope: { from: "x", metadataJson: undefined, dataJson: `"${epoch}.${n}"` },
});

interface Ages {
  readonly idleMs?: number | undefined;
  readonly earlierIdleMs?: number | undefined;
  readonly clockMs?: number | undefined;
}

function receiver() {
  const received: string[] = [];
  const requested: string[] = [];
  const stateRequests: string[] = [];
  const lost: string[] = [];
  const clock = { nowMs: 1_000_000 };
  const sequences: IncomingSequences = new IncomingSequences(
    {
      deliver: (_node, item) => received.push(item.kind === "message" ? item.envelope.dataJson : item.kind),
      requestReplay: ({ n, epoch }, to) => requested.push(`${epoch}: ${n}–${to}`),
      requestState: (node) => stateRequests.push(node),
      lost: (node) => {
        lost.push(node);
        sequences.of(node).giveUp();
      },
    },
    () => clock.nowMs,
  );
  /** Without ages a node of an earlier version reports its state. */
  const synchronise = (n: number, epoch = 1, ages: Ages = {}) =>
    sequences
      .of("b")
      .resynchronise({ app: APP, channel: "c", epoch, n, members: [], ...ages }, () => received.push("members taken"));
  return { sequences, received, requested, stateRequests, lost, synchronise, clock };
}

/** Nothing is received for some time. The node is considered gone, or this one has no transport. */
function interrupted(way: "gone" | "down", { epoch = 1, forMs = OUTAGE_MS } = {}) {
  const it = receiver();
  it.synchronise(3, epoch);
  it.received.length = 0;
  it.sequences[way === "gone" ? "pause" : "interrupt"]("b", { lastMs: it.clock.nowMs, clockMs: 0 });
  it.clock.nowMs += forMs;
  return it;
}

/** The latest message that is certain to have arrived before the outage is this old. */
const BEFORE_MS = OUTAGE_MS + UNNOTICED_MS + 1;

describe.each(["gone", "down"] as const)("a state of the same sequence (%s)", (way) => {
  test("after messages: what is missing is requested", () => {
    const { synchronise, requested, received } = interrupted(way);
    synchronise(5, 1, { idleMs: BEFORE_MS - 1, earlierIdleMs: Number.MAX_SAFE_INTEGER });
    expect([requested, received]).toEqual([["1: 4–5"], way === "gone" ? ["members taken"] : []]);
  });

  test("after member changes only: the members are taken, and the next message is received", () => {
    const { sequences, synchronise, requested, received } = interrupted(way);
    synchronise(5, 1, { idleMs: BEFORE_MS, earlierIdleMs: Number.MAX_SAFE_INTEGER });
    sequences.receive(message(6));
    expect([requested, received]).toEqual([[], ["members taken", '"1.6"']]);
  });

  test("after a suspension of this node's machine, which its own clock does not show: what is missing is requested", () => {
    const { synchronise, requested } = interrupted(way, { forMs: 0 });
    const ages = { idleMs: BEFORE_MS - 1, earlierIdleMs: Number.MAX_SAFE_INTEGER };
    synchronise(5, 1, { ...ages, clockMs: OUTAGE_MS });
    expect(requested).toEqual(["1: 4–5"]);
  });

  test("of a node of an earlier version: what is missing is requested", () => {
    const { synchronise, requested } = interrupted(way);
    synchronise(5);
    expect(requested).toEqual(["1: 4–5"]);
  });
});

describe("a state of another epoch after an interruption", () => {
  describe.each(["gone", "down"] as const)("%s", (way) => {
    test.each([
      ["forgotten", 0, 0],
      ["superseded", 2, 9],
    ])("is a loss if the sequence may have ended meanwhile: %s", (_what, n, epoch) => {
      const { synchronise, lost, received, stateRequests } = interrupted(way);
      synchronise(n, epoch, { earlierIdleMs: BEFORE_MS - 1 });
      expect([lost, stateRequests]).toEqual([["b"], ["b"]]);
      synchronise(n, epoch, { earlierIdleMs: BEFORE_MS - 1 });
      expect([lost, received]).toEqual([["b"], ["members taken"]]);
    });

    test("is none if the sequence ended before, and the members are taken", () => {
      const { synchronise, lost, received } = interrupted(way);
      synchronise(0, 0, { earlierIdleMs: BEFORE_MS });
      expect([lost, received]).toEqual([[], ["members taken"]]);
    });

    test("is none if the node had no sequence before: all of the new one is requested, and the members are taken", () => {
      const { synchronise, lost, requested, received } = interrupted(way, { epoch: 0 });
      synchronise(2, 1, { earlierIdleMs: Number.MAX_SAFE_INTEGER });
      expect([lost, requested, received]).toEqual([[], ["1: 1–2"], ["members taken"]]);
    });

    test.each([
      [39_000, []],
      [41_000, ["b"]],
    ])("of a node of an earlier version, which forgets a sequence after a minute: %p ms", (forMs, expected) => {
      const { synchronise, lost } = interrupted(way, { forMs });
      synchronise(0, 0);
      expect(lost).toEqual(expected);
    });

    test("of a node of an earlier version that had no sequence is no loss", () => {
      const { synchronise, lost } = interrupted(way, { epoch: 0 });
      synchronise(0, 0);
      expect(lost).toEqual([]);
    });

    test("counts from the first of several interruptions without a state in between", () => {
      const { sequences, clock, synchronise, lost } = interrupted(way);
      sequences.interrupt("b", { lastMs: clock.nowMs });
      synchronise(0, 0, { earlierIdleMs: BEFORE_MS - 1 });
      expect(lost).toEqual(["b"]);
    });
  });

  test.each([undefined, OUTAGE_MS])(
    "is a loss also if the node had not confirmed the epoch where the sequence has stopped (%p)",
    (earlierIdleMs) => {
      const { sequences, synchronise, clock, lost } = receiver();
      synchronise(0, 0);
      sequences.receive(message(1, 5));
      sequences.interrupt("b", { lastMs: clock.nowMs });
      clock.nowMs += OUTAGE_MS;
      synchronise(0, 0, { earlierIdleMs: earlierIdleMs });
      expect(lost).toEqual(["b"]);
    },
  );

  test("is a loss also if items of the new sequence have arrived before it", () => {
    const { sequences, synchronise, lost } = interrupted("down");
    sequences.receive(message(1, 9));
    synchronise(1, 9, { earlierIdleMs: OUTAGE_MS });
    expect(lost).toEqual(["b"]);
  });

  test("that was read before an item which has arrived does not undo it", () => {
    const { sequences, synchronise, received } = interrupted("down");
    sequences.receive(message(1, 9));
    synchronise(0, 0, { earlierIdleMs: BEFORE_MS });
    expect(received).toEqual(['"9.1"']);
  });
});
