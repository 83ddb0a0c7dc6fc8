import { expect, test } from "bun:test";
import { readyResponse } from "../http/operations.ts";
import { type ReadinessParts, readyChecks } from "./readiness.ts";

function setup(parts: Partial<ReadinessParts> = {}) {
  const counted = { reads: 0, trials: 0, failures: 0 };
  const state = { nowMs: 0, isReachable: true, isWritable: true, isDraining: false, usable: 1, sealed: 0 };
  const checks = readyChecks({
    store: {
      revisions: async () => {
        counted.reads++;
        if (!state.isReachable) throw new Error("unreachable");
        return { keys: 1, blocks: 1 };
      },
      tryWrite: async () => {
        counted.trials++;
        if (!state.isWritable) throw new Error("database or disk is full");
      },
    },
    keyring: {
      get secretKeys() {
        return { usable: state.usable, sealed: state.sealed };
      },
    },
    isFollowing: () => true,
    isDraining: () => state.isDraining,
    recordings: async () => "ok",
    isHistoryUp: () => true,
    monotonicMs: () => state.nowMs,
    failed: () => counted.failures++,
    ...parts,
  });
  const ask = async () => {
    const response = await readyResponse(checks);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { counted, state, ask };
}

const GOOD = { store: "ok", writes: "ok", keys: "ok", recordings: "ok", history: "ok", shutdown: "ok" };

test("a node whose checks all pass is ready", async () => {
  expect(await setup().ask()).toEqual({ status: 200, body: { ready: true, degraded: [], checks: GOOD } });
});

test("a node whose store of histories does not answer is ready, and says so", async () => {
  const history = "the store of histories does not answer: channels with history take no messages";
  expect(await setup({ isHistoryUp: () => false }).ask()).toEqual({
    status: 200,
    body: { ready: true, degraded: ["history"], checks: { ...GOOD, history } },
  });
});

test("a node whose store cannot be written to is not ready, says so, and is ready again when it can", async () => {
  const { counted, state, ask } = setup();
  state.isWritable = false;
  const writes = "the store cannot be written to; is the disk full?";
  expect(await ask()).toEqual({ status: 503, body: { ready: false, degraded: [], checks: { ...GOOD, writes } } });
  // The cause goes to the log only.
  expect(counted.failures).toBe(1);
  state.isWritable = true;
  state.nowMs += 1000;
  expect((await ask()).status).toBe(200);
});

test("a node whose store does not answer is not ready, and makes no trial write", async () => {
  const { counted, state, ask } = setup();
  state.isReachable = false;
  const store = "the store does not answer";
  expect(await ask()).toEqual({ status: 503, body: { ready: false, degraded: [], checks: { ...GOOD, store } } });
  expect(counted.trials).toBe(0);
});

test("some sealed keys: degraded; only sealed keys: not ready", async () => {
  const { state, ask } = setup();
  Object.assign(state, { usable: 3, sealed: 2 });
  const keys = "the master key does not open 2 of 5 secret keys: they answer 503";
  expect(await ask()).toEqual({ status: 200, body: { ready: true, degraded: ["keys"], checks: { ...GOOD, keys } } });
  Object.assign(state, { nowMs: 10_000, usable: 0 });
  expect(await ask()).toMatchObject({ status: 503, body: { ready: false, degraded: [] } });
});

test.each(["full", "missing"] as const)("a node whose storage of recordings is %s is degraded", async (state) => {
  const { status, body } = await setup({ recordings: async () => state }).ask();
  expect([status, body.ready, body.degraded]).toEqual([200, true, ["recordings"]]);
});

test("a shutdown is shown immediately, even if the other results are cached", async () => {
  const { state, ask } = setup();
  expect((await ask()).status).toBe(200);
  state.isDraining = true;
  expect(await ask()).toMatchObject({ status: 503, body: { checks: { shutdown: "this node is shutting down" } } });
});

test("however many requests come, the store is read at most twice a second and written to every five seconds", async () => {
  const { counted, state, ask } = setup();
  for (let step = 0; step < 100; step++) {
    await Promise.all(Array.from({ length: 20 }, ask));
    state.nowMs += 100;
  }
  expect(counted.reads).toBeLessThanOrEqual(20);
  expect(counted.trials).toBeLessThanOrEqual(2);
});
