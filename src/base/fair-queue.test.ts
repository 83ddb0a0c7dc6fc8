import { expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import { FairQueue, type Step, TooManyWaiting } from "./fair-queue.ts";

/** Work of several steps, each of which ends when the test says so. */
class World {
  readonly begun: string[] = [];
  private readonly ends: (() => void)[] = [];

  /** Returns how many steps had begun when it ended. */
  work(name: string, steps: number): (step: Step) => Promise<number> {
    return async (step) => {
      for (let i = 1; i <= steps; i++)
        await step(async () => {
          this.begun.push(`${name}${i}`);
          await new Promise<void>((resolve) => this.ends.push(resolve));
        });
      return this.begun.length;
    };
  }

  /** Ends the oldest step that is under way, until there is none. */
  async endAll(): Promise<void> {
    for (await nextTurn(); this.ends.length > 0; await nextTurn()) this.ends.shift()?.();
  }
}

test("work of one owner waits for the one before it, and steps of several owners alternate", async () => {
  const world = new World();
  const queue = new FairQueue({ stepsAtOnce: 1, waitingMax: 9 });
  const all = [
    queue.run("x", "a", world.work("a", 3)),
    queue.run("x", "b", world.work("b", 2)),
    queue.run("y", "c", world.work("c", 2)),
    queue.run("z", "d", world.work("d", 1)),
  ];
  await nextTurn();
  expect(world.begun).toEqual(["a1"]);
  await world.endAll();
  await Promise.all(all);
  expect(world.begun).toEqual(["a1", "c1", "d1", "a2", "c2", "a3", "b1", "b2"]);
});

test("as many steps run at the same time as are allowed", async () => {
  const world = new World();
  const queue = new FairQueue({ stepsAtOnce: 2, waitingMax: 9 });
  const all = ["a", "b", "c"].map((name) => queue.run(name, name, world.work(name, 1)));
  await nextTurn();
  expect(world.begun).toEqual(["a1", "b1"]);
  await world.endAll();
  await Promise.all(all);
  expect(world.begun).toEqual(["a1", "b1", "c1"]);
});

test("the event loop runs other work between two steps, of the same owner and of different ones", async () => {
  const queue = new FairQueue({ stepsAtOnce: 1, waitingMax: 9 });
  let loops = 0;
  let isOver = false;
  const count = (): void => {
    loops++;
    if (!isOver) setImmediate(count);
  };
  count();
  const steps = async (step: Step): Promise<void> => {
    for (let i = 0; i < 10; i++) await step(async () => undefined);
  };
  await Promise.all([queue.run("x", "a", steps), queue.run("y", "b", steps), queue.run("y", "c", steps)]);
  isOver = true;
  expect(loops).toBeGreaterThanOrEqual(29);
});

test("the same work that waits is done once, but work that has begun is not joined", async () => {
  const world = new World();
  const queue = new FairQueue({ stepsAtOnce: 1, waitingMax: 1 });
  const first = queue.run("x", "same", world.work("first", 1));
  await nextTurn();
  const second = queue.run("x", "same", world.work("second", 1));
  const third = queue.run("x", "same", world.work("third", 1));
  await world.endAll();
  expect(await Promise.all([first, second, third])).toEqual([1, 2, 2]);
  expect(world.begun).toEqual(["first1", "second1"]);
});

test("too much work of one owner is refused, whatever others have; what is patient waits", async () => {
  const world = new World();
  const queue = new FairQueue({ stepsAtOnce: 1, waitingMax: 2 });
  const run = (owner: string, key: string, isPatient = false): Promise<number> =>
    queue.run(owner, key, world.work(key, 1), { isPatient });
  const all = [run("x", "a"), run("x", "b"), run("x", "c")];
  await expect(run("x", "d")).rejects.toBeInstanceOf(TooManyWaiting);
  all.push(run("y", "e"), run("x", "f", true));
  await world.endAll();
  await Promise.all(all);
  expect(world.begun).toEqual(["a1", "e1", "b1", "c1", "f1"]);
  const later = run("x", "g");
  await world.endAll();
  expect(await later).toBe(6);
});

test("work that fails is followed by the next, and a step that fails gives its turn away", async () => {
  const queue = new FairQueue({ stepsAtOnce: 1, waitingMax: 2 });
  const failing = queue.run("x", "a", (step) => step(() => Promise.reject(new Error("broken"))));
  const next = queue.run("x", "b", (step) => step(async () => 7));
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe(7);
});
