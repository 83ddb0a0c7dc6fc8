/** Changes of workers: what happens when the work fails, hangs, or disappears with its process. */
import { afterEach, expect, test } from "bun:test";
import { until } from "../../test/support/wait.ts";
import { StoreUnreachable } from "../store/contract/store.ts";
import { newFolders } from "../store/testing/places.ts";
import { appRow } from "../store/testing/rows.ts";
import { Served, type ServedOptions } from "./testing/served.ts";

const newFolder = newFolders();
let served: Served;
const serve = async (options?: ServedOptions): Promise<Served> => {
  served = await Served.open(newFolder(), options);
  return served;
};
afterEach(() => served.close());

test("a worker that is killed in the middle of a change leaves nothing, and the next change proceeds", async () => {
  const { path, store: direct } = await serve();
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `import { connectStore } from "${import.meta.dir}/client.ts";
       const { store } = await connectStore({ path: ${JSON.stringify(path)} });
       await store.change(async (change) => {
         await change.putMeta("half", "done");
         console.log("in the middle");
         await new Promise(() => setInterval(() => undefined, 1000));
       });`,
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toContain("in the middle");
  const { store } = await served.worker();
  // It waits for the change of the other worker.
  const next = store.change(async (change) => {
    expect(await change.meta("half")).toBeUndefined();
    await change.putMeta("next", "yes");
  });
  child.kill("SIGKILL");
  await next;
  expect([await direct.meta("half"), await direct.meta("next")]).toEqual([undefined, "yes"]);
  expect((await direct.revisions()).keys).toBe(1);
});

test("work that hangs is undone after a time limit and refused with a sentence, and the next change proceeds", async () => {
  await serve({ changeMaxMs: 300 });
  const [one, other] = [await served.worker(), await served.worker()];
  let late: Promise<void> | undefined;
  const refused = Promise.withResolvers<void>();
  const hanging = one.store.change(async (change) => {
    await change.putMeta("hanging", "yes");
    await refused.promise;
    late = change.putMeta("late", "yes");
    return late;
  });
  const next = other.store.change(async (change) => change.putMeta("next", "yes"));
  const error = await hanging.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreUnreachable);
  expect((error as Error).message).toBe("the change took longer than 0.3 seconds, and was undone");
  await next;
  // What the work does after that has no effect.
  refused.resolve();
  await until("the work goes on", () => late !== undefined);
  await expect(late).rejects.toThrow("the change is over");
  expect([await one.store.meta("hanging"), await one.store.meta("late"), await one.store.meta("next")]).toEqual([
    undefined,
    undefined,
    "yes",
  ]);
});

test("an error of the work reaches the caller as it was thrown, and nothing remains", async () => {
  await serve();
  const { store } = await served.worker();
  const thrown = new Error("no");
  const failing = store.change(async (change) => {
    await change.putApp(appRow("x"));
    throw thrown;
  });
  expect(await failing.catch((reason: unknown) => reason)).toBe(thrown);
  expect(await store.app("x")).toBeUndefined();
});

test("calls that the work does not wait for belong to the change", async () => {
  await serve();
  const { store } = await served.worker();
  await store.change(async (change) => {
    for (let i = 0; i < 10; i++) void change.putMeta(`m${i}`, "yes");
  });
  expect((await store.snapshot()).meta.size).toBe(10);
});

test("changes of several workers run one after the other, and each raises the revision", async () => {
  await serve();
  const workers = [await served.worker(), await served.worker(), await served.worker()];
  const revisions: number[] = [];
  await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      workers[i % 3]?.store.change(
        async (change) => {
          const count = Number((await change.meta("count")) ?? 0);
          await change.putMeta("count", String(count + 1));
        },
        (_result, revision) => revisions.push(revision),
      ),
    ),
  );
  expect(await workers[0]?.store.meta("count")).toBe("60");
  expect(revisions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
});

test("a change that is open when the server stops is undone", async () => {
  await serve();
  const { store } = await served.worker();
  const changing = store.change(async (change) => {
    await change.putMeta("half", "done");
    await served.stopServing();
    await change.putMeta("other half", "done");
  });
  await expect(changing).rejects.toBeInstanceOf(StoreUnreachable);
  expect(await served.store.meta("half")).toBeUndefined();
});
