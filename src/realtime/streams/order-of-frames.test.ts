/** Each frame of a connection is answered exactly once and in order, also while the store has not answered yet. */
import { expect, test } from "bun:test";
import { slowly } from "../testing/late-engine.ts";
import { ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

test("a subscribe does not overtake an unsubscribe that waits for a message to be stored", async () => {
  const world = new StreamsWorld();
  const [ann, ben] = [await world.joined("ann"), await world.joined("ben")];
  world.history.pause("append");
  ann.publish(ROOM, 1);
  ann.request({ type: "unsubscribe", channel: ROOM });
  ann.request({ type: "subscribe", channel: ROOM });
  await world.answers();
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann)).toEqual(["ack", "ack", "ack"]);
  await world.publish(ben, 2, 2);
  expect(seen(ann)).toEqual(["2"]);
});

test("a state does not overtake an unsubscribe that waits for a message to be stored, nor the subscribe behind it", async () => {
  const world = new StreamsWorld();
  const [ann, ben] = [await world.joined("ann"), world.connect("ben")];
  ben.subscribe(ROOM, { state: true });
  await world.pass(60);
  const leave = (): void => {
    world.history.pause("append");
    ann.publish(ROOM, 1);
    ann.request({ type: "unsubscribe", channel: ROOM });
  };
  leave();
  ann.request({ type: "state", channel: ROOM, state: { n: 1 } });
  await world.answers();
  expect(seen(ann)).toEqual([]);
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann)).toEqual(["ack", "ack", "error channel_not_authorized"]);
  ann.request({ type: "subscribe", channel: ROOM });
  await world.pass(60);
  ben.take();
  leave();
  ann.request({ type: "subscribe", channel: ROOM });
  ann.request({ type: "state", channel: ROOM, state: { n: 2 } });
  await world.answers();
  world.history.releaseAll();
  await world.pass(60);
  expect(ben.take().findLast(({ type }) => type === "state")).toMatchObject({
    changed: [{ peerId: "ann", state: { n: 2 } }],
  });
});

test("messages that were stored while the stream opened follow the ack", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const ben = world.connect("ben", { node: 1 });
  const ann = world.connect("ann");
  world.history.pause("open");
  ann.request({ type: "subscribe", channel: ROOM });
  await world.publish(ben, 1, 3);
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann)[0]).toBe("ack");
});

test("an unsubscribe before the stream is open leaves no refusal behind", async () => {
  const world = new StreamsWorld();
  const ann = world.connect("ann");
  world.history.pause("open");
  ann.request({ type: "subscribe", channel: ROOM });
  ann.request({ type: "unsubscribe", channel: ROOM });
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann).toSorted()).toEqual(["ack", "ack"]);
});

test("a recovery is answered although the client unsubscribes before it is decided", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const ben = await world.joined("ben");
  await world.publish(ben, 1, 3);
  // Node 1 has none of the messages in memory.
  const ann = world.connect("ann", { node: 1 });
  world.history.pause("read");
  ann.request({ type: "subscribe", channel: ROOM, rewind: "5m" });
  await world.answers();
  ann.request({ type: "unsubscribe", channel: ROOM });
  await world.answers();
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann).toSorted()).toEqual(["ack", "ack"]);
});

test("a publish before the subscribe of the same turn is answered, although the engine answers later", async () => {
  const world = new StreamsWorld({ nodes: 2, engine: (engine, clock) => slowly(engine, clock, 40) });
  const ann = world.connect("ann");
  ann.request({ type: "publish", channel: ROOM, data: 1 });
  ann.request({ type: "subscribe", channel: ROOM });
  await world.pass(100);
  expect(seen(ann)).toEqual(["ack", "ack"]);
  ann.request({ type: "send", to: "ann", data: 1 });
  await world.pass(60);
  expect(seen(ann)).toEqual(["error peer_not_found"]);
});

test("a publisher does not wait without an end if the history was removed before its stream opened", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const ann = world.connect("ann");
  world.history.pause("open");
  ann.request({ type: "publish", channel: ROOM, data: 1 });
  ann.request({ type: "subscribe", channel: ROOM });
  await world.answers();
  await world.history.remove(world.app, ROOM);
  world.history.releaseAll();
  await world.pass(100);
  expect(ann.closeCode).toBe(1001);
});

test("a publish is answered although its history was removed and its publisher has unsubscribed since", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const ann = await world.joined("ann");
  world.history.pause("append");
  await world.history.remove(world.app, ROOM);
  ann.request({ type: "publish", channel: ROOM, data: 1 });
  ann.request({ type: "unsubscribe", channel: ROOM });
  await world.answers();
  world.history.releaseAll();
  await world.pass(60);
  expect(seen(ann).toSorted()).toEqual(["ack", "ack"]);
});

test("subscribers do not follow a history that was removed while its stream opened", async () => {
  const world = new StreamsWorld();
  await world.publish(world.connect("ann"), 1, 3);
  const { promise, resolve } = Promise.withResolvers<void>();
  world.history.beforeAnswer = (call) => (call === "open" ? promise : undefined);
  const ben = world.connect("ben");
  ben.subscribe(ROOM);
  await world.answers();
  await world.node.hub.streams.remove(world.app, ROOM);
  resolve();
  await world.pass(60);
  expect([seen(ben), ben.closeCode]).toEqual([["ack"], 1001]);
});

test("a subscribe that waited for the end of a channel's stream sees what other nodes send", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const [cat, ben] = [world.connect("cat", { node: 0 }), world.connect("ben", { node: 0 })];
  world.history.pause("open");
  cat.subscribe(ROOM);
  ben.publish(ROOM, 1);
  await world.answers();
  // Behind the message, which waits for the stream: with its end, the channel gets a new one.
  ben.send("cat", 2);
  ben.subscribe(ROOM);
  cat.vanish();
  world.history.releaseAll();
  await world.pass(600);
  ben.take();
  await world.joined("dan", { node: 1 });
  expect(ben.newFrames()).toEqual(["joined: dan"]);
});
