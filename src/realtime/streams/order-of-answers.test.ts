/** Subscribes and unsubscribes of one channel are answered in their order, also while a subscribe waits. */
import { describe, expect, test } from "bun:test";
import { type Client, SECRET_KEY } from "../testing/kit.ts";
import { slowly } from "../testing/late-engine.ts";
import { ROOM, StreamsWorld } from "./testing/streams-world.ts";

/** Its acks and errors, in short. */
const answersOf = (client: Client): string[] => client.newFrames().filter((frame) => /^(ack|error) /.test(frame));

describe("an unsubscribe is acked behind the subscribe before it, which waits", () => {
  test("for the store of history, together with another client", async () => {
    const world = new StreamsWorld();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    world.history.pause("open");
    for (const client of [ann, ben]) client.subscribe(ROOM);
    ann.unsubscribe(ROOM);
    ann.subscribe(ROOM);
    ann.unsubscribe(ROOM);
    ann.subscribe(ROOM);
    world.history.releaseAll();
    await world.pass(60);
    expect(answersOf(ann)).toEqual(["ack r1", "ack r2", "ack r3", "ack r4", "ack r5"]);
    expect(answersOf(ben)).toEqual(["ack r1"]);
    await world.publish(ben, 1, 1);
    expect(ann.newFrames()).toEqual(["message ben 1"]);
  });

  test("for the other nodes", async () => {
    const world = new StreamsWorld({ nodes: 2, engine: (engine, clock) => slowly(engine, clock, 40) });
    const ann = world.connect("ann");
    ann.subscribe(ROOM);
    ann.unsubscribe(ROOM);
    ann.subscribe(ROOM);
    await world.pass(150);
    expect(answersOf(ann)).toEqual(["ack r1", "ack r2", "ack r3"]);
  });

  test("for the messages that it is to begin with", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const ben = await world.joined("ben");
    await world.publish(ben, 1, 3);
    // Node 1 has none of the messages in memory.
    const ann = world.connect("ann", { node: 1 });
    world.history.pause("read");
    ann.subscribe(ROOM, { rewind: "5m" });
    ann.subscribe(ROOM);
    await world.answers();
    ann.unsubscribe(ROOM);
    await world.answers();
    world.history.releaseAll();
    await world.pass(60);
    expect(answersOf(ann)).toEqual(["ack r1", "ack r2", "ack r3"]);
  });

  test("because it is a repeated one", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann");
    ann.subscribe(ROOM);
    ann.unsubscribe(ROOM);
    await world.pass(60);
    expect(answersOf(ann)).toEqual(["ack r2", "ack r3"]);
  });
});

test("a subscribe that waits is refused when its channel is lost, and not again later", async () => {
  const world = new StreamsWorld();
  const [ann, ben] = [world.connect("ann"), world.connect("ben")];
  world.history.pause("open");
  for (const client of [ann, ben]) client.subscribe(ROOM);
  world.keys.editKey(SECRET_KEY, { channelPatterns: ["other/**"] });
  ann.unsubscribe(ROOM);
  world.history.releaseAll();
  await world.pass(60);
  expect(answersOf(ann)).toEqual(["error channel_not_authorized r1", "error channel_not_authorized", "ack r2"]);
});

test("while the store is unavailable, repeated subscribes are refused like the first one", async () => {
  const world = new StreamsWorld();
  const ann = world.connect("ann");
  world.history.fate = () => "fail";
  ann.subscribe(ROOM);
  ann.subscribe(ROOM);
  await world.pass(60);
  expect(answersOf(ann)).toEqual(["error backend_error r1", "error backend_error r2"]);
  expect(ann.connection.subscriptionCount).toBe(0);
});
