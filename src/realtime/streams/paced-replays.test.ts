/** Replays of many clients at once: they wait for each other, and the store is read once for all of them. */
import { expect, test } from "bun:test";
import { TURN_SHARE_MIN_MS } from "./limits.ts";
import { dataOf, numbers, positionOf, ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

const LONG = "x".repeat(63_000);

/** A world in which this turn of the process has no time left for replays. */
async function busy(messages: number): Promise<StreamsWorld> {
  const world = new StreamsWorld();
  const ann = await world.joined("ann");
  await world.publish(ann, 1, messages);
  world.connect("first").subscribe(ROOM, { rewind: 1 });
  world.clock.advance(TURN_SHARE_MIN_MS);
  return world;
}

test("a replay that has no time left in this turn follows in the next one, complete and in order", async () => {
  const world = await busy(300);
  const ben = world.connect("ben");
  ben.subscribe(ROOM, { rewind: 300 });
  expect(seen(ben)).toEqual([]);
  await world.answers();
  expect(seen(ben)).toEqual(["ack recovered:true replay:300", ...numbers(1, 300).map((n) => `${n}*`)]);
});

test("what is published while a replay waits for its turn comes behind it, once", async () => {
  const world = await busy(3);
  const ben = world.connect("ben");
  ben.subscribe(ROOM, { rewind: 3 });
  const ann = world.connect("ann");
  for (const n of [4, 5]) ann.publish(ROOM, n);
  await world.answers();
  await world.publish(ann, 6, 6);
  const came = dataOf(ben.received).map(Number);
  expect(came).toEqual(numbers(came[0] ?? 0, 6));
  expect(came.length).toBeGreaterThanOrEqual(3);
});

test("a client that unsubscribes before its turn gets its answers, and no messages", async () => {
  const world = await busy(3);
  const ben = world.connect("ben");
  ben.subscribe(ROOM, { rewind: 3 });
  ben.subscribe(ROOM, { rewind: 3 });
  ben.unsubscribe(ROOM);
  await world.pass(5);
  expect(seen(ben)).toEqual(["ack", "ack", "ack"]);
});

test("a client that is gone before its turn costs nothing", async () => {
  const world = await busy(3);
  const ben = world.connect("ben");
  ben.subscribe(ROOM, { rewind: 3 });
  ben.vanish();
  await world.answers();
  expect(world.node.hub.replays.count).toBe(0);
});

test("the longest replays: one read of the store serves all who ask, also those who cannot recover", async () => {
  const world = new StreamsWorld();
  const ann = await world.joined("ann");
  await world.publish(ann, 1, 1);
  const position = positionOf(ann);
  for (let i = 0; i < 30; i++) ann.publish(ROOM, LONG);
  await world.answers();
  ann.vanish();
  await world.pass(10);
  world.history.calls.read = 0;
  const clients = ["a", "b", "c"].map((name) => world.connect(name));
  for (const client of clients) client.subscribe(ROOM, { rewind: 1000 });
  const late = world.connect("late");
  late.subscribe(ROOM, { recover: position });
  await world.pass(5);
  for (const client of clients) expect(seen(client)[0]).toBe("ack recovered:true replay:15");
  expect(seen(late)).toEqual(["ack recovered:false replay:0"]);
  expect(world.history.calls.read).toBe(1);
});
