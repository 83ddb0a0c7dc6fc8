import { expect, test } from "bun:test";
import { MeetingRetention } from "./retention.ts";

const EVERY_MS = 5;

/** A store with old meetings; `swept` resolves when a sweep has found nothing more. */
function world(old: number, forget?: () => number) {
  const { promise: swept, resolve } = Promise.withResolvers<void>();
  const asked: [nowMs: number, limit: number][] = [];
  const failures: unknown[] = [];
  const retention = new MeetingRetention(
    {
      meetings: {
        forgetOld: async (nowMs, limit) => {
          asked.push([nowMs, limit]);
          const count = forget ? forget() : Math.min(old, limit);
          old -= count;
          if (count === 0) resolve();
          return count;
        },
      },
      nowMs: () => 1234,
      failed: (error) => failures.push(error),
    },
    EVERY_MS,
  );
  return { retention, swept, asked, failures, left: () => old };
}

test("old meetings are forgotten in slices, until there are no more", async () => {
  const { retention, swept, asked, left } = world(120);
  retention.start();
  await swept;
  await retention.stop();
  expect(left()).toBe(0);
  expect(asked.slice(0, 4)).toEqual(Array(4).fill([1234, 50]));
});

test("a sweep that fails is reported, and the next one comes", async () => {
  let calls = 0;
  const { retention, swept, failures } = world(0, () => {
    if (++calls === 1) throw new Error("no store");
    return 0;
  });
  retention.start();
  await swept;
  await retention.stop();
  expect(failures).toEqual([new Error("no store")]);
});

test("stopping does not wait until everything is forgotten", async () => {
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const { retention, asked } = world(0, () => {
    resolve();
    return 1;
  });
  retention.start();
  await began;
  await retention.stop();
  expect(asked).toHaveLength(1);
});
