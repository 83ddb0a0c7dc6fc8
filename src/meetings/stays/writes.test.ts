import { expect, test } from "bun:test";
import { StayWrites } from "./writes.ts";

test("a write that fails is repeated until it succeeds", async () => {
  const failures: unknown[] = [];
  const writes = new StayWrites((error) => failures.push(error));
  let attempts = 0;
  writes.put("a", async () => {
    if (++attempts < 3) throw new Error(`attempt ${attempts}`);
  });
  await writes.idle();
  expect([attempts, writes.size]).toEqual([1, 1]);
  for (let i = 0; i < 3; i++) {
    writes.retry();
    await writes.idle();
  }
  expect([attempts, writes.size, failures.length]).toEqual([3, 0, 2]);
});

test("a stay that comes back waits for what is being written, and gives up what has failed", async () => {
  const writes = new StayWrites(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  writes.put("a", () => promise.then(() => void order.push("written")));
  const back = writes.settled("a").then(() => order.push("back"));
  resolve();
  await back;
  expect(order).toEqual(["written", "back"]);

  let attempts = 0;
  writes.put("b", () => Promise.reject(new Error(`attempt ${++attempts}`)));
  await writes.settled("b");
  writes.retry();
  expect([attempts, writes.size]).toEqual([1, 0]);
});

test("two writes about one stay run one after the other", async () => {
  const writes = new StayWrites(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  writes.put("a", () => promise.then(() => void order.push("first")));
  writes.put("a", async () => void order.push("second"));
  await Promise.resolve();
  resolve();
  await writes.idle();
  expect(order).toEqual(["first", "second"]);
});
