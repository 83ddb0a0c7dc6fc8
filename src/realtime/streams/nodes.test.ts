/** One order on every node: what arrives late, not at all, or from a store that has lost something. */
import { describe, expect, test } from "bun:test";
import type { Engine } from "../../engine/engine.ts";
import { type Client, leftovers } from "../testing/kit.ts";
import { dataOf, numbers, offsetOf, positionOf, ROOM, StreamsWorld, seen } from "./testing/streams-world.ts";

/** An engine that carries messages, or loses them. */
class LossyNetwork {
  isLosing = false;

  readonly between = (engine: Engine): Engine => {
    const publish = engine.publish.bind(engine);
    return Object.assign(engine, {
      publish: (...args: Parameters<Engine["publish"]>): boolean => (this.isLosing ? false : publish(...args)),
    });
  };
}

async function join(world: StreamsWorld, peerId: string, node: number): Promise<Client> {
  return world.joined(peerId, { node });
}

describe("one order", () => {
  test("messages of all nodes come in the same order on every node, each once", async () => {
    const world = new StreamsWorld({ nodes: 3 });
    const clients = [await join(world, "a", 0), await join(world, "b", 1), await join(world, "c", 2)];
    const readers = [await join(world, "x", 0), await join(world, "y", 1), await join(world, "z", 2)];
    for (let n = 0; n < 30; n++) {
      clients[n % 3]?.publish(ROOM, n);
      if (n % 4 === 0) await world.pass(1);
    }
    await world.pass(100);
    const orders = readers.map((reader) => dataOf(reader.received));
    expect(orders[0]).toHaveLength(30);
    expect([orders[1], orders[2]]).toEqual([orders[0], orders[0]]);
    const offsets = readers.map((reader) => reader.received.flatMap(({ pos }) => (pos ? [offsetOf(pos)] : [])));
    // The first is that of the ack.
    expect(offsets[0]).toEqual(numbers(0, 30));
  });

  test("a message that does not arrive is read from the store, and holds up the ones behind it", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    network.isLosing = true;
    await world.publish(ann, 1, 2);
    network.isLosing = false;
    await world.publish(ann, 3, 3);
    expect(seen(ben)).toEqual([]);
    await world.pass(30);
    expect(seen(ben)).toEqual(["1", "2", "3"]);
    expect(seen(ann)).toEqual(["ack", "ack", "ack"]);
  });

  test("an own message is acked before later messages, although the store's answer comes after them", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    const answer = Promise.withResolvers<void>();
    world.history.beforeAnswer = (call) => (call === "append" ? answer.promise : undefined);
    ann.publish(ROOM, 1);
    await world.answers();
    world.history.beforeAnswer = () => undefined;
    await world.publish(ben, 2, 2);
    await world.pass(100);
    expect(seen(ann)).toEqual([]);
    answer.resolve();
    await world.pass(100);
    expect(seen(ann)).toEqual(["ack", "2"]);
  });

  test("a stored message that no node announces is found within about a second", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    network.isLosing = true;
    await world.publish(ann, 1, 1);
    await world.pass(1300);
    expect(seen(ben)).toEqual(["1"]);
  });

  test("also if the clock is set back meanwhile", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    await world.pass(2500);
    network.isLosing = true;
    world.clock.jump(-600_000);
    await world.publish(ann, 1, 1);
    await world.pass(1300);
    expect(seen(ben)).toEqual(["1"]);
  });

  test("the next read of the ends begins where the store says that nothing is missing", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    await join(world, "ann", 0);
    const asked: number[] = [];
    const { inner } = world.history;
    world.history.heads = async (agoMs) => {
      asked.push(agoMs);
      // A transaction has been open for a minute.
      return { ...(await inner.heads(agoMs)), openMs: 60_000 };
    };
    await world.pass(2500);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.slice(1).every((agoMs) => agoMs >= 60_000)).toBe(true);
  });

  test("when its node has died, at once", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    await world.pass(1000);
    network.isLosing = true;
    await world.publish(ann, 1, 1);
    world.kill(0);
    await world.pass(250);
    expect(seen(ben)).toEqual(["1"]);
  });

  test("a publisher that subscribes gets its ack behind all earlier messages", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    const other = world.connect("cat", { node: 1 });
    network.isLosing = true;
    await world.publish(ann, 1, 1);
    await world.publish(ben, 2, 2);
    await world.publish(other, 3, 3);
    // Who does not subscribe need not wait.
    expect([seen(ben), seen(other)]).toEqual([[], ["ack"]]);
    await world.pass(30);
    expect(seen(ben)).toEqual(["1", "ack", "3"]);
  });

  test("what was published before the channel opened here is not delivered, what comes after it is", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const ann = await join(world, "ann", 0);
    await world.publish(ann, 1, 1);
    world.history.pause("open");
    const ben = world.connect("ben", { node: 1 });
    ben.subscribe(ROOM);
    await world.answers();
    await world.publish(ann, 2, 2);
    expect(seen(ben)).toEqual([]);
    world.history.releaseAll();
    await world.answers();
    await world.publish(ann, 3, 3);
    expect(seen(ben)).toEqual(["ack", "3"]);
    const [ack] = ben.received.filter(({ type }) => type === "ack");
    expect(offsetOf(ack?.pos)).toBe(2);
  });

  test("a message that was read from the store does not overtake its sender's join", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const ben = await join(world, "ben", 1);
    const ann = world.connect("ann", { node: 0 });
    ann.subscribe(ROOM);
    await world.pass(2);
    network.isLosing = true;
    await world.publish(ann, 1, 1);
    await world.pass(1300);
    expect(ben.newFrames()).toEqual(["joined: ann", "message ann 1"]);
  });
});

test("while other nodes do not answer, the messages of a sender wait for its join only once", async () => {
  const network = new LossyNetwork();
  const world = new StreamsWorld({
    nodes: 2,
    engine: (engine) => Object.assign(network.between(engine), { members: () => undefined }),
  });
  const ben = await join(world, "ben", 1);
  const ann = world.connect("ann", { node: 0 });
  network.isLosing = true;
  await world.publish(ann, 1, 1);
  await world.pass(1200);
  expect(seen(ben)).toEqual([]);
  await world.pass(1100);
  expect(seen(ben)).toEqual(["1"]);
  await world.publish(ann, 2, 2);
  await world.pass(1300);
  expect(seen(ben)).toEqual(["2"]);
});

describe("positions over nodes", () => {
  test("a client recovers on another node", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    await world.publish(ann, 1, 3);
    const position = positionOf(ben);
    ben.vanish();
    await world.publish(ann, 4, 5);
    const back = world.connect("ben", { node: 0 });
    back.subscribe(ROOM, { recover: position });
    await world.pass(2);
    expect(seen(back)).toEqual(["ack recovered:true replay:2", "4*", "5*"]);
  });

  test("a position ahead of what this node has delivered: it delivers up to there first, and nothing comes twice", async () => {
    const network = new LossyNetwork();
    const world = new StreamsWorld({ nodes: 2, engine: network.between });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 0)];
    const cat = await join(world, "cat", 1);
    network.isLosing = true;
    await world.publish(ann, 1, 2);
    const position = positionOf(ben);
    ben.vanish();
    expect(seen(cat)).toEqual([]);
    const back = world.connect("ben", { node: 1 });
    back.subscribe(ROOM, { recover: position });
    await world.pass(30);
    expect([seen(back), seen(cat)]).toEqual([["ack recovered:true replay:0"], ["1", "2"]]);
    network.isLosing = false;
    await world.publish(ann, 3, 3);
    expect(seen(back)).toEqual(["3"]);
  });
});

describe("a stream that is no longer the same", () => {
  test("the history was removed: subscribers on every node are closed with 1001, and cannot recover across it", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    await world.publish(ann, 1, 3);
    const position = positionOf(ben);
    await world.history.remove(world.app, ROOM);
    await world.pass(1300);
    expect([ann.closeCode, ben.closeCode]).toEqual([1001, 1001]);
    const back = world.connect("ben", { node: 1 });
    back.subscribe(ROOM, { recover: position });
    await world.pass(2);
    expect(seen(back)).toEqual(["ack recovered:false replay:0"]);
    const cat = world.connect("cat", { node: 0 });
    await world.publish(cat, 4, 4);
    expect(seen(back)).toEqual(["4"]);
  });

  test("the store says that it has lost something: all subscribers are closed with 1001", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    const plain = world.join("cat", "plain");
    world.history.rewind();
    await world.answers();
    expect([ann.closeCode, ben.closeCode, plain.closeCode]).toEqual([1001, 1001, undefined]);
  });
});

describe("channel rules", () => {
  const history = { messages: 10, seconds: 60 };

  test("history is switched on, changed and switched off: what changes is resynchronised, nothing else", async () => {
    const world = new StreamsWorld({ rules: [] });
    const [ann, ben] = [world.join("ann", ROOM), world.join("ben", "other")];
    world.setRules([{ pattern: "room/*", history, graceSec: 0 }]);
    await world.answers();
    expect([ann.closeCode, ben.closeCode]).toEqual([1001, undefined]);
    const cat = await world.joined("cat");
    await world.publish(cat, 1, 1);
    expect(cat.received.at(-1)?.pos).toBeString();
    world.setRules([{ pattern: "room/*", history: { messages: 5, seconds: 60 }, graceSec: 0 }]);
    await world.answers();
    expect(cat.closeCode).toBeUndefined();
    world.setRules([]);
    await world.answers();
    expect(cat.closeCode).toBe(1001);
    const dan = world.join("dan", ROOM);
    dan.publish(ROOM, 2);
    expect(dan.received.at(-1)?.pos).toBeUndefined();
  });

  test("a connection that publishes follows a change of the rules with its next message", async () => {
    const world = new StreamsWorld({ rules: [] });
    const ann = world.connect("ann");
    ann.publish(ROOM, 1);
    world.setRules([{ pattern: "room/*", history, graceSec: 0 }]);
    await world.publish(ann, 2, 2);
    world.setRules([]);
    ann.publish(ROOM, 3);
    expect(ann.received.slice(1).map(({ pos }) => pos !== undefined)).toEqual([false, true, false]);
  });

  test("a node that does not know the rule yet: the channel begins anew where history is on, and 1001 on both", async () => {
    const world = new StreamsWorld({ nodes: 2 });
    const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
    await world.publish(ann, 1, 1);
    const position = positionOf(ben);
    world.nodeAt(0).engine.publish(world.app, ROOM, { from: "ann", metadataJson: undefined, dataJson: "1" });
    await world.answers();
    expect(ben.closeCode).toBe(1001);
    await world.pass(1300);
    expect(ann.closeCode).toBe(1001);
    const back = world.connect("ben", { node: 1 });
    back.subscribe(ROOM, { recover: position });
    await world.pass(2);
    expect(seen(back)).toEqual(["ack recovered:false replay:0"]);
  });
});

test("streams in use are noted in the store every five minutes", async () => {
  const world = new StreamsWorld();
  await world.joined("ann");
  world.advance(299_000);
  expect(world.history.calls.open).toBe(1);
  world.advance(3000);
  expect(world.history.calls.open).toBe(2);
});

test("nothing is left when all have gone", async () => {
  const world = new StreamsWorld({ nodes: 2 });
  const [ann, ben] = [await join(world, "ann", 0), await join(world, "ben", 1)];
  await world.publish(ann, 1, 5);
  for (const client of [ann, ben]) client.vanish();
  await world.pass(1500);
  expect(leftovers(world)).toEqual({});
});
