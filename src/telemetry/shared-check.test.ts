import { expect, test } from "bun:test";
import { sharedCheck } from "./shared-check.ts";

function setup(late?: { afterMs: number; result: string }) {
  const state = { nowMs: 0, calls: 0 };
  const waiting: ((result: string) => void)[] = [];
  const ask = sharedCheck<string>({
    check: () => {
      state.calls++;
      return new Promise((resolve) => waiting.push(resolve));
    },
    validMs: () => 100,
    isGood: (result) => result === "good",
    monotonicMs: () => state.nowMs,
    ...(late && { late }),
  });
  return { state, ask, answer: (result: string) => waiting.shift()?.(result) };
}

test("callers share a check that runs, and its result while it is valid", async () => {
  const { state, ask, answer } = setup();
  const asked = Promise.all([ask(), ask(), ask()]);
  answer("good");
  expect(await asked).toEqual(["good", "good", "good"]);
  state.nowMs = 99;
  expect([await ask(), state.calls]).toEqual(["good", 1]);
  state.nowMs = 100;
  const next = ask();
  answer("bad");
  expect([await next, state.calls]).toEqual(["bad", 2]);
});

test("a check that hangs is answered for, and no second one starts beside it", async () => {
  const { state, ask, answer } = setup({ afterMs: 20, result: "late" });
  expect(await ask()).toBe("late");
  for (let i = 0; i < 3; i++) expect(await ask()).toBe("late");
  expect(state.calls).toBe(1);
  const asked = ask();
  answer("good");
  expect([await asked, await ask(), state.calls]).toEqual(["good", "good", 1]);
});

test("what is known to be bad is answered soon, although the next check hangs; recovery is shown at once", async () => {
  const { state, ask, answer } = setup();
  const first = ask();
  answer("bad");
  expect(await first).toBe("bad");
  state.nowMs = 100;
  expect([await ask(), state.calls]).toEqual(["bad", 2]);
  const recovered = ask();
  answer("good");
  expect(await recovered).toBe("good");
});
