import { expect, test } from "bun:test";
import { type DirectAttempt, HELD, UNAVAILABLE } from "../../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import { HELD_WAIT_MS, PendingDirectMessages } from "./pending-messages.ts";

const ATTEMPT: DirectAttempt = {
  app: "app",
  to: "ann",
  onHeld: () => undefined,
  number: 0,
  firstMs: 0,
  delivered: 0,
  isNext: false,
  isLast: false,
};

function kit() {
  let now = 0;
  const pending = new PendingDirectMessages(() => now);
  const forwarded: number[] = [];
  const sweep = (): void =>
    pending.sweep((number) => {
      forwarded.push(number);
      pending.extend(number);
    });
  const pass = (ms: number): void => {
    now += ms;
    sweep();
  };
  return { pending, forwarded, pass };
}

test("a receipt with connections decides at once; without any receipt it is not known what happened", async () => {
  const { pending, forwarded, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  pending.delivered(1, { count: 2 });
  pass(RESPONSE_TIMEOUT_MS);
  expect(await Promise.all(counts)).toEqual([2, UNAVAILABLE]);
  expect(forwarded).toEqual([]);
});

test("one node had no connection: every node is asked before its sender gets 0, since another may have delivered it", async () => {
  const { pending, forwarded, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  for (const number of [1, 2]) pending.delivered(number, { count: 0 });
  pass(RESPONSE_TIMEOUT_MS);
  expect(forwarded).toEqual([1, 2]);
  pending.decide(1, { count: 0 }, false);
  pass(RESPONSE_TIMEOUT_MS);
  expect(await Promise.all(counts)).toEqual([0, UNAVAILABLE]);
  expect(forwarded).toEqual([1, 2]);
});

test("a peer that is expected back is reported a moment later, so that a receipt of another node counts first", async () => {
  const { pending, pass } = kit();
  const counts = [pending.add(1, "text"), pending.add(2, "text")];
  for (const number of [1, 2]) pending.delivered(number, { count: 0, isHeld: true });
  pending.delivered(2, { count: 1 });
  pass(HELD_WAIT_MS);
  expect(await Promise.all(counts)).toEqual([HELD, 1]);
});

test("the oldest message to a peer that may be sent again, until it is decided", () => {
  const { pending, pass } = kit();
  const attempt = (isLast = false): DirectAttempt => ({ ...ATTEMPT, isLast });
  void pending.add(1, undefined, attempt(), "ann");
  void pending.add(2, "text", undefined, "ann");
  void pending.add(3, "text", attempt(true), "ann");
  expect(pending.oldestUndecided("ann")).toBeUndefined();
  for (const number of [4, 5, 6, 7]) void pending.add(number, "text", attempt(), number === 7 ? "ben" : "ann");
  expect(["ann", "ben", "cat"].map((to) => pending.oldestUndecided(to))).toEqual([4, 7, undefined]);
  pending.delivered(5, { count: 1 });
  expect(pending.oldestUndecided("ann")).toBe(4);
  pending.delivered(4, { count: 1 });
  expect(pending.oldestUndecided("ann")).toBe(6);
  pass(RESPONSE_TIMEOUT_MS);
  expect(["ann", "ben"].map((to) => pending.oldestUndecided(to))).toEqual([undefined, undefined]);
});

test("that the peer is expected back is said at once, also if that was found by asking every node", () => {
  const { pending } = kit();
  const held: number[] = [];
  void pending.add(1, "text", { ...ATTEMPT, onHeld: () => void held.push(1) }, "ann");
  pending.decide(1, { count: 0, isHeld: true }, false);
  expect(held).toEqual([1]);
});

test("what this node delivers too makes nothing wait, although another node expects the peer back", async () => {
  const { pending, pass } = kit();
  const held: number[] = [];
  const counts = [undefined, "text"].map((text, n) =>
    pending.add(n, text, { ...ATTEMPT, onHeld: () => void held.push(n) }, "ann"),
  );
  for (const n of [0, 1]) pending.delivered(n, { count: 0, isHeld: true });
  expect(held).toEqual([1]);
  pass(HELD_WAIT_MS);
  expect(await Promise.all(counts)).toEqual([HELD, HELD]);
});
