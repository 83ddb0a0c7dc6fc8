import { expect, test } from "bun:test";
import { HELD, UNAVAILABLE } from "../engine.ts";
import { HELD_WAIT_MS, PendingDirectMessages } from "./pending-direct-messages.ts";
import { RESPONSE_TIMEOUT_MS } from "./pending-requests.ts";

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
