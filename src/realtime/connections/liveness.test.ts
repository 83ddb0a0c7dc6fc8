import { describe, expect, test } from "bun:test";
import { type Client, World } from "../testing/kit.ts";

const SECOND = 1000;

/** Seconds, from now, at which a client is pinged. */
function pingedAt(world: World, client: Client, seconds: number): number[] {
  const at: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    const before = client.socket.pings.length;
    world.advance(SECOND);
    for (let i = before; i < client.socket.pings.length; i++) at.push(second);
  }
  return at;
}

/** Seconds from now until a client is dropped. */
function droppedAfter(world: World, client: Client, seconds: number): number | undefined {
  for (let second = 0; second <= seconds; second++) {
    if (client.socket.closed) return second;
    world.advance(SECOND);
  }
  return undefined;
}

describe("every connection", () => {
  test("is pinged every 30 s, also when it sends and is sent to", () => {
    const world = new World();
    for (let i = 0; i < 10; i++) {
      const ann = world.join("ann", "c");
      const ben = world.join("ben", "c");
      ben.publish("c", 1);
      ann.publish("c", 1);
      const [first = 0, ...rest] = pingedAt(world, ann, 100);
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThanOrEqual(30);
      expect(rest.slice(0, 2)).toEqual([first + 30, first + 60]);
      world.advance(i * 700);
    }
  });

  test("has its own second: pings are spread over the period", () => {
    const world = new World();
    const crowd = Array.from({ length: 60 }, (_, i) => {
      const client = world.connect(`p${i}`);
      world.advance(500);
      return client;
    });
    for (let second = 0; second < 30; second++) {
      const before = crowd.reduce((sum, { socket }) => sum + socket.pings.length, 0);
      world.advance(SECOND);
      expect(crowd.reduce((sum, { socket }) => sum + socket.pings.length, -before)).toBeLessThanOrEqual(4);
    }
  });

  test("stays if it answers", () => {
    const world = new World();
    const ann = world.connect("ann");
    world.advance(3600 * SECOND);
    expect([ann.socket.closed, ann.socket.pings.length]).toEqual([undefined, 120]);
  });

  test("stays if it sends frames instead of answers, even malformed ones", () => {
    const world = new World();
    const ann = world.connect("ann").withholdPongs();
    for (let i = 0; i < 10; i++) {
      world.advance(50 * SECOND);
      ann.text(i % 2 === 0 ? '{"type":"ping"}' : "nonsense");
    }
    expect(ann.socket.closed).toBeUndefined();
  });
});

describe("a silent connection", () => {
  test("is cut after 60 s, without a closing handshake, and leaves presence", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c");
    ann.take();
    ben.withholdPongs();
    world.advance(50 * SECOND);
    expect(ben.socket.closed).toBeUndefined();
    world.advance(41 * SECOND);
    expect(ben.socket.closed).toEqual({ code: 1006, reason: "" });
    expect(ann.newFrames()).toEqual(["left: ben"]);
    expect(ann.socket.closed).toBeUndefined();
    expect(world.node.metrics.silentDrops.value).toBe(1);
    expect(world.node.hub.connections.count).toBe(1);
  });

  test("is cut even while it is sent messages", () => {
    const world = new World();
    const ben = world.join("ben", "c").withholdPongs();
    const ann = world.connect("ann");
    for (let i = 0; i < 95; i++) {
      ann.publish("c", i);
      world.advance(SECOND);
    }
    expect(ben.socket.closed?.code).toBe(1006);
  });

  test("is cut after 60 s, whenever between two pings its last frame came", () => {
    const took: (number | undefined)[] = [];
    for (let seconds = 1; seconds <= 30; seconds += 4) {
      const world = new World();
      const ben = world.connect("ben");
      world.advance(31 * SECOND);
      ben.withholdPongs();
      world.advance(seconds * SECOND);
      ben.text('{"type":"ping"}');
      took.push(droppedAfter(world, ben, 120));
    }
    for (const seconds of took) {
      expect(seconds).toBeGreaterThanOrEqual(59);
      expect(seconds).toBeLessThanOrEqual(62);
    }
  });

  test("does not affect others: they are pinged and stay", () => {
    const world = new World();
    const people = Array.from({ length: 40 }, (_, i) => world.connect(`p${i}`));
    for (const [i, one] of people.entries()) if (i % 2 === 0) one.withholdPongs();
    world.advance(100 * SECOND);
    expect(people.map((one) => one.socket.closed === undefined)).toEqual(people.map((_, i) => i % 2 === 1));
  });
});

describe("a wall clock that jumps", () => {
  for (const [name, ms] of [
    ["forward", 86_400_000],
    ["back", -86_400_000],
  ] as const) {
    test(`${name} by a day drops no connection, and pings continue`, () => {
      const world = new World();
      const ann = world.connect("ann");
      world.advance(10 * SECOND);
      world.clock.jump(ms);
      expect(pingedAt(world, ann, 90).length).toBe(3);
      world.clock.jump(ms);
      world.connect("ben");
      world.advance(200 * SECOND);
      expect([ann.socket.closed, world.node.hub.connections.count]).toEqual([undefined, 2]);
    });
  }
});

test("pings resume when a client connects after all had disconnected", () => {
  const world = new World();
  world.connect("ann").vanish();
  world.advance(100 * SECOND);
  expect(world.clock.waiting).toBe(0);
  const ben = world.connect("ben");
  expect(pingedAt(world, ben, 90).length).toBe(3);
});
