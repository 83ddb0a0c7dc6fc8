import { describe, expect, test } from "bun:test";
import { type Client, PUBLISHABLE_KEY, SECRET_KEY, World } from "../testing/kit.ts";

/** How long a client stays connected, in steps of 10 ms; undefined: longer than `maxMs`. */
function staysMs(world: World, client: Client, maxMs: number): number | undefined {
  for (let ms = 0; ms <= maxMs; ms += 10) {
    if (client.closeCode !== undefined) return ms;
    world.advance(10);
  }
  return undefined;
}

describe("a token's expiry", () => {
  test("closes with 4002 about 250 ms before it, whatever the fraction of a second, never later", () => {
    for (const expiresInMs of [1000, 1234, 4990, 5049, 60_001]) {
      const world = new World();
      const ann = world.connect("ann", { expiresInMs });
      const leftMs = expiresInMs - (staysMs(world, ann, expiresInMs + 1000) ?? Number.POSITIVE_INFINITY);
      expect(leftMs).toBeGreaterThanOrEqual(100);
      expect(leftMs).toBeLessThanOrEqual(260);
      expect([ann.closeCode, ann.newFrames()]).toEqual([4002, []]);
    }
  });

  test("closes each connection at its own time, in whatever order they connected", () => {
    const world = new World();
    const clients = [5000, 1000, 3000].map((expiresInMs) => world.connect("ann", { expiresInMs }));
    const open = (): boolean[] => clients.map((client) => client.closeCode === undefined);
    world.advance(1000);
    expect(open()).toEqual([true, false, true]);
    world.advance(2000);
    expect(open()).toEqual([true, false, false]);
    world.advance(2000);
    expect(open()).toEqual([false, false, false]);
  });

  test("does not apply to a connection without one", () => {
    const world = new World();
    const clients = [world.connect("ann"), world.connect("x", { key: PUBLISHABLE_KEY })];
    world.connect("ben", { expiresInMs: 1000 });
    world.clock.jump(366 * 86_400_000);
    world.advance(5000);
    expect(clients.map((client) => client.closeCode)).toEqual([undefined, undefined]);
  });

  test("that passed while the machine was suspended ends the connection as soon as timers run", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { expiresInMs: 3_600_000 });
    ann.take();
    world.clock.jump(8 * 3_600_000);
    world.advance(60);
    expect(ben.closeCode).toBe(4002);
    world.advance(9000);
    expect(ann.newFrames()).toEqual([]);
    world.advance(1100);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });

  test("is checked with each frame, so that an expired token cannot be used before the timer fires", () => {
    for (const frame of ['{"type":"publish","channel":"c","data":1}', '{"type":"ping"}', "nonsense", Buffer.alloc(1)]) {
      const world = new World();
      const ann = world.join("ann", "c");
      const ben = world.connect("ben", { expiresInMs: 3_600_000 });
      world.clock.jump(3_600_000 - 250);
      ben.socket.message(frame);
      expect([ben.closeCode, ben.newFrames(), ann.newFrames()]).toEqual([4002, [], []]);
    }
  });

  test("lets a frame 300 ms before it through", () => {
    const world = new World();
    const ben = world.connect("ben", { expiresInMs: 3_600_000 });
    world.clock.jump(3_600_000 - 300);
    ben.publish("c", 1);
    expect(ben.newFrames()).toEqual(["ack r1"]);
  });

  test("is not early when the wall clock is set back, and late by no more than that", () => {
    const world = new World();
    const ann = world.connect("ann", { expiresInMs: 10_000 });
    world.clock.jump(-5000);
    world.advance(14_000);
    expect(ann.closeCode).toBeUndefined();
    world.advance(1000);
    expect(ann.closeCode).toBe(4002);
  });
});

describe("the grace of a rotated secret", () => {
  test("ends the connections it signed: token_expired, then 4002; those of the new secret stay", () => {
    const world = new World();
    const old = world.connect("old", { expiresInMs: 3_600_000 });
    const key = world.connect("key", { key: PUBLISHABLE_KEY });
    world.keys.rotate(SECRET_KEY, 60_000);
    const fresh = world.connect("fresh", { expiresInMs: 3_600_000 });
    world.advance(59_900);
    expect([old.closeCode, old.newFrames()]).toEqual([undefined, []]);
    world.advance(200);
    expect([old.closeCode, old.newFrames()]).toEqual([4002, ["error token_expired"]]);
    world.advance(1_000_000);
    expect([fresh.closeCode, key.closeCode]).toEqual([undefined, undefined]);
  });

  test("of zero ends them at once", () => {
    const world = new World();
    const old = world.connect("old", { expiresInMs: 3_600_000 });
    world.keys.rotate(SECRET_KEY, 0);
    expect([old.closeCode, old.newFrames()]).toEqual([4002, ["error token_expired"]]);
  });

  test("is each secret's own", () => {
    const world = new World();
    const first = world.connect("first");
    world.keys.rotate(SECRET_KEY, 10_000);
    const second = world.connect("second");
    world.keys.rotate(SECRET_KEY, 5000);
    world.advance(5100);
    expect([first.closeCode, second.closeCode]).toEqual([undefined, 4002]);
    world.advance(5000);
    expect(first.closeCode).toBe(4002);
  });

  test("does not matter to a token that expires before it", () => {
    const world = new World();
    const ann = world.connect("ann", { expiresInMs: 5000 });
    world.keys.rotate(SECRET_KEY, 60_000);
    world.advance(5000);
    expect([ann.closeCode, ann.newFrames()]).toEqual([4002, []]);
  });

  test("that is over when a frame comes ends the connection with the error, and the frame does nothing", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    world.keys.rotate(SECRET_KEY, 60_000);
    world.clock.jump(60_000);
    ben.publish("c", 1);
    expect([ben.closeCode, ben.newFrames(), ann.newFrames()]).toEqual([4002, ["error token_expired"], []]);
  });
});
