import { expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { DEFERRED, type DirectAttempt, OVERTAKEN, UNAVAILABLE } from "../../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import { ASK_AFTER_MS, ASK_ALL_AFTER_MS, DEFERRED_WAIT_MS, PendingDirectMessages } from "./pending-messages.ts";

const ATTEMPT: DirectAttempt = {
  spaceId: anAppId("app"),
  to: "ann",
  onDeferred: () => undefined,
  number: 0,
  firstMs: 0,
  isHeld: false,
  isUnanswered: false,
  delivered: 0,
  isNext: false,
  isLast: false,
};

function kit() {
  let now = 0;
  let lostMs = Number.NEGATIVE_INFINITY;
  const pending = new PendingDirectMessages(
    () => now,
    (ms) => lostMs >= ms,
  );
  const forwarded: number[] = [];
  const asked: number[] = [];
  const sweep = (): void =>
    pending.sweep(
      (number) => {
        forwarded.push(number);
        pending.extend(number);
      },
      (number) => {
        asked.push(number);
        pending.asks(number);
      },
    );
  const pass = (ms: number): void => {
    now += ms;
    sweep();
  };
  const loseNode = (): void => {
    lostMs = now;
  };
  return { pending, forwarded, asked, pass, loseNode };
}

test("a receipt with connections decides at once; without any, every node is asked before it is not known what happened", async () => {
  const { pending, forwarded, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  pending.delivered(1, { count: 2 });
  pass(ASK_ALL_AFTER_MS - 1);
  expect(forwarded).toEqual([]);
  pass(1);
  expect(forwarded).toEqual([2]);
  pass(RESPONSE_TIMEOUT_MS);
  expect(await Promise.all(counts)).toEqual([2, UNAVAILABLE]);
  expect(forwarded).toEqual([2]);
});

test("without a receipt, every node is asked; what none of them has may still wait for a node that they do not know", async () => {
  const { pending, forwarded, pass } = kit();
  const counts = [1, 2, 3].map((number) => pending.add(number, "text", { ...ATTEMPT }, "ann"));
  pass(ASK_ALL_AFTER_MS);
  expect(forwarded).toEqual([1, 2, 3]);
  pending.decide(1, [{ node: "n1", count: 1 }], false);
  pending.decide(2, [{ node: "n1", count: 0, isDeferred: true }], false);
  pending.decide(3, [{ node: "n1", count: 0 }], false);
  expect(await Promise.all(counts)).toEqual([1, DEFERRED, UNAVAILABLE]);
});

test("without a receipt, a message to a peer that the sender's node holds is tried again; the last attempt must be certain", async () => {
  const { pending, pass } = kit();
  const attempt = { ...ATTEMPT, isHeld: true };
  const first = pending.add(1, "text", attempt, "ann");
  pass(ASK_ALL_AFTER_MS);
  pending.decide(1, [{ node: "n1", count: 0 }], false);
  attempt.isLast = true;
  const last = pending.add(1, "text", attempt, "ann");
  pending.decide(1, [{ node: "n1", count: 0 }], false);
  expect(await Promise.all([first, last])).toEqual([DEFERRED, UNAVAILABLE]);
});

test("an attempt that had no receipt makes the last one uncertain, too", async () => {
  const { pending, pass } = kit();
  const attempt = { ...ATTEMPT };
  const first = pending.add(1, "text", attempt, "ann");
  pass(ASK_ALL_AFTER_MS);
  pending.decide(1, [{ node: "n1", count: 0, isDeferred: true }], false);
  attempt.isLast = true;
  const last = pending.add(1, "text", attempt, "ann");
  pending.decide(1, [{ node: "n1", count: 0 }], false);
  expect(await Promise.all([first, last])).toEqual([DEFERRED, UNAVAILABLE]);
});

test("what this node delivers too is asked for everywhere as well when no other node has answered", async () => {
  const { pending, forwarded, pass } = kit();
  const held: number[] = [];
  const attempt = { ...ATTEMPT, onDeferred: () => void held.push(1) };
  const counts = [1, 2].map((number) => pending.add(number, "text", attempt, "ann", true));
  pass(ASK_ALL_AFTER_MS);
  expect(forwarded).toEqual([1, 2]);
  pending.decide(1, [{ node: "n1", count: 1 }], false);
  pending.decide(2, [{ node: "n1", count: 0, isDeferred: true }], false);
  expect([await Promise.all(counts), held]).toEqual([[1, DEFERRED], []]);
});

test("a node that was lost since the message was sent may have delivered it: without it, no answer is certain", async () => {
  const { pending, pass, loseNode } = kit();
  const before = pending.add(1, "text", { ...ATTEMPT }, "ann");
  pass(1);
  loseNode();
  pass(1);
  const after = pending.add(2, "text", { ...ATTEMPT }, "ann");
  for (const number of [1, 2]) pending.delivered(number, { count: 0 });
  pass(ASK_ALL_AFTER_MS);
  for (const number of [1, 2]) pending.decide(number, [{ node: "n1", count: 0 }], false);
  expect(await Promise.all([before, after])).toEqual([UNAVAILABLE, 0]);
});

test("one node had no connection: every node is asked before its sender gets 0, since another may have delivered it", async () => {
  const { pending, forwarded, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  for (const number of [1, 2]) pending.delivered(number, { count: 0 });
  pass(ASK_ALL_AFTER_MS);
  expect(forwarded).toEqual([1, 2]);
  pending.decide(1, [{ count: 0 }], false);
  pass(RESPONSE_TIMEOUT_MS);
  expect(await Promise.all(counts)).toEqual([0, UNAVAILABLE]);
  expect(forwarded).toEqual([1, 2]);
});

test("a peer that is expected back is reported a moment later, so that a receipt of another node counts first", async () => {
  const { pending, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  for (const number of [1, 2]) pending.delivered(number, { count: 0, isDeferred: true });
  pending.delivered(2, { count: 1 });
  pass(DEFERRED_WAIT_MS);
  expect(await Promise.all(counts)).toEqual([DEFERRED, 1]);
});

test("the oldest message to a peer that may be sent again, until it is decided", () => {
  const { pending, pass } = kit();
  const attempt = (isLast = false): DirectAttempt => ({ ...ATTEMPT, isLast });
  void pending.add(1, "text", attempt(), "ann", true);
  void pending.add(2, "text", undefined, "ann");
  void pending.add(3, "text", attempt(true), "ann");
  expect(pending.oldestUndecided("ann")).toBeUndefined();
  for (const number of [4, 5, 6, 7]) void pending.add(number, "text", attempt(), number === 7 ? "ben" : "ann");
  expect(["ann", "ben", "cat"].map((to) => pending.oldestUndecided(to))).toEqual([4, 7, undefined]);
  pending.delivered(5, { count: 1 });
  expect(pending.oldestUndecided("ann")).toBe(4);
  pending.delivered(4, { count: 1 });
  expect(pending.oldestUndecided("ann")).toBe(6);
  pass(ASK_ALL_AFTER_MS);
  pass(RESPONSE_TIMEOUT_MS);
  expect(["ann", "ben"].map((to) => pending.oldestUndecided(to))).toEqual([undefined, undefined]);
});

test("that the peer is expected back is said at once, also if that was found by asking every node", () => {
  const { pending } = kit();
  const held: number[] = [];
  void pending.add(1, "text", { ...ATTEMPT, onDeferred: () => void held.push(1) }, "ann");
  pending.decide(1, [{ count: 0, isDeferred: true }], false);
  expect(held).toEqual([1]);
});

test("what this node delivers too makes nothing wait, although another node expects the peer back", async () => {
  const { pending, pass } = kit();
  const held: number[] = [];
  const counts = [true, false].map((isHere, n) =>
    pending.add(n, "text", { ...ATTEMPT, onDeferred: () => void held.push(n) }, "ann", isHere),
  );
  for (const n of [0, 1]) pending.delivered(n, { count: 0, isDeferred: true });
  expect(held).toEqual([1]);
  pass(DEFERRED_WAIT_MS);
  expect(await Promise.all(counts)).toEqual([DEFERRED, DEFERRED]);
});

/** Both nodes have delivered a message to ann. */
function reachedTwo(isHere = false) {
  const all = kit();
  const { pending } = all;
  void pending.add(1, "text", undefined, "ann", isHere);
  pending.delivered(1, { node: "n1", count: 1 });
  // The first receipt has decided it.
  pending.deliveredToo(1, { node: "n2", count: 1 });
  return all;
}

test("each node that has had connections of the peer must answer: one that has none any more is asked and is not awaited again", async () => {
  const { pending, asked, pass } = reachedTwo();
  const [both, one] = [pending.add(2, "text", undefined, "ann"), pending.add(3, "text", undefined, "ann")];
  for (const node of ["n2", "n1"]) pending.delivered(2, { node, count: 1 });
  expect(await both).toBe(2);
  pending.delivered(3, { node: "n1", count: 1 });
  expect(pending.isPending(3)).toBe(true);
  pass(ASK_AFTER_MS);
  expect([asked, pending.sent(3)?.awaited]).toEqual([[3], ["n2"]]);
  pending.answered(3, { node: "n2", count: 0 });
  expect(await one).toBe(1);
  const next = pending.add(4, "text", undefined, "ann");
  pending.delivered(4, { node: "n1", count: 1 });
  expect(await next).toBe(1);
});

test("one that does not answer makes the message uncertain, after the same time as any other", async () => {
  const { pending, pass } = reachedTwo();
  const count = pending.add(2, "text", undefined, "ann");
  pending.delivered(2, { node: "n1", count: 1 });
  pass(ASK_AFTER_MS);
  pass(RESPONSE_TIMEOUT_MS - ASK_AFTER_MS);
  expect(await count).toBe(UNAVAILABLE);
});

test("one that has delivered a later message lacks this one, or has confirmed it in vain", async () => {
  const { pending, pass } = reachedTwo();
  const count = pending.add(2, "text", undefined, "ann");
  pending.delivered(2, { node: "n1", count: 1 });
  pass(ASK_AFTER_MS);
  pending.answered(2, { node: "n2", count: 0, isLate: true });
  pass(DEFERRED_WAIT_MS);
  expect(await count).toBe(OVERTAKEN);
});

test("what this node delivers too waits for the other nodes of the peer, and for no others", async () => {
  const { pending } = reachedTwo(true);
  const counts = [2, 3].map((number) => pending.add(number, "text", undefined, "ann", true));
  pending.answered(2, { node: "n2", count: 0 });
  pending.answered(2, { node: "n1", count: 0 });
  pending.answered(3, { node: "n1", count: 0 });
  pending.answered(3, undefined);
  expect(await Promise.all(counts)).toEqual([0, UNAVAILABLE]);
});
