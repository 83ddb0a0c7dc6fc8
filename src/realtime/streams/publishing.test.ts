/** Publishing to channels with history: what is stored, when it is acked and delivered, and what waits for it. */
import { describe, expect, test } from "bun:test";
import { PUBLISHABLE_KEY } from "../testing/kit.ts";
import { dataOf, numbers, offsetOf, PLAIN, ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

describe("publish", () => {
  test("a message has its position and time for all subscribers; the ack has the position; its publisher does not get it", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann", { metadata: { n: 1 } });
    const ben = await world.joined("ben");
    ann.take();
    ann.request({ type: "publish", channel: ROOM, data: { a: 1 }, id: "m-1" });
    await world.answers();
    const [ack, ...others] = ann.take();
    const [message] = ben.take();
    expect([ack?.type, offsetOf(ack?.pos), others]).toEqual(["ack", 1, []]);
    expect(message).toEqual({
      type: "message",
      channel: ROOM,
      from: "ann",
      data: { a: 1 },
      pos: String(ack?.pos),
      time: world.clock.wallMs(),
      id: "m-1",
    });
  });

  test("nothing is delivered or acked before it is stored", async () => {
    const world = new StreamsWorld();
    const [ann, ben] = [await world.joined("ann"), await world.joined("ben")];
    world.history.pause("append");
    ann.publish(ROOM, 1);
    await world.answers();
    expect([seen(ann), seen(ben)]).toEqual([[], []]);
    world.history.releaseAll();
    await world.answers();
    expect([seen(ann), seen(ben)]).toEqual([["ack"], ["1"]]);
  });

  test("a channel without history gets the id and nothing else, at once", () => {
    const world = new StreamsWorld();
    const ben = world.join("ben", PLAIN);
    const ann = world.connect("ann");
    ann.request({ type: "publish", channel: PLAIN, data: 1, id: "x" });
    expect(ben.take()).toEqual([{ type: "message", channel: PLAIN, from: "ann", data: 1, id: "x" }]);
    ann.request({ type: "send", to: "ben", data: 2, id: "y" });
    expect(ben.take()).toEqual([{ type: "direct", from: "ann", data: 2, id: "y" }]);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2"]);
  });

  test.each([["", 1, null, "a".repeat(65), "ä", "a\nb"]].flat())("an id that is %p is malformed", async (id) => {
    const world = new StreamsWorld();
    const ann = world.connect("ann");
    ann.request({ type: "publish", channel: ROOM, data: 1, id });
    ann.request({ type: "send", to: "ann", data: 1, id });
    await world.answers();
    expect(ann.newFrames()).toEqual(["error malformed_message r1", "error malformed_message r2"]);
  });

  test("a retry after the history was deleted is a duplicate: no one gets it, and no one is closed", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann");
    ann.request({ type: "publish", channel: ROOM, data: 1, id: "x" });
    await world.answers();
    const [first] = ann.take();
    await world.node.hub.streams.remove(world.app, ROOM);
    await world.pass(10);
    expect(ann.closeCode).toBe(1001);
    const [back, ben] = [await world.joined("ann"), await world.joined("ben")];
    for (const client of [back, world.connect("ann")])
      client.request({ type: "publish", channel: ROOM, data: 1, id: "x" });
    await world.pass(100);
    expect(back.take().filter(({ type }) => type === "ack")).toMatchObject([{ pos: first?.pos, duplicate: true }]);
    expect([dataOf(ben.take()), ben.closeCode, back.closeCode]).toEqual([[], undefined, undefined]);
    await world.publish(back, 2, 2);
    expect(seen(ben)).toEqual(["2"]);
  });

  test("a second message with the same id is acked with the position of the first, and delivered to no one", async () => {
    const world = new StreamsWorld();
    const ben = await world.joined("ben");
    const ann = await world.joined("ann");
    for (const data of [1, 2]) ann.request({ type: "publish", channel: ROOM, data, id: "same" });
    await world.answers();
    const second = world.connect("ann");
    second.request({ type: "publish", channel: ROOM, data: 3, id: "same" });
    await world.answers();
    const acks = [...ann.take(), ...second.take()];
    expect(acks.map(({ duplicate }) => duplicate)).toEqual([undefined, true, true]);
    expect(new Set(acks.map(({ pos }) => pos)).size).toBe(1);
    expect(seen(ben)).toEqual(["1"]);
    await world.node.usage.flush();
    expect([...world.node.usageRows.rows.values()].map(({ messages }) => messages)).toEqual([1]);
  });

  test("ids are unique per peer of a token, and per publishable key", async () => {
    const world = new StreamsWorld();
    const ben = await world.joined("ben");
    const publishers = [
      world.connect("ann"),
      world.connect("cat"),
      world.connect("u1", { key: PUBLISHABLE_KEY }),
      world.connect("u2", { key: PUBLISHABLE_KEY }),
    ];
    for (const [n, one] of publishers.entries()) one.request({ type: "publish", channel: ROOM, data: n, id: "same" });
    await world.answers();
    expect(seen(ben)).toEqual(["0", "1", "2"]);
  });

  test("the store is unavailable: backend_error; what is stored all the same comes later, once and in order", async () => {
    const world = new StreamsWorld();
    const [ann, ben] = [await world.joined("ann"), await world.joined("ben")];
    world.history.fate = (call) => (call === "append" ? "lose" : call === "settle" ? "fail" : "answer");
    await world.publish(ann, 1, 2);
    expect([seen(ann), seen(ben)]).toEqual([["error backend_error", "error backend_error"], []]);
    ann.publish(ROOM, 3);
    await world.pass(500);
    expect([seen(ann), seen(ben)]).toEqual([[], []]);
    world.history.fate = () => "answer";
    await world.pass(2100);
    expect([seen(ann), seen(ben)]).toEqual([["ack"], ["1", "2", "3"]]);
  });

  test("a store that hangs: backend_error after 2 s, also for what waits behind it", async () => {
    const world = new StreamsWorld();
    const [ann, ben] = [await world.joined("ann"), await world.joined("ben")];
    world.history.pause("append", "settle");
    await world.publish(ann, 1, 1);
    await world.publish(ann, 2, 2);
    await world.pass(2600);
    expect([seen(ann), seen(ben)]).toEqual([["error backend_error", "error backend_error"], []]);
    world.history.releaseAll("fail");
    await world.pass(3000);
    await world.publish(ann, 4, 4);
    expect([seen(ann), seen(ben)]).toEqual([["ack"], ["4"]]);
  });

  test("a quota counts what is not stored yet", async () => {
    const world = new StreamsWorld();
    world.keys.editApp({ maxMessagesPerPeriod: 2 });
    const ann = await world.joined("ann");
    await world.publish(ann, 1, 3);
    expect(seen(ann).sort()).toEqual(["ack", "ack", "error over_message_quota"]);
  });
});

describe("order of one connection", () => {
  test("later messages, direct messages and the leave wait for the one that is not stored yet", async () => {
    const world = new StreamsWorld();
    const ben = await world.joined("ben");
    const ann = await world.joined("ann");
    ben.subscribe(PLAIN);
    await world.pass(60);
    ben.take();
    world.history.pause("append");
    ann.publish(ROOM, 1);
    ann.publish(PLAIN, 2);
    ann.send("ben", 3);
    ann.publish(ROOM, 4);
    ann.unsubscribe(ROOM);
    await world.pass(100);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([[], []]);
    world.history.releaseAll();
    await world.pass(60);
    expect(ben.newFrames()).toEqual(["message ann 1", "message ann 2", "direct ann 3", "message ann 4", "left: ann"]);
    expect(ann.newFrames()).toEqual(["ack r2", "ack r3", "ack r4", "ack r5", "ack r6"]);
  });

  test("too much waits: backend_error for the rest", async () => {
    const world = new StreamsWorld();
    const ann = await world.joined("ann");
    world.history.pause("append");
    ann.publish(ROOM, 0);
    for (const n of numbers(1, 1001)) ann.publish(PLAIN, n);
    await world.answers();
    expect(seen(ann)).toEqual(["error backend_error"]);
    world.history.releaseAll();
    await world.answers();
    expect(seen(ann)).toHaveLength(1001);
  });

  test("messages of a connection that has ended are delivered all the same", async () => {
    const world = new StreamsWorld();
    const ben = await world.joined("ben");
    const ann = await world.joined("ann");
    world.history.pause("append");
    ann.publish(ROOM, 1);
    ann.send("ben", 2);
    await world.answers();
    ann.vanish();
    await world.pass(100);
    ben.take();
    world.history.releaseAll();
    await world.pass(60);
    expect(ben.newFrames()).toEqual(["message ann 1", "direct ann 2", "left: ann"]);
  });
});
