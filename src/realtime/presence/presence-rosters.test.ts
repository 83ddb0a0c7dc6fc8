/** When a newcomer gets its roster, and what is in it. */
import { describe, expect, test } from "bun:test";
import { type Client, type Received, World } from "../testing/kit.ts";

const presenceOf = (frames: readonly Received[]): Received[] => frames.filter((frame) => frame.type === "presence");

describe("the roster", () => {
  test("follows the ack and a ping, on the first tick after the pong, even when it is empty", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
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

  test("waits for the pong of its own ping or a later one, not of an earlier one", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
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

  test("does not come after liveness pings and unsolicited pongs", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    ann.take();
    for (const payload of ["", "x", "0", "-1"]) ann.socket.pong(payload);
    world.advance(50);
    expect(ann.newFrames()).toEqual([]);
  });

  test("comes 500 ms after the ack at the latest, even without a pong", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    world.advance(7);
    ann.subscribe("c");
    world.advance(400);
    expect(ann.newFrames()).toEqual(["ack r1"]);
    world.advance(100);
    expect(ann.newFrames()).toEqual(["roster:"]);
  });

  test("has its own 500 ms for each subscription", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    world.advance(100);
    ann.subscribe("d");
    world.advance(1000);
    const rosters = presenceOf(ann.take());
    expect(rosters.map((frame) => frame.channel)).toEqual(["c", "d"]);
  });

  test("is not written twice when the pong comes after the deadline", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    ann.subscribe("c");
    world.advance(600);
    ann.take();
    ann.socket.pong();
    world.advance(600);
    expect(ann.newFrames()).toEqual([]);
  });

  test("comes before any other presence frame, but not before messages", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.connect("ann").withholdPongs();
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

  test("has all members but its receiver, with their metadata", () => {
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

  test("leaves out another connection of its receiver as well", () => {
    const world = new World();
    world.join("ann", "c", { metadata: { at: "home" } });
    world.join("ben", "c");
    const second = world.connect("ann", { metadata: { at: "work" } });
    second.subscribe("c");
    world.advance(20);
    expect(second.newFrames()).toEqual(["ack r1", "roster: ben"]);
  });

  test("comes again after a repeated subscribe, behind its own ack and ping; others see nothing of it", () => {
    const world = new World();
    const [ann, ben] = [world.join("ann", "c"), world.join("ben", "c")];
    ann.take();
    ann.withholdPongs().subscribe("c");
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

  test("asked for twice within one tick is written once, and changes are shown once from then on", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    for (let i = 0; i < 2; i++) {
      ann.subscribe("c");
      ann.socket.pong();
    }
    world.advance(10);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "roster:"]);
    world.connect("ben").subscribe("c");
    world.advance(20);
    expect(ann.newFrames()).toEqual(["joined: ben"]);
    // ann's roster, ben's join for ann, ben's roster: no frame was counted twice.
    expect(world.node.metrics.presenceFrames.value).toBe(3);
  });
});

test("a subscribe repeated between pong and tick waits for its own pong", () => {
  const world = new World();
  const ann = world.connect("ann").withholdPongs();
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
    test(`a client that ${name} while its roster waits for the pong is never shown and gets no roster`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").withholdPongs();
      ben.subscribe("c");
      go(ben);
      ben.socket.pong();
      world.advance(600);
      expect(ann.newFrames()).toEqual([]);
      expect(presenceOf(ben.take())).toEqual([]);
    });

    test(`a client that has published and ${name} while its roster waits for the pong is shown as left`, () => {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben").withholdPongs();
      ben.subscribe("c");
      ben.publish("c", 1);
      go(ben);
      world.advance(600);
      expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1", "left: ben"]);
    });
  }

  test("a roster after an unsubscribe and a new subscribe is written once", () => {
    const world = new World();
    const ben = world.connect("ben").withholdPongs();
    ben.subscribe("c");
    ben.unsubscribe("c");
    ben.subscribe("c");
    ben.socket.pong("1");
    world.advance(20);
    expect(ben.newFrames()).toEqual(["ack r1", "ack r2", "ack r3"]);
    ben.socket.pong("2");
    world.advance(600);
    expect([ben.newFrames(), ben.connection.awaitingPong]).toEqual([["roster:"], 0]);
  });
});
