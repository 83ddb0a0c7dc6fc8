import { describe, expect, test } from "bun:test";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { DEFERRED, type SendResult, UNAVAILABLE } from "../../engine/engine.ts";
import { delayed } from "../../engine/testing/traffic.ts";
import { NO_ARRIVALS } from "../state/arrivals.ts";
import { clientCloses, drain } from "../testing/grace.ts";
import { type Client, leftovers, OTHER_SECRET_KEY, PUBLISHABLE_KEY, turn, World } from "../testing/kit.ts";
import { type WaitingSend, WaitingSends } from "./waiting-sends.ts";

const APP = anAppId("app");

/** Ann's token has expired a moment ago, and ben knows her. */
function expired(nodes = 1): { world: World; ben: Client } {
  const world = new World({ nodes });
  const ben = world.join("ben", "c", { node: nodes - 1 });
  world.join("ann", "c", { expiresInMs: 3000 });
  world.advance(3000);
  ben.take();
  return { world, ben };
}

/** No attempt fails in these tests. */
const fail = (error: unknown): never => {
  throw error;
};

/** Lets answers between nodes arrive while time goes on. */
async function pass(world: World, ms: number): Promise<void> {
  for (let done = 0; done < ms; done += 50) {
    world.advance(50);
    await turn();
  }
}

for (const nodes of [1, 2])
  describe(`direct messages to a held peer, ${nodes} ${nodes === 1 ? "node" : "nodes"}`, () => {
    test("wait for the roster of the peer that is back, in their order, and are acked", async () => {
      const { world, ben } = expired(nodes);
      for (const n of [1, 2, 3]) ben.send("ann", n);
      await pass(world, 1000);
      expect(ben.newFrames()).toEqual([]);
      const ann = world.connect("ann").withholdPongs();
      ben.send("ann", 4);
      await pass(world, 200);
      ann.subscribe("c");
      ben.send("ann", 5);
      await pass(world, 400);
      expect(ann.newFrames()).toEqual(["ack r1"]);
      await pass(world, 1000);
      expect(ann.newFrames()).toEqual(["roster: ben", ...[1, 2, 3, 4, 5].map((n) => `direct ben ${n}`)]);
      expect(ben.newFrames()).toEqual(["ack r2", "ack r3", "ack r4", "ack r5", "ack r6"]);
      clientCloses(ann, 1000);
      clientCloses(ben, 1000);
      await pass(world, 11_000);
      expect(leftovers(world)).toEqual({});
    });

    test("do not wait longer than a second for a peer that is back and subscribes to nothing", async () => {
      const { world, ben } = expired(nodes);
      ben.send("ann", 1);
      await pass(world, 500);
      const ann = world.connect("ann");
      await pass(world, 900);
      expect(ann.newFrames()).toEqual([]);
      await pass(world, 400);
      ben.send("ann", 2);
      await pass(world, 300);
      expect(ann.newFrames()).toEqual(["direct ben 1", "direct ben 2"]);
    });

    test("find no one when it is not back after 10 s", async () => {
      const { world, ben } = expired(nodes);
      ben.send("ann", 1);
      await pass(world, 9000);
      expect(ben.newFrames()).toEqual([]);
      await pass(world, 1500);
      expect(ben.newFrames().sort()).toEqual(["error peer_not_found r2", "left: ann"]);
      ben.send("ann", 1);
      await pass(world, 100);
      expect(ben.newFrames()).toEqual(["error peer_not_found r3"]);
    });

    test("the 65th is refused at once", async () => {
      const { world, ben } = expired(nodes);
      for (let n = 0; n < 64; n++) ben.send("ann", n);
      await pass(world, 1000);
      expect(ben.newFrames()).toEqual([]);
      const last = ben.send("ann", 64);
      await pass(world, 50);
      expect(ben.newFrames()).toEqual([`error rate_limited ${last}`]);
      const ann = world.connect("ann");
      await pass(world, 1500);
      expect(ann.take().map(({ data }) => data)).toEqual(Array.from({ length: 64 }, (_, n) => n));
    });

    test("fail when it is kicked", async () => {
      const { world, ben } = expired(nodes);
      ben.send("ann", 1);
      await pass(world, 700);
      await world.nodeAt(0).hub.kicks.kick(APP, "ann");
      await pass(world, 700);
      expect(ben.newFrames().sort()).toEqual(["error peer_not_found r2", "left: ann"]);
    });
  });

test("one that is being delivered when its receiver is kicked is answered with what became of it", async () => {
  for (const [outcome, answer] of [
    [1, 1],
    [DEFERRED, 0],
  ] as const) {
    const clock = new FakeClock();
    const attempt = Promise.withResolvers<SendResult>();
    const sends = new WaitingSends({ clock, attempt: () => attempt.promise, failed: fail });
    const answers = [1, 2].map((order) => sends.add(sendOf(sends, order)));
    // The first is on its way, and may have arrived.
    clock.advance(200);
    sends.fail(APP, "ann");
    expect([await answers[1], sends.count]).toEqual([0, 1]);
    attempt.resolve(outcome);
    expect(await answers[0]).toBe(answer);
    expect([sends.count, sends.mustWait(APP, "ann")]).toEqual([0, false]);
  }
});

test("other peers are sent to meanwhile, and messages of channels do not wait", async () => {
  const { world, ben } = expired();
  const cat = world.join("cat", "c");
  ben.take();
  ben.send("ann", 1);
  ben.send("cat", 2);
  ben.publish("c", 3);
  expect(cat.newFrames()).toEqual(["direct ben 2", "message ben 3"]);
  await turn();
  expect(ben.newFrames()).toEqual(["ack r3", "ack r4"]);
});

test("a peer that sends to itself waits for no one, although another node expects it back", async () => {
  const world = new World({ nodes: 2 });
  world.join("ben", "c");
  world.join("ann", "c", { expiresInMs: 2000 });
  world.advance(3000);
  const [ann, ben] = [world.connect("ann", { node: 1 }), world.connect("ben", { node: 1 })];
  ann.send("ann", 1);
  await pass(world, 50);
  expect(ann.newFrames()).toEqual(["error peer_not_found r1"]);
  ben.send("ann", 2);
  await pass(world, 50);
  expect(ann.newFrames()).toEqual(["direct ben 2"]);
  const other = world.connect("ann");
  other.subscribe("c");
  ann.send("ann", 3);
  await pass(world, 50);
  expect(other.newFrames()).toEqual(["ack r1", "roster: ben", "direct ann 3"]);
});

test("a sender that has gone meanwhile has still sent", async () => {
  const { world, ben } = expired();
  ben.send("ann", 1);
  clientCloses(ben, 1000);
  await pass(world, 500);
  const ann = world.connect("ann");
  ann.subscribe("c");
  await pass(world, 500);
  expect(ann.newFrames()).toEqual(["ack r1", "roster:", "direct ben 1"]);
});

test("a message over REST waits like any other", async () => {
  const { world } = expired();
  const { directs } = world.node.hub;
  const sent = directs.send(APP, "ann", { from: "server", metadataJson: undefined, dataJson: "1" });
  await pass(world, 500);
  const ann = world.connect("ann");
  ann.subscribe("c");
  world.advance(50);
  expect(await sent).toBeUndefined();
  expect(ann.newFrames()).toEqual(["ack r1", "roster: ben", "direct server 1"]);
});

test("an application that has used up its share of what may wait gets an error that says so, and others are not affected", async () => {
  const { world, ben } = expired();
  for (let i = 0; i < 4; i++) world.connect(`p${i}`, { expiresInMs: 500 });
  world.connect("eve", { key: OTHER_SECRET_KEY, expiresInMs: 500 });
  const joe = world.connect("joe", { key: OTHER_SECRET_KEY });
  world.advance(500);
  const big = "x".repeat(60_000);
  for (let i = 0; i < 4; i++) for (let n = 0; n < 50; n++) ben.send(`p${i}`, big);
  await turn();
  const refused = ben.take().filter(({ code }) => code === "rate_limited");
  expect(200 - refused.length).toBe(Math.floor((8 * 1024 * 1024) / 60_002));
  expect(refused[0]?.message).toContain("was not sent");
  joe.send("eve", big);
  await pass(world, 500);
  expect(joe.take()).toEqual([]);
  const eve = world.connect("eve", { key: OTHER_SECRET_KEY });
  eve.subscribe("c");
  await pass(world, 1000);
  expect(eve.take().map(({ type }) => type)).toEqual(["ack", "presence", "direct"]);
  expect(joe.newFrames()).toEqual(["ack r1"]);
});

test("a peer that connects while other nodes are asked was expected, and is found, in order", async () => {
  const world = new World({ nodes: 2, traffic: delayed(20) });
  const ben = world.connect("ben");
  world.connect("ann", { expiresInMs: 2000 });
  world.advance(2000);
  ben.send("ann", 1);
  world.advance(10);
  const ann = world.connect("ann");
  ben.send("ann", 2);
  await pass(world, 2000);
  expect(ann.newFrames()).toEqual(["direct ben 1", "direct ben 2"]);
  expect(ben.newFrames()).toEqual(["ack r1", "ack r2"]);
});

/** One of several sends of ben to ann, as `Directs` makes them. */
function sendOf(waiting: WaitingSends, order: number): WaitingSend {
  const envelope = { from: "ben", metadataJson: undefined, dataJson: String(order) };
  const target = { spaceId: APP, to: "ann" };
  const attempt = {
    ...target,
    onDeferred: waiting.onDeferred,
    number: 0,
    firstMs: 0,
    isHeld: false,
    isUnanswered: false,
    delivered: 0,
    isNext: false,
    isLast: false,
  };
  return { ...target, envelope, sender: undefined, order, attempt, arrivals: NO_ARRIVALS };
}

test("while one message is tried, an earlier one comes back as held: each arrives once", async () => {
  let decide: (count: number) => void = () => undefined;
  const tried: number[] = [];
  const clock = new FakeClock();
  const attempt = ({ order }: WaitingSend): Promise<number> => {
    tried.push(order);
    return new Promise((resolve) => {
      decide = resolve;
    });
  };
  const waiting = new WaitingSends({ clock, attempt, failed: fail });
  const added = [2, 1].map((order) => {
    const done = waiting.add(sendOf(waiting, order));
    clock.advance(200);
    return done;
  });
  for (let i = 0; i < 3; i++) {
    decide(1);
    await turn();
    clock.advance(200);
  }
  expect(await Promise.all(added)).toEqual([1, 1]);
  expect(tried).toEqual([2, 1]);
});

test("nothing is tried while an earlier first attempt is not decided", async () => {
  const tried: number[] = [];
  const clock = new FakeClock();
  const waiting = new WaitingSends({ clock, attempt: ({ order }) => tried.push(order), failed: fail });
  const first = sendOf(waiting, 1);
  waiting.onDeferred(first.attempt);
  const added = [waiting.add(sendOf(waiting, 2))];
  clock.advance(1500);
  expect(tried).toEqual([]);
  waiting.decided(first.attempt);
  added.push(waiting.add(first));
  clock.advance(200);
  await Promise.all(added);
  expect(tried).toEqual([1, 2]);
});

for (const result of [UNAVAILABLE, 0])
  test(`an attempt that ends with ${result} is not the last one: the node that held the peer may have left`, async () => {
    const results: SendResult[] = [DEFERRED, result, result, 1];
    const clock = new FakeClock();
    const waiting = new WaitingSends({ clock, attempt: () => results.shift() ?? 0, failed: fail });
    const done = waiting.add(sendOf(waiting, 1));
    clock.advance(700);
    expect(await done).toBe(1);
  });

test("peers of a publishable key are not waited for", () => {
  const world = new World();
  const ben = world.join("ben", "c");
  const ann = world.join("ann", "c", { key: PUBLISHABLE_KEY });
  ben.take();
  world.node.hub.connections.expire(ann.connection);
  ben.send("ann", 1);
  expect(ben.newFrames()).toEqual(["error peer_not_found r2"]);
});

test("a peer of a node that has drained is waited for on the others", async () => {
  const world = new World({ nodes: 3 });
  const ben = world.join("ben", "c", { node: 1 });
  const cat = world.join("cat", "other", { node: 2 });
  world.join("ann", "c");
  world.settle();
  for (const client of [ben, cat]) client.take();
  drain(world);
  world.advance(50);
  cat.send("ann", 1);
  await pass(world, 200);
  await world.nodeAt(0).engine.close();
  ben.send("ann", 2);
  await pass(world, 1000);
  expect(ben.newFrames()).toEqual([]);
  const ann = world.connect("ann", { node: 2 });
  ann.subscribe("c");
  await pass(world, 1000);
  const [ack, roster, ...directs] = ann.newFrames();
  expect([ack, roster]).toEqual(["ack r1", "roster: ben"]);
  expect(directs.sort()).toEqual(["direct ben 2", "direct cat 1"]);
});

test("a peer that is still connected to another node is not waited for", async () => {
  const world = new World({ nodes: 3 });
  const ben = world.join("ben", "c", { node: 2 });
  world.join("ann", "c", { expiresInMs: 3000 });
  const ann = world.join("ann", "c", { node: 1 });
  world.advance(3000);
  for (const client of [ann, ben]) client.take();
  expect(world.nodes.map(({ hub }) => hub.holds.size)).toEqual([0, 0, 0]);
  ben.send("ann", 1);
  await pass(world, 50);
  expect([ann.newFrames(), ben.newFrames()]).toEqual([["direct ben 1"], ["ack r2"]]);
});

for (const [way, answer] of [
  ["says goodbye", ["error peer_not_found r1"]],
  ["is closed with 4002", ["ack r1"]],
] as const)
  test(`a send while the only connection of its receiver ${way} is not handed to that connection`, async () => {
    const world = new World();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    const { connections } = world.node.hub;
    // Messages that waited for a stream are sent like this when its last subscriber ends.
    connections.observe({ disconnected: ({ peerId }) => peerId === "ben" && ann.send("ben", 1) });
    if (way === "says goodbye") clientCloses(ben, 1000);
    else connections.expire(ben.connection);
    await turn();
    world.advance(600);
    const returned = world.connect("ben");
    world.advance(2000);
    await turn();
    expect(ann.newFrames()).toEqual([...answer]);
    expect(returned.take()).toHaveLength(answer[0] === "ack r1" ? 1 : 0);
  });
