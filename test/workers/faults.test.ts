/** Workers and their supervisor are killed and stopped: what was acknowledged stays, and the service goes on or ends as a whole. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { fresh, type World } from "../conformance/raw/support/world.ts";
import { runParley } from "../support/parley.ts";
import { IS_FULL, SLACK_MS } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { childrenOf, isRunning, nodesOf, pidOf, startWorkers } from "./support/workers.ts";

setDefaultTimeout(120_000);

const MANY = 20;
/** Between two connects beside a reload: in full runs as many as there can be. */
const CONNECT_EVERY_MS = IS_FULL ? 0 : 10;
const RULES = { channelRules: [{ pattern: "kept-**", history: { messages: 10_000, seconds: 3600 } }] };

let world: World;
beforeAll(async () => {
  world = await startWorkers();
});
afterEach(() => world.hangUp());
afterAll(() => world.stop());

test("a worker that is killed under load is replaced, and no acknowledged message is lost", async () => {
  await world.admin.must("PATCH", `/apps/${world.app._id}`, RULES);
  const channel = fresh("kept");
  const watchers = await Promise.all(Array.from({ length: MANY }, () => world.subscriber(channel)));
  const victim = pidOf(world.server, 1);
  const acknowledged: number[] = [];
  let refused = 0;
  let isOver = false;
  const publish = async (from: number): Promise<void> => {
    for (let i = from; !isOver; i += 4) {
      const answer = await world.restPublish(channel, { data: i }).catch(() => undefined);
      if (answer?.status === 200) acknowledged.push(i);
      else refused++;
    }
  };
  const publishers = [0, 1, 2, 3].map(publish);
  await until("some messages are acknowledged", () => acknowledged.length > 50);
  process.kill(victim, "SIGKILL");
  const replaced = await world.server.logged(
    ({ msg, worker, workerPid }) => msg === "worker is ready" && worker === 1 && workerPid !== victim,
  );
  expect(replaced.workerPid).not.toBe(victim);
  const count = acknowledged.length;
  await until("messages are acknowledged again", () => acknowledged.length > count + 50);
  isOver = true;
  await Promise.all(publishers);
  // Only requests that were on their way to the worker fail.
  expect(refused).toBeLessThan(50);
  const survivors = watchers.filter(({ wire }) => !wire.isOver);
  expect(survivors.length).toBeGreaterThan(0);
  expect(survivors.length).toBeLessThan(MANY);
  for (const { wire } of survivors) {
    await until("all messages have arrived", () => {
      const seen = new Set(wire.frames.flatMap((frame) => (frame.type === "message" ? [frame.data] : [])));
      return acknowledged.every((one) => seen.has(one));
    });
  }
});

test("a worker that is stopped is killed and replaced, and the counts of the service do not fall", async () => {
  const guests = await Promise.all(Array.from({ length: MANY }, () => world.guest()));
  const before = (await readMetrics(world.server)).get("parley_connects_total");
  const victim = pidOf(world.server, 0);
  const skip = world.server.log.length;
  process.kill(victim, "SIGSTOP");
  await world.server.logged(({ msg }) => msg.startsWith("a worker was silent"), skip);
  await world.server.logged(({ msg, worker }) => msg === "worker is ready" && worker === 0, skip);
  expect(isRunning(victim)).toBe(false);
  await until("its connections are closed", () => guests.some(({ wire }) => wire.isOver));
  await Promise.all(Array.from({ length: MANY }, () => world.guest()));
  const metrics = await readMetrics(world.server);
  expect(metrics.get("parley_connects_total")).toBe(before + MANY);
  expect(metrics.get("parley_worker_restarts_total")).toBeGreaterThan(0);
  expect((await nodesOf(world)).length).toBe(2);
});

test("a worker that gets a signal of its own drains, and another one is ready meanwhile", async () => {
  const guests = await Promise.all(Array.from({ length: MANY }, () => world.guest()));
  const skip = world.server.log.length;
  process.kill(pidOf(world.server, 0), "SIGTERM");
  await world.server.logged(({ msg, worker }) => msg === "a worker is draining by itself" && worker === 0, skip);
  await world.server.logged(({ msg, worker }) => msg === "worker is ready" && worker === 2, skip);
  await until("its connections are closed", () => guests.some(({ wire }) => wire.isOver));
  expect(guests.every(({ wire }) => wire.isOver)).toBe(false);
  await until("two are left", () => childrenOf(world.server.pid).length === 2);
});

test("a reload replaces all workers, and no connect is refused meanwhile", async () => {
  const before = childrenOf(world.server.pid);
  const guests = await Promise.all(Array.from({ length: MANY }, () => world.guest()));
  let isOver = false;
  let connects = 0;
  // The kernel may have given a connection to a worker that stops listening in this instant: it is reset, and its client tries again.
  const resets: string[] = [];
  const isReset = (error: Error): boolean => error.message === "the connection ended before an answer: ";
  const connecting = (async () => {
    for (; !isOver; connects++) {
      const guest = await world.guest().catch((error: Error) => {
        if (!isReset(error)) throw error;
        resets.push(error.message);
      });
      guest?.wire.drop();
      await Bun.sleep(CONNECT_EVERY_MS);
    }
  })();
  const reloaded = await runParley(["reload", "--data", world.server.data, "--json"]);
  isOver = true;
  await connecting;
  expect([reloaded.code, JSON.parse(reloaded.output)]).toEqual([0, { workers: 2 }]);
  expect(connects).toBeGreaterThan(5);
  // One per worker that was replaced, at most.
  expect(resets.length).toBeLessThanOrEqual(before.length);
  for (const { wire } of guests) expect((await wire.closed()).code).toBe(1001);
  const after = childrenOf(world.server.pid);
  expect(after).toHaveLength(2);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  // SIGUSR2 does the same.
  const skip = world.server.log.length;
  world.server.signal("SIGUSR2");
  await world.server.logged(({ msg }) => msg === "all workers were replaced", skip);
  expect(childrenOf(world.server.pid).filter((pid) => after.includes(pid))).toEqual([]);
});

test("a supervisor that is killed takes its workers with it within 2 s, and its data stay whole", async () => {
  const data = tempFolder();
  const token = `admin_${crypto.randomUUID()}`;
  const doomed = await startWorkers({ data, env: { PARLEY_ADMIN_TOKEN: token } });
  const guests = await Promise.all(Array.from({ length: MANY }, () => doomed.guest()));
  const pids = childrenOf(doomed.server.pid);
  const { folder } = JSON.parse(readFileSync(join(data, "workers.json"), "utf8"));
  await doomed.server.kill("SIGKILL");
  const tookMs = await until("the workers have ended", () => pids.every((pid) => !isRunning(pid)));
  expect(tookMs).toBeLessThan(2000 + SLACK_MS);
  for (const { wire } of guests) await wire.gone();
  expect(existsSync(folder)).toBe(false);
  const next = await startWorkers({ data, env: { PARLEY_ADMIN_TOKEN: token } });
  const { data: apps } = await next.admin.must<{ data: { name: string }[] }>("GET", "/apps");
  expect(apps.map(({ name }) => name)).toContain(doomed.app.name);
  await next.stop();
  removeFolder(data);
});
