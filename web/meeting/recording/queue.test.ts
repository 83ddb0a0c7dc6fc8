import { expect, test } from "bun:test";
import { Budget, QueueFull, RunQueue } from "./queue.ts";
import { FakeDisk } from "./testing/fake-disk.ts";

const bytes = (length: number, value = 1): Uint8Array => new Uint8Array(length).fill(value);
const MB = 1024 * 1024;

test("bytes come out as they went in, and files are removed when they are uploaded", async () => {
  const disk = new FakeDisk();
  const queue = RunQueue.fresh(await disk.folder("r"), new Budget());
  for (const value of [1, 2, 3]) await queue.append(bytes(2 * MB, value));
  expect([queue.base, queue.end, disk.usedBytes]).toEqual([0, 6 * MB, 6 * MB]);
  expect(queue.read(2 * MB - 1, 2)).toEqual(new Uint8Array([1, 2]));
  expect(queue.read(6 * MB, 10).length).toBe(0);
  // The first file holds 4 MB.
  expect(queue.read(0, 10 * MB).length).toBe(4 * MB);
  await queue.release(5 * MB);
  expect([queue.base, disk.usedBytes]).toEqual([4 * MB, 2 * MB]);
  await queue.close();
  expect(disk.usedBytes).toBe(0);
});

test("a full disk: the rest waits in memory, as much as fits there", async () => {
  const disk = new FakeDisk();
  disk.quotaBytes = 2500;
  const queue = RunQueue.fresh(await disk.folder("r"), new Budget({ disk: MB, memory: 1500 }));
  await queue.append(bytes(1000, 1));
  await queue.append(bytes(1000, 2));
  expect(queue.isInMemory).toBe(false);
  await queue.append(bytes(1000, 3));
  expect([queue.isInMemory, queue.end, disk.usedBytes]).toEqual([true, 3000, 2000]);
  expect(queue.append(bytes(1000, 4))).rejects.toBeInstanceOf(QueueFull);
  await queue.append(bytes(500, 5));
  expect([queue.end, queue.read(2999, 1)[0], queue.read(3000, 1)[0]]).toEqual([3500, 3, 5]);
});

test("without a disk they wait in memory; the budget of all runs is one", async () => {
  const budget = new Budget({ disk: 0, memory: 1000 });
  const [one, two] = [RunQueue.fresh(undefined, budget), RunQueue.fresh(undefined, budget)];
  await one.append(bytes(800));
  expect(two.append(bytes(300))).rejects.toBeInstanceOf(QueueFull);
  await one.close();
  await two.append(bytes(300));
});

test("what an earlier page has left is found, up to the first gap", async () => {
  const disk = new FakeDisk();
  const folder = await disk.folder("r");
  const queue = RunQueue.fresh(folder, new Budget());
  for (const value of [1, 2, 3]) await queue.append(bytes(4 * MB, value));
  await queue.release(4 * MB);
  const whole = await RunQueue.found(folder, new Budget());
  expect([whole.base, whole.end, whole.read(4 * MB, 1)[0]]).toEqual([4 * MB, 12 * MB, 2]);
  await folder.remove(`bytes-${4 * MB}`);
  (await folder.open("bytes-0")).write(bytes(10), 0);
  const gap = await RunQueue.found(folder, new Budget());
  expect([gap.base, gap.end]).toEqual([0, 10]);
  expect(await folder.names()).toEqual(["bytes-0"]);
});
