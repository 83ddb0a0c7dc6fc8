import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anAppId } from "../../../base/testing/ids.ts";
import type { SequenceItem } from "../wire/messages.ts";
import type { IncomingEvents } from "./incoming-sequence.ts";
import { IncomingSequences } from "./incoming-sequences.ts";
import { BUFFERED_MAX, BUFFERED_MAX_CHARS } from "./item-buffer.ts";

const APP = anAppId("app");

const place = (n: number, epoch = 1) => ({ node: "b", app: APP, channel: "c", epoch, n });
const message = (n: number, epoch = 1): SequenceItem => ({
  kind: "message",
  place: place(n, epoch),
  envelope: { from: "x", metadataJson: undefined, dataJson: `"${epoch}.${n}"` },
});
const state = (n: number, epoch = 1) => ({ app: APP, channel: "c", epoch, n, members: [] });

function receiver() {
  const received: string[] = [];
  const requested: string[] = [];
  const stateRequests: string[] = [];
  const lost: string[] = [];
  const events: IncomingEvents = {
    deliver: (_node, item) => received.push(item.kind === "message" ? item.envelope.dataJson : item.kind),
    requestReplay: ({ n, epoch }, to) => requested.push(`${epoch}: ${n}–${to}`),
    requestState: (node) => stateRequests.push(node),
    lost: (node) => {
      lost.push(node);
      sequences.of(node).giveUp();
    },
  };
  const sequences = new IncomingSequences(events, () => 0);
  const synchronise = (n: number, epoch = 1) =>
    sequences.of("b").resynchronise(state(n, epoch), () => received.push("members taken"));
  return { sequences, received, requested, stateRequests, lost, synchronise };
}

describe("before a node has reported its state", () => {
  test("items are buffered, and a new subscription gets only those after the state, in order", () => {
    const { sequences, received } = receiver();
    for (const n of [3, 5, 4]) sequences.receive(message(n));
    expect(received).toEqual([]);
    sequences.of("b").start(state(3));
    expect(received).toEqual(['"1.4"', '"1.5"']);
  });

  test("an existing subscription gets every message, but no member change that the state includes", () => {
    const { sequences, received, requested, synchronise } = receiver();
    const change: SequenceItem = { kind: "members", place: place(4), change: { joined: [], left: ["x"] } };
    for (const item of [message(3), change, message(5), message(7), message(9)]) sequences.receive(item);
    synchronise(8);
    expect([received, requested]).toEqual([
      ["members taken", '"1.3"', '"1.5"'],
      ["1: 6–6", "1: 8–8"],
    ]);
    sequences.replayed([message(6), message(8)]);
    expect(received).toEqual(["members taken", '"1.3"', '"1.5"', '"1.6"', '"1.7"', '"1.8"', '"1.9"']);
  });
});

describe("a missing sequence number", () => {
  test("is requested once, and later items are buffered", () => {
    const { sequences, received, requested, synchronise } = receiver();
    synchronise(0);
    for (const n of [1, 4, 5]) sequences.receive(message(n));
    expect([received, requested]).toEqual([["members taken", '"1.1"'], ["1: 2–3"]]);
    sequences.replayed([message(2), message(3)]);
    expect(received).toEqual(["members taken", '"1.1"', '"1.2"', '"1.3"', '"1.4"', '"1.5"']);
  });

  test("at the end is found when the last sequence number is repeated, and only if it is missing", () => {
    const { sequences, requested, synchronise } = receiver();
    synchronise(0);
    sequences.receive(message(1));
    sequences.receive({ kind: "tail", place: place(1) });
    expect(requested).toEqual([]);
    sequences.receive({ kind: "tail", place: place(3) });
    sequences.receive({ kind: "tail", place: place(3) });
    expect(requested).toEqual(["1: 2–3"]);
  });

  test("that is given up leaves the sequence unsynchronised until the node reports its state", () => {
    const { sequences, received, stateRequests, synchronise } = receiver();
    synchronise(0);
    sequences.receive(message(3));
    sequences.of("b").giveUp();
    sequences.receive(message(4));
    expect([stateRequests, received]).toEqual([["b"], ["members taken"]]);
    synchronise(3);
    expect(received).toEqual(["members taken", "members taken", '"1.4"']);
  });
});

test("items buffered behind a gap are bounded in size, and above the bound the gap is given up", () => {
  const { sequences, received, stateRequests, synchronise } = receiver();
  synchronise(0);
  const dataJson = JSON.stringify("x".repeat(BUFFERED_MAX_CHARS / 8));
  const large = (n: number): SequenceItem => ({
    kind: "message",
    place: place(n),
    envelope: { from: "x", metadataJson: undefined, dataJson },
  });
  for (let n = 2; n < 9; n++) sequences.receive(large(n));
  expect(stateRequests).toEqual([]);
  sequences.receive(large(9));
  expect([received, stateRequests]).toEqual([["members taken"], ["b"]]);
});

test("items buffered behind a gap are bounded in number too", () => {
  const { sequences, received, stateRequests, synchronise } = receiver();
  synchronise(0);
  for (let n = 2; n < BUFFERED_MAX + 2; n++) sequences.receive(message(n));
  expect(stateRequests).toEqual([]);
  sequences.receive(message(BUFFERED_MAX + 2));
  expect([received, stateRequests]).toEqual([["members taken"], ["b"]]);
});

test("items dropped behind a gap are missing afterwards, from where the sequence had stopped", () => {
  const { sequences, received, requested, lost, synchronise } = receiver();
  synchronise(0);
  for (let n = 2; n <= BUFFERED_MAX + 2; n++) sequences.receive(message(n));
  // The node's state arrives before the replay of the first gap.
  synchronise(BUFFERED_MAX + 2);
  expect([requested.at(-1), lost]).toEqual([`1: 1–${BUFFERED_MAX + 2}`, []]);
  sequences.receive(message(1));
  sequences.receive(message(2));
  expect(received.slice(-2)).toEqual(['"1.1"', '"1.2"']);
});

test("a loss is reported when too many items arrive before the state of their sequence", () => {
  const { sequences, lost, stateRequests } = receiver();
  for (let n = 1; n <= BUFFERED_MAX; n++) sequences.receive(message(n));
  expect(lost).toEqual([]);
  sequences.receive(message(BUFFERED_MAX + 1));
  expect([lost, stateRequests]).toEqual([["b"], ["b"]]);
});

test("the state is requested once when the item that fills the buffer is also of an epoch that should have ended", () => {
  const { sequences, stateRequests, synchronise } = receiver();
  synchronise(0);
  for (let n = 2; n < BUFFERED_MAX + 2; n++) sequences.receive(message(n, 2));
  sequences.receive(message(1));
  expect(stateRequests).toEqual(["b"]);
});

describe("a sequence with a new epoch", () => {
  test("starts with 1", () => {
    const { sequences, received, requested, synchronise } = receiver();
    synchronise(7);
    sequences.receive(message(1, 2));
    sequences.receive(message(2, 2));
    sequences.receive(message(8, 1));
    expect([received, requested]).toEqual([["members taken", '"2.1"', '"2.2"'], []]);
  });

  test("whose first items were missed is requested from 1 on", () => {
    const { sequences, requested, synchronise } = receiver();
    synchronise(7);
    sequences.receive(message(3, 2));
    expect(requested).toEqual(["2: 1–2"]);
  });
});

describe("a forged epoch", () => {
  const forged = Number.MAX_SAFE_INTEGER;

  test.each([0, 1])(
    "does not stop the sequence: the state is requested, and the node's items are received (item %d)",
    (n) => {
      const { sequences, received, stateRequests, synchronise } = receiver();
      synchronise(1);
      sequences.receive({ kind: "tail", place: place(0, forged) });
      if (n > 0) sequences.receive(message(n, forged));
      received.length = 0;
      sequences.receive(message(2));
      sequences.receive(message(3));
      expect([received, stateRequests]).toEqual([[], ["b"]]);
      synchronise(3);
      sequences.receive(message(4));
      expect([received, stateRequests]).toEqual([["members taken", '"1.2"', '"1.3"', '"1.4"'], ["b"]]);
    },
  );

  test("that is refuted leaves the sequence where it was, and what was missed meanwhile is requested", () => {
    const { sequences, received, requested, synchronise } = receiver();
    synchronise(1);
    sequences.receive(message(7, forged));
    expect(requested).toEqual([`${forged}: 1–6`]);
    sequences.of("b").refute(state(3), () => received.push("members taken"));
    expect(requested).toEqual([`${forged}: 1–6`, "1: 2–3"]);
    sequences.replayed([message(2), message(3)]);
    sequences.receive(message(4));
    expect(received).toEqual(["members taken", "members taken", '"1.2"', '"1.3"', '"1.4"']);
  });

  test("does not stop the sequence when only the sequence number is forged and refuted", () => {
    const { sequences, received, requested, synchronise } = receiver();
    synchronise(1);
    sequences.receive(message(forged));
    sequences.receive(message(2));
    sequences.of("b").refute(state(2), () => received.push("members taken"));
    sequences.receive(message(3));
    expect(received).toEqual(["members taken", '"1.2"', "members taken", '"1.3"']);
    // The refuted items are not requested a second time.
    expect(requested).toEqual([`1: 2–${forged - 1}`]);
  });

  test("does not stop the sequence when it follows another forged one", () => {
    const { sequences, received, stateRequests, synchronise } = receiver();
    synchronise(1);
    for (const epoch of [forged - 1, forged]) sequences.receive({ kind: "tail", place: place(0, epoch) });
    sequences.receive(message(2));
    expect(stateRequests).toEqual(["b"]);
    synchronise(2);
    expect(received).toEqual(["members taken", "members taken", '"1.2"']);
  });

  test("does not cause a request for the state when items arrive a second time", () => {
    const { sequences, stateRequests, synchronise } = receiver();
    synchronise(2);
    sequences.receive({ kind: "tail", place: place(0, forged) });
    for (const n of [1, 2]) sequences.receive(message(n));
    expect(stateRequests).toEqual([]);
  });

  test("leaves nothing behind when its items arrive while the state is requested and the node reports another epoch", () => {
    const { sequences, received, requested, stateRequests, synchronise } = receiver();
    synchronise(1);
    sequences.receive({ kind: "tail", place: place(0, forged) });
    sequences.receive(message(2));
    sequences.receive(message(2, forged));
    synchronise(2);
    sequences.receive(message(3));
    expect(received).toEqual(["members taken", "members taken", '"1.2"', '"1.3"']);
    expect([requested, stateRequests]).toEqual([[], ["b"]]);
  });

  test("that the node confirms is its own, and items of the earlier one are dropped", () => {
    const { sequences, received, stateRequests, synchronise } = receiver();
    synchronise(1);
    sequences.receive(message(1, 2));
    sequences.receive(message(2));
    synchronise(1, 2);
    sequences.receive(message(3));
    sequences.receive(message(2, 2));
    expect([received, stateRequests]).toEqual([["members taken", '"2.1"', "members taken", '"2.2"'], ["b"]]);
  });
});

describe("a state reported later", () => {
  test("updates the members when nothing was missed", () => {
    const { received, synchronise, sequences } = receiver();
    synchronise(1);
    sequences.receive(message(2));
    synchronise(2);
    expect(received).toEqual(["members taken", '"1.2"', "members taken"]);
  });

  test("does not undo what was received since", () => {
    const { received, synchronise, sequences } = receiver();
    synchronise(1);
    sequences.receive(message(2));
    synchronise(1);
    expect(received).toEqual(["members taken", '"1.2"']);
  });

  test("shows what was missed", () => {
    const { requested, synchronise } = receiver();
    synchronise(1);
    synchronise(4);
    expect(requested).toEqual(["1: 2–4"]);
  });
});

test("with replays every item is received once and in order, whatever is lost, duplicated or late", () => {
  const arriving = fc.array(fc.record({ n: fc.integer({ min: 1, max: 30 }), isTail: fc.boolean() }), { maxLength: 80 });
  fc.assert(
    fc.property(arriving, fc.boolean(), (list, isLate) => {
      const received: number[] = [];
      const replays: (() => void)[] = [];
      const events: IncomingEvents = {
        deliver: (_node, item) => received.push(item.place.n),
        requestReplay: ({ n }, to) => {
          const replay = (): void => sequences.replayed(Array.from({ length: to - n + 1 }, (_, i) => message(n + i)));
          if (isLate) replays.push(replay);
          else replay();
        },
        requestState: () => undefined,
        lost: () => undefined,
      };
      const sequences = new IncomingSequences(events, () => 0);
      sequences.of("b").resynchronise(state(0), () => undefined);
      for (const { n, isTail } of list) sequences.receive(isTail ? { kind: "tail", place: place(n) } : message(n));
      for (let at = 0; at < replays.length; at++) replays[at]?.();
      const most = Math.max(0, ...list.map(({ n }) => n));
      expect(received).toEqual(Array.from({ length: most }, (_, i) => i + 1));
    }),
  );
});
