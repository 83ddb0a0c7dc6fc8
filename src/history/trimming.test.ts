import { expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import { HistoryTrimming } from "./trimming.ts";

test("trimming goes on while there is more, reports an outage once, and ends when it is stopped", async () => {
  const { promise: recovered, resolve } = Promise.withResolvers<void>();
  const failures: unknown[] = [];
  let slices = 0;
  let expiries = 0;
  const trimming = new HistoryTrimming({
    history: {
      trim: async () => {
        slices++;
        if (slices === 3 || slices === 4) throw new Error("away");
        return slices < 6;
      },
      created: {
        expire: async () => {
          expiries++;
          if (expiries === 3) resolve();
          return expiries < 3;
        },
      },
    },
    maxBytesOf: () => 0,
    failed: (error) => failures.push(error),
  });
  trimming.start();
  await recovered;
  await trimming.stop();
  expect(failures).toHaveLength(1);
  expect([slices, expiries]).toEqual([6, 3]);
});

test("stopping waits for the slice that runs", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: over, resolve: end } = Promise.withResolvers<boolean>();
  const trim = (): Promise<boolean> => {
    begin();
    return over;
  };
  const created = { expire: async () => false };
  const trimming = new HistoryTrimming({ history: { trim, created }, maxBytesOf: () => 0, failed: () => undefined });
  trimming.start();
  await begun;
  let isStopped = false;
  const stopping = trimming.stop().then(() => {
    isStopped = true;
  });
  await nextTurn();
  expect(isStopped).toBeFalse();
  end(true);
  await stopping;
});
