import { expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { systemClock } from "../../base/clock.ts";
import type { PinnedAnswer } from "../../net/pinned.ts";
import { keyCreated, World } from "../testing/world.ts";
import { WebhookLeader } from "./leader.ts";

const OK: PinnedAnswer = { status: 204, response: "" };

function leaderOf(world: World, holder: string, clock = systemClock): WebhookLeader {
  return new WebhookLeader({
    ...world.parts,
    store: world.store.webhooks,
    isShared: false,
    endpoints: () => [...world.rows.keys()],
    fanOut: world.fanOut(),
    works: [],
    clock,
    holder,
  });
}

const write = (world: World, id: string): Promise<void> => {
  const event = { app: "a" as never, subject: id, happened: world.clock.wallMs(), fact: keyCreated(id), webhook: null };
  return world.store.webhooks.addEvents([event]);
};

test("an event is sent soon after it was written", async () => {
  await using world = await World.open("w1");
  await world.store.webhooks.releaseLease(world.lease);
  const leader = leaderOf(world, "one");
  leader.start();
  await until("it leads", () => leader.isLeading);
  for (let at = 1; at <= 5; at++) {
    const began = performance.now();
    await write(world, `k${at}`);
    await until("it is sent", () => world.seen.length === at);
    expect(performance.now() - began).toBeLessThan(2000);
  }
  await leader.stop();
  expect(leader.isLeading).toBe(false);
  expect(await world.store.webhooks.takeLease("another")).toBeDefined();
});

test("one process leads, and another goes on when it stops", async () => {
  await using world = await World.open("w1");
  await world.store.webhooks.releaseLease(world.lease);
  const [one, two] = [leaderOf(world, "one"), leaderOf(world, "two")];
  one.start();
  await until("the first leads", () => one.isLeading);
  two.start();
  await two.look();
  expect(two.isLeading).toBe(false);
  // What is under way at the end is waited for shortly.
  const answer = Promise.withResolvers<PinnedAnswer>();
  world.receivers.set("w1", () => answer.promise);
  await write(world, "k1");
  await until("it is under way", () => world.seen.length === 1);
  const stopped = one.stop();
  answer.resolve(OK);
  await stopped;
  expect(await world.state("w1")).toMatchObject({ delivered: 1, backlog: 0 });
  await until("the other leads", () => two.isLeading);
  await write(world, "k2");
  await until("it is sent", () => world.seen.length === 2);
  await two.stop();
});

test("a process that lost the lease stops at once, and writes nothing", async () => {
  await using world = await World.open("w1");
  await world.store.webhooks.releaseLease(world.lease);
  const { webhooks } = world.store;
  let isTaken = false;
  const store = Object.assign(Object.create(webhooks), {
    takeLease: async (holder: string) => (isTaken ? undefined : webhooks.takeLease(holder)),
  });
  const parts = { ...world.parts, store, isShared: false, endpoints: () => ["w1"], fanOut: world.fanOut(), works: [] };
  const leader = new WebhookLeader({ ...parts, clock: systemClock, holder: "one" });
  leader.start();
  await until("it leads", () => leader.isLeading);
  const answer = Promise.withResolvers<PinnedAnswer>();
  world.receivers.set("w1", () => answer.promise);
  await write(world, "k1");
  await until("it is under way", () => world.seen.length === 1);
  // As another process would after LEASE_MS, which keeps it.
  isTaken = true;
  const other = await webhooks.takeLease("one");
  answer.resolve(OK);
  await until("it has noticed", () => !leader.isLeading);
  await leader.stop();
  expect(await world.attempts("w1")).toEqual([]);
  expect(await world.store.webhooks.waiting()).toMatchObject([{ webhook: "w1" }]);
  expect(other).toBeDefined();
});

test("a lease that could not be renewed sends nothing", async () => {
  await using world = await World.open("w1");
  await world.store.webhooks.releaseLease(world.lease);
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  const { webhooks } = world.store;
  let isAway = false;
  const store = Object.assign(Object.create(webhooks), {
    renewLease: (lease: never) => (isAway ? Promise.reject(new Error("away")) : webhooks.renewLease(lease)),
  });
  const parts = { ...world.parts, store, isShared: true, endpoints: () => ["w1"], fanOut: world.fanOut(), works: [] };
  const leader = new WebhookLeader({ ...parts, clock, holder: "one" });
  leader.start();
  await until("it leads", () => leader.isLeading);
  isAway = true;
  aheadMs = 11_000;
  await write(world, "k1");
  for (let at = 0; at < 5; at++) await leader.look();
  expect(world.seen).toEqual([]);
  expect(world.lines.filter((line) => line.includes("the store is not responding"))).toHaveLength(1);
  isAway = false;
  await until("it is sent when the store is back", () => world.seen.length === 1);
  await leader.stop();
});

test("what cannot be made of the history keeps nothing else from being sent, and is said once", async () => {
  await using world = await World.open("w1");
  await world.store.webhooks.releaseLease(world.lease);
  let turns = 0;
  const turn = (): Promise<number> => {
    turns++;
    return Promise.reject(new Error("the history is away"));
  };
  const work = { isAsked: true, turn };
  const parts = { ...world.parts, store: world.store.webhooks, isShared: false, endpoints: () => ["w1"] };
  const options = { ...parts, fanOut: world.fanOut(), works: [work], clock: systemClock, holder: "one" };
  const leader = new WebhookLeader(options);
  leader.start();
  await write(world, "k1");
  await until("it is sent", () => world.seen.length === 1);
  for (let at = 0; at < 5; at++) await leader.look();
  expect(turns).toBe(1);
  expect(world.lines).toEqual([expect.stringContaining("could not be created")]);
  await leader.stop();
});

test("without endpoints there is no lease", async () => {
  await using world = await World.open();
  await world.store.webhooks.releaseLease(world.lease);
  const leader = leaderOf(world, "one");
  leader.start();
  for (let at = 0; at < 3; at++) await leader.look();
  expect(leader.isLeading).toBe(false);
  await leader.stop();
});
