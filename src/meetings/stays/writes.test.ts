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

test("a stay that comes back waits for what is being written, and gives up what has failed once it is back", async () => {
  const writes = new StayWrites(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  writes.put("a", () => promise.then(() => void order.push("written")));
  const back = writes.arrive("a", async () => order.push("back"));
  resolve();
  await back;
  expect(order).toEqual(["written", "back"]);

  let attempts = 0;
  writes.put("b", () => Promise.reject(new Error(`attempt ${++attempts}`)));
  await writes.arrive("b", async () => writes.retry());
  writes.retry();
  expect([attempts, writes.size]).toEqual([1, 0]);
});

test("what has failed is repeated if the stay could not come back", async () => {
  const writes = new StayWrites(() => undefined);
  let isAway = true;
  const written: string[] = [];
  writes.put("a", async () => {
    if (isAway) throw new Error("away");
    written.push("a");
  });
  await expect(writes.arrive("a", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  isAway = false;
  writes.retry();
  await writes.idle();
  expect([written, writes.size]).toEqual([["a"], 0]);
});

test("a stay that was put out does not come back before that is written", async () => {
  const writes = new StayWrites(() => undefined);
  let isAway = true;
  const order: string[] = [];
  const run = async (): Promise<void> => {
    if (isAway) throw new Error("away");
    order.push("written");
  };
  writes.put("a", run, true);
  await expect(writes.arrive("a", async () => order.push("back"))).rejects.toThrow("away");
  isAway = false;
  await writes.arrive("a", async () => order.push("back"));
  expect([order, writes.size]).toEqual([["written", "back"], 0]);
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

test("that a stay was put out is written, whatever happens to its connections after that", async () => {
  const writes = new StayWrites(() => undefined);
  let isAway = true;
  const written: string[] = [];
  const write = (what: string) => async (): Promise<void> => {
    if (isAway) throw new Error("away");
    written.push(what);
  };
  writes.put("a", write("lost"));
  writes.put("a", write("time"), true);
  for (const [what, isFinal] of [["lost"], ["left"], ["ended", true]] as const) writes.put("a", write(what), isFinal);
  await writes.idle();
  isAway = false;
  writes.retry();
  await writes.idle();
  expect([written, writes.size]).toEqual([["time"], 0]);
});

test("a stay that is put out while it waits to come back does not come back before that is written", async () => {
  const writes = new StayWrites(() => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  writes.put("a", () => promise);
  const back = writes.arrive("a", async () => order.push("back"));
  writes.put("a", () => Promise.reject(new Error("away")), true);
  resolve();
  await expect(back).rejects.toThrow("away");
  expect([order, writes.size]).toEqual([[], 1]);
});
