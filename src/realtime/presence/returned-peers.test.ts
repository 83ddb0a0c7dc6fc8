import { expect, test } from "bun:test";
import type { Clock } from "../../base/clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { RETURNED_PEERS_MAX } from "./limits.ts";
import { ReturnedPeers } from "./returned-peers.ts";

test("an application of which very many peers return does not make those of others forgotten, here and elsewhere", () => {
  const timers: (() => void)[] = [];
  const notified: unknown[] = [];
  const clock = { steadyMs: () => 1000, after: (_ms: number, callback: () => void) => void timers.push(callback) };
  const returned = new ReturnedPeers({
    clock: clock as unknown as Clock,
    nodeRequests: {
      gather: async (_name: string, payload: unknown) => {
        notified.push(...(payload as unknown[]));
        return { answers: [], isComplete: true };
      },
      onRequest: () => undefined,
      othersKnown: () => Promise.resolve(),
    },
    rememberedMs: 60_000,
    returnedElsewhere: () => undefined,
    failed: () => undefined,
  });
  returned.add(anAppId("first"), "eve", true);
  for (let peer = 0; peer < RETURNED_PEERS_MAX + 10; peer++) returned.add(anAppId("large"), `p${peer}`, true);
  returned.add(anAppId("last"), "eve", true);
  expect(returned.size).toBe(RETURNED_PEERS_MAX);
  expect([returned.has(anAppId("first"), "eve"), returned.has(anAppId("last"), "eve")]).toEqual([true, true]);
  expect([returned.has(anAppId("large"), "p0"), returned.has(anAppId("large"), "p100")]).toEqual([false, true]);
  for (const run of timers) run();
  expect(notified).toHaveLength(RETURNED_PEERS_MAX);
  expect([notified[0], notified.at(-1)]).toEqual([
    ["first", "eve"],
    ["last", "eve"],
  ]);
});
