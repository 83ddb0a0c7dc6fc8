/** When a newcomer gets its roster, and what is in it. */
import { describe, expect, test } from "bun:test";
import { type Client, type Received, World } from "./testing/kit.ts";

const presenceOf = (frames: readonly Received[]): Received[] => frames.filter((frame) => frame.type === "presence");

describe("the roster", () => {
  test("follows the ack behind a ping: on the first tick after its pong, also when it is empty", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    expect(ann.newFrames()).toEqual(["ack r1"]);
    expect(ann.socket.pings).toEqual(["1"]);
    world.advance(200);
    expect(ann.newFrames()).toEqual([]);
    ann.socket.pong();
    world.advance(9);
    expect(ann.newFrames()).toEqual([]);
    world.advance(1);
    expect(ann.socket.written.at(-1)).toBe('{"type":"presence","channel":"c","joined":[],"left":[],"snapshot":true}');
  });

  test("an earlier ping's pong does not open it, a later one's does", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    ann.subscribe("d");
    ann.take();
    ann.socket.pong("1");
    world.advance(20);
    expect(presenceOf(ann.take()).map((frame) => frame.channel)).toEqual(["c"]);
    ann.subscribe("e");
    ann.socket.pong("3");
    world.advance(20);
    expect(presenceOf(ann.take()).map((frame) => frame.channel)).toEqual(["d", "e"]);
  });

  test("liveness pings and strange pongs open nothing", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    ann.take();
    for (const payload of ["", "x", "0", "-1"]) ann.socket.pong(payload);
    world.advance(50);
    expect(ann.newFrames()).toEqual([]);
  });

  test("is there 500 ms after the ack at the latest, though no pong ever came", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    world.advance(7);
    ann.subscribe("c");
    world.advance(400);
    expect(ann.newFrames()).toEqual(["ack r1"]);
    world.advance(100);
    expect(ann.newFrames()).toEqual(["roster:"]);
  });

  test("each subscription without a pong has its own 500 ms", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    world.advance(100);
    ann.subscribe("d");
    world.advance(1000);
    const rosters = presenceOf(ann.take());
    expect(rosters.map((frame) => frame.channel)).toEqual(["c", "d"]);
  });

  test("a pong that comes after the deadline writes no second one", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    world.advance(600);
    ann.take();
    ann.socket.pong();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("no other presence frame comes between ack and roster, and messages do", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.connect("ann").holdPongs();
    ann.subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(20);
    ben.publish("c", 1);
    cat.vanish();
    world.advance(20);
    ann.socket.pong();
    world.advance(10);
    expect(ann.newFrames()).toEqual(["ack r1", "message ben 1", "roster: ben"]);
  });

  test("shows everybody but oneself, wherever one stands in it, with metadata where there is some", () => {
    const world = new World();
    const people = ["ann", "ben", "cat"].map((name, i) => world.join(name, "c", i === 1 ? { metadata: { i } } : {}));
    for (const client of people) client.subscribe("c");
    world.advance(20);
    expect(people.map((client) => client.newFrames().slice(-1))).toEqual([
      ['roster: ben{"i":1} cat'],
      ["roster: ann cat"],
      ['roster: ann ben{"i":1}'],
    ]);
  });

  test("leaves out another connection of oneself as well", () => {
    const world = new World();
    world.join("ann", "c", { metadata: { at: "home" } });
    world.join("ben", "c");
    const again = world.connect("ann", { metadata: { at: "work" } });
    again.subscribe("c");
    world.advance(20);
    expect(again.newFrames()).toEqual(["ack r1", "roster: ben"]);
  });

  test("comes again on a repeated subscribe, behind its own ack and ping, and nobody else notices", () => {
    const world = new World();
    const [ann, ben] = [world.join("ann", "c"), world.join("ben", "c")];
    ann.take();
    ann.holdPongs().subscribe("c");
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(50);
    expect(ann.newFrames()).toEqual(["ack r2"]);
    ann.socket.pong();
    world.advance(10);
    expect(ann.newFrames()).toEqual(["roster: ben cat"]);
    ann.subscribe("c");
    cat.vanish();
    world.advance(20);
    expect(ann.newFrames()).toEqual(["ack r3"]);
    ann.socket.pong();
    world.advance(10);
    expect(ann.newFrames()).toEqual(["roster: ben"]);
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["message ben 1"]);
    expect(ben.newFrames()).toEqual(["joined: cat", "left: cat", "ack r2"]);
  });

  test("asked for twice within one tick is written once, and changes are told once from then on", () => {
    const world = new World();
    const ann = world.connect("ann").holdPongs();
    for (let i = 0; i < 2; i++) {
      ann.subscribe("c");
      ann.socket.pong();
    }
    world.advance(10);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "roster:"]);
    world.connect("ben").subscribe("c");
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
    // ann's roster and her news of ben, ben's roster: nobody was counted twice.
    expect(world.node.metrics.presenceFrames.value).toBe(3);
  });
});

test("a subscribe repeated between pong and tick waits for its own pong", () => {
  const world = new World();
  const ann = world.connect("ann").holdPongs();
  ann.subscribe("c");
  ann.socket.pong();
  ann.subscribe("c");
  world.advance(100);
  expect(ann.newFrames()).toEqual(["ack r1", "ack r2"]);
  ann.socket.pong();
  world.advance(10);
  expect(ann.newFrames()).toEqual(["roster:"]);
});

describe("unsubscribing or vanishing before the roster", () => {
  const ways: [string, (ben: Client) => void][] = [
    ["unsubscribes", (ben) => void ben.unsubscribe("c")],
    ["vanishes", (ben) => ben.vanish()],
  ];
  for (const [name, go] of ways) {
    test(`one who ${name} while its pong is awaited is never shown and gets no roster`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").holdPongs();
      ben.subscribe("c");
      go(ben);
      ben.socket.pong();
      world.advance(600);
      expect(ann.newFrames()).toEqual([]);
      expect(presenceOf(ben.take())).toEqual([]);
    });

    test(`one who has spoken and ${name} while its pong is awaited is told as left`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").holdPongs();
      ben.subscribe("c");
      ben.publish("c", 1);
      go(ben);
      world.advance(600);
      expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1", "left: ben"]);
    });
  }

  test("a roster for a subscription that was given up and taken again is written once, for the new one", () => {
    const world = new World();
    const ben = world.connect("ben").holdPongs();
    ben.subscribe("c");
    ben.unsubscribe("c");
    ben.subscribe("c");
    ben.socket.pong("1");
    world.advance(20);
    expect(ben.newFrames()).toEqual(["ack r1", "ack r2", "ack r3"]);
    ben.socket.pong("2");
    world.advance(600);
    expect([ben.newFrames(), ben.peer.gated]).toEqual([["roster:"], 0]);
  });
});
