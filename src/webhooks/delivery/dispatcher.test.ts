import { expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { RETRY_AFTER_MAX_MS } from "../../net/limits.ts";
import type { PinnedAnswer } from "../../net/pinned.ts";
import { WEBHOOK_DUE_AHEAD_MAX_MS } from "../../store/contract/webhooks.ts";
import { RETRY_DELAYS_MS, RETRY_JITTER } from "../limits.ts";
import { keyCreated, OTHER_APP, occupied, settled, World } from "../testing/world.ts";

const HOUR_MS = 3_600_000;
const FAILED: PinnedAnswer = { status: 500, response: "no" };
const OK: PinnedAnswer = { status: 204, response: "" };

test("three days of retries", async () => {
  await using world = await World.open("w1");
  world.receivers.set("w1", () => FAILED);
  await world.happen(keyCreated("k1"));
  const dispatcher = world.dispatcher();
  await settled(dispatcher);
  for (const delayMs of RETRY_DELAYS_MS) {
    world.clock.advance(delayMs - 1);
    const before = world.seen.length;
    await settled(dispatcher);
    expect(world.seen.length).toBe(before);
    world.clock.advance(1);
    await settled(dispatcher);
    expect(world.seen.length).toBe(before + 1);
  }
  world.clock.advance(30 * 24 * HOUR_MS);
  await settled(dispatcher);
  expect(world.seen.length).toBe(1 + RETRY_DELAYS_MS.length);
  expect(new Set(world.seen.map(({ request }) => request.headers["webhook-id"])).size).toBe(1);
  expect(new Set(world.seen.map(({ request }) => request.body)).size).toBe(1);
  expect(await world.state("w1")).toMatchObject({ failed: 1, delivered: 0, backlog: 0, lastStatus: 500 });
  expect((await world.attempts("w1")).map(({ attempt }) => attempt)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

test("events of a subject keep their order for three attempts, then the subject goes on", async () => {
  await using world = await World.open("w1");
  world.receivers.set("w1", ({ seq }) => (seq === 1 ? FAILED : OK));
  await world.happen(occupied("a"), occupied("b"), occupied("a"));
  const dispatcher = world.dispatcher();
  await settled(dispatcher);
  expect(world.seqsOf("w1").toSorted()).toEqual([1, 2]);
  world.clock.advance(5000);
  await settled(dispatcher);
  expect(world.seqsOf("w1").filter((seq) => seq === 3)).toEqual([]);
  world.clock.advance(300_000);
  await settled(dispatcher);
  expect(world.seqsOf("w1").filter((seq) => seq === 1)).toHaveLength(3);
  expect(world.seqsOf("w1").at(-1)).toBe(3);
  // The one that failed is retried beside the others.
  world.clock.advance(1_800_000);
  await settled(dispatcher);
  expect(world.seqsOf("w1").at(-1)).toBe(1);
});

test("a second event of a subject is sent after the first has succeeded", async () => {
  await using world = await World.open("w1");
  const first = Promise.withResolvers<PinnedAnswer>();
  world.receivers.set("w1", ({ seq }) => (seq === 1 ? first.promise : OK));
  await world.happen(occupied("a"), occupied("a"));
  const dispatcher = world.dispatcher();
  await dispatcher.look();
  await dispatcher.look();
  expect(world.seqsOf("w1")).toEqual([1]);
  first.resolve(OK);
  await until("the second", () => world.seqsOf("w1").length === 2);
});

test("Retry-After, 429, 502 and 504 slow an endpoint down, and no other", async () => {
  await using world = await World.open("w1", "w2", "w3");
  world.receivers.set("w1", () => ({ status: 503, response: "", retryAfterMs: 60_000 }));
  world.receivers.set("w2", () => ({ status: 429, response: "" }));
  await world.happen(occupied("a"));
  const dispatcher = world.dispatcher();
  await settled(dispatcher);
  await world.happen(occupied("b"));
  await settled(dispatcher);
  expect([world.seqsOf("w1").length, world.seqsOf("w2").length, world.seqsOf("w3").length]).toEqual([1, 1, 2]);
  world.clock.advance(59_000);
  await settled(dispatcher);
  expect(world.seqsOf("w1")).toHaveLength(1);
  expect(world.seqsOf("w2").length).toBeGreaterThan(1);
  world.clock.advance(1000);
  world.receivers.set("w1", () => OK);
  await settled(dispatcher);
  expect(world.seqsOf("w1").toSorted()).toEqual([1, 1, 2]);
  expect((await world.state("w1")).slowUntil).toBeNumber();
});

test("the next holder of the lease leaves an endpoint alone that has asked for it", async () => {
  await using world = await World.open("w1");
  world.receivers.set("w1", () => ({ status: 429, response: "", retryAfterMs: 60_000 }));
  await world.happen(occupied("a"));
  await settled(world.dispatcher());
  await world.happen(occupied("b"));
  const next = world.dispatcher();
  await settled(next);
  expect(world.seen).toHaveLength(1);
  world.clock.advance(60_000);
  await settled(next);
  expect(world.seen.length).toBeGreaterThan(1);
});

test("a redirect is a failure that says what to do", async () => {
  await using world = await World.open("w1");
  world.receivers.set("w1", () => ({ status: 308, response: "" }));
  await world.happen(occupied("a"));
  await settled(world.dispatcher());
  expect(await world.attempts("w1")).toMatchObject([
    { isSuccess: false, status: 308, error: expect.stringContaining("redirects") },
  ]);
});

test("410 disables an endpoint", async () => {
  await using world = await World.open("w1");
  world.receivers.set("w1", () => ({ status: 410, response: "" }));
  await world.happen(occupied("a"), occupied("b"), occupied("c"), occupied("d"));
  const dispatcher = world.dispatcher();
  await settled(dispatcher);
  expect(world.disabled).toEqual([["w1", "gone"]]);
  expect(world.lines).toEqual([expect.stringContaining("410 Gone")]);
  expect(world.seen.length).toBeLessThan(4);
  world.clock.advance(24 * HOUR_MS);
  const { length } = world.seen;
  await settled(dispatcher);
  expect(world.seen.length).toBe(length);
});

test("an endpoint without a success for five days is disabled", async () => {
  await using world = await World.open("w1", "w2");
  world.receivers.set("w1", () => ({ error: "the connection was refused" }));
  const dispatcher = world.dispatcher();
  for (let hour = 0; hour < 6 * 24 && world.disabled.length === 0; hour++) {
    if (hour % 12 === 0) await world.happen(occupied(`c${hour}`));
    await settled(dispatcher);
    world.clock.advance(HOUR_MS);
    if (hour === 4 * 24) expect(world.disabled).toEqual([]);
  }
  expect(world.disabled).toEqual([["w1", "failing"]]);
  expect(world.lines).toEqual([expect.stringContaining("5 days")]);
  expect(await world.state("w2")).toMatchObject({ failingSince: null, backlog: 0 });
});

test("endpoints that hang leave places for the others", async () => {
  const hanging = Array.from({ length: 30 }, (_, at) => `h${at}`);
  await using world = await World.open(...hanging, "healthy");
  const end = Promise.withResolvers<PinnedAnswer>();
  for (const id of hanging) world.receivers.set(id, () => end.promise);
  const dispatcher = world.dispatcher();
  for (let round = 0; round < 12; round++) {
    await world.happen(occupied(`c${round}`));
    await dispatcher.look();
    await until("the healthy one has it", () => world.seqsOf("healthy").length === round + 1);
  }
  expect(dispatcher.underWay).toBeLessThanOrEqual(128);
  end.resolve({ error: "there was no answer within 15 s" });
  await until("all is written", () => dispatcher.isIdle);
});

test("an endpoint has at most ten requests at once, and all of them at most 128", async () => {
  const ids = Array.from({ length: 20 }, (_, at) => `w${at}`);
  await using world = await World.open(...ids);
  const dispatcher = world.dispatcher();
  for (let at = 0; at < 10; at++) await world.happen(occupied(`first ${at}`));
  await settled(dispatcher);
  const end = Promise.withResolvers<PinnedAnswer>();
  for (const id of ids) world.receivers.set(id, () => end.promise);
  for (let at = 0; at < 30; at++) await world.happen(occupied(`c${at}`));
  await dispatcher.look();
  await dispatcher.look();
  expect(dispatcher.underWay).toBeGreaterThan(100);
  expect(dispatcher.underWay).toBeLessThanOrEqual(128);
  for (const id of ids) expect(world.seqsOf(id).filter((seq) => seq > 10).length).toBeLessThanOrEqual(10);
  end.resolve(OK);
  await until("all is written", () => dispatcher.isIdle);
});

test("what was lost with the process that sends is sent again, and is no attempt", async () => {
  await using world = await World.open("w1");
  let times = 0;
  world.receivers.set("w1", () => (++times <= 3 ? "lost" : OK));
  await world.happen(occupied("a"));
  const dispatcher = world.dispatcher();
  for (let at = 0; at < 4; at++) {
    await settled(dispatcher);
    world.clock.advance(1000);
  }
  expect(times).toBe(4);
  expect(await world.attempts("w1")).toMatchObject([{ attempt: 1, isSuccess: true }]);
  expect(world.metrics.lost.value).toBe(3);
});

test("a clock that is set back makes no one wait longer than the longest pause", async () => {
  expect(Math.max(...RETRY_DELAYS_MS) * (1 + RETRY_JITTER)).toBeLessThan(WEBHOOK_DUE_AHEAD_MAX_MS);
  expect(RETRY_AFTER_MAX_MS).toBeLessThan(WEBHOOK_DUE_AHEAD_MAX_MS);
  await using world = await World.open("w1", "w2");
  world.receivers.set("w1", () => FAILED);
  world.receivers.set("w2", () => ({ status: 429, response: "", retryAfterMs: HOUR_MS }));
  await world.happen(occupied("a"));
  const dispatcher = world.dispatcher();
  await settled(dispatcher);
  expect(world.seen).toHaveLength(2);
  world.clock.jump(-30 * 24 * HOUR_MS);
  await settled(dispatcher);
  await settled(world.dispatcher());
  expect(world.seqsOf("w1").length).toBeGreaterThan(1);
  expect(world.seqsOf("w2").length).toBeGreaterThan(1);
});

test("no application keeps those of others from a place, however many endpoints it has that hang", async () => {
  const hanging = Array.from({ length: 150 }, (_, at) => `h${at}`);
  await using world = await World.open(...hanging);
  const ends: ((answer: PinnedAnswer) => void)[] = [];
  for (const id of hanging) world.receivers.set(id, () => new Promise((resolve) => void ends.push(resolve)));
  await world.happen(...Array.from({ length: 5 }, (_, at) => occupied(`c${at}`)));
  const dispatcher = world.dispatcher();
  await dispatcher.look();
  // One that has succeeded never, of another application, comes when all places for such are taken.
  await world.add("other", { app: OTHER_APP });
  await world.happen(occupied("theirs"));
  await dispatcher.look();
  await until("it has its turn", () => world.seqsOf("other").length === 1);
  // Within one application, each has its turn.
  for (let at = 0; at < hanging.length; at++) {
    ends.shift()?.({ error: "there was no answer within 15 s" });
    await until("the next one", () => ends.length >= 40);
  }
  expect(new Set(world.seen.map(({ webhook }) => webhook)).size).toBe(151);
  for (const end of ends.splice(0)) end(OK);
  dispatcher.stop();
});

test("without the lease nothing is sent and nothing is written", async () => {
  await using world = await World.open("w1");
  await world.happen(occupied("a"));
  const dispatcher = world.dispatcher();
  world.isHeld = false;
  await settled(dispatcher);
  expect(world.seen).toEqual([]);
  // Another process takes over while a request is under way.
  world.isHeld = true;
  const answer = Promise.withResolvers<PinnedAnswer>();
  world.receivers.set("w1", () => answer.promise);
  await dispatcher.look();
  expect(world.seen).toHaveLength(1);
  await world.store.webhooks.takeLease("test");
  answer.resolve(OK);
  await until("it is said", () => world.timesLost === 1);
  expect(await world.attempts("w1")).toEqual([]);
});
