import { describe, expect, test } from "bun:test";
import { type Client, PUBLISHABLE_KEY, SECRET_KEY, World } from "../testing/kit.ts";

/** Members of these channels stay for 30 s when they are lost. */
const GRACE = { channelRules: [{ pattern: "calls/*", graceSec: 30 }] };
const CALL = "calls/1";

function graceWorld(nodes = 1): World {
  const world = new World({ nodes });
  world.keys.editApp(GRACE);
  return world;
}

function withStates(world: World, peerId: string, channel: string, node = 0): Client {
  const client = world.connect(peerId, { node });
  client.subscribe(channel, { state: true });
  world.advance(600);
  client.take();
  return client;
}

const clientCloses = (client: Client, code: number): void => client.socket.close(code, "");

const drain = (world: World, node = 0): void => void world.nodeAt(node).gateway.drain(100);

describe("grace", () => {
  test("a member that was lost stays for its time; those with states are shown at once that it is lost", () => {
    const world = graceWorld();
    const [ann, ben] = [world.join("ann", CALL), world.join("ben", CALL)];
    const cat = withStates(world, "cat", CALL);
    ben.take();
    ann.request({ type: "state", channel: CALL, state: { n: 1 } });
    world.advance(20);
    cat.take();
    ann.vanish();
    world.advance(20);
    expect(cat.take()).toEqual([
      { type: "state", channel: CALL, changed: [{ peerId: "ann", state: { n: 1 }, lost: true }] },
    ]);
    world.advance(29_900);
    expect([ben.take(), cat.take()]).toEqual([[], []]);
    world.advance(200);
    expect([ben.newFrames(), cat.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("a client that closes with 1001 or 4000 is lost; with 1000, or after an unsubscribe, it leaves at once", () => {
    const world = graceWorld();
    const cat = world.join("cat", CALL);
    for (const [i, code] of [1001, 4000, 1005].entries()) clientCloses(world.join(`lost${i}`, CALL), code);
    cat.take();
    world.advance(1000);
    expect(cat.newFrames()).toEqual([]);
    const ann = world.join("ann", CALL);
    const ben = world.join("ben", CALL);
    cat.take();
    clientCloses(ann, 1000);
    ben.unsubscribe(CALL);
    ben.vanish();
    world.advance(20);
    expect(cat.newFrames()).toEqual(["left: ann ben"]);
  });

  test("without a grace period a lost member leaves at once", () => {
    const world = graceWorld();
    const cat = world.join("cat", "c");
    const ann = world.join("ann", "c");
    cat.take();
    ann.vanish();
    world.advance(20);
    expect(cat.newFrames()).toEqual(["left: ann"]);
  });

  test("a member that comes back was never away: nothing is shown but that it is not lost any more", () => {
    const world = graceWorld();
    const ann = world.join("ann", CALL);
    const ben = world.join("ben", CALL);
    const cat = withStates(world, "cat", CALL);
    ann.request({ type: "state", channel: CALL, state: { n: 1 } });
    world.advance(20);
    ann.vanish();
    world.advance(5000);
    for (const client of [ben, cat]) client.take();
    const again = world.connect("ann");
    again.subscribe(CALL);
    world.advance(600);
    expect(again.newFrames()).toEqual(["ack r1", "roster: ben cat"]);
    expect(ben.take()).toEqual([]);
    expect(cat.take()).toEqual([{ type: "state", channel: CALL, changed: [{ peerId: "ann", state: { n: 1 } }] }]);
    world.advance(60_000);
    expect(ben.take()).toEqual([]);
    clientCloses(again, 1000);
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a newcomer finds lost members in its roster", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    const ben = world.connect("ben");
    ben.subscribe(CALL, { state: true });
    world.advance(600);
    expect(ben.take().at(-1)?.joined).toEqual([{ peerId: "ann", state: null, lost: true }] as never);
  });

  test("a direct message to a lost member finds no one", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    const ben = world.join("ben", CALL);
    ben.send("ann", 1);
    expect(ben.newFrames()).toEqual(["error peer_not_found r2"]);
  });

  test("a kick, the revocation of the key and its narrowing end a grace", async () => {
    const ends: ((world: World) => unknown)[] = [
      (world) => world.node.hub.kicks.kick("app", "ann"),
      (world) => world.keys.editKey(SECRET_KEY, { revoked: 1 }),
      (world) => world.keys.editKey(SECRET_KEY, { channelPatterns: ["other"] }),
      (world) => world.keys.editKey(SECRET_KEY, { actions: ["subscribe"] }),
    ];
    for (const end of ends) {
      const world = graceWorld();
      const ben = world.join("ben", CALL, { key: PUBLISHABLE_KEY });
      world.join("ann", CALL).vanish();
      world.advance(100);
      ben.take();
      await end(world);
      world.advance(20);
      expect(ben.newFrames()).toEqual(["left: ann"]);
    }
  });

  test("the last connection decides: after its goodbye, one that was lost before does not count", () => {
    const world = graceWorld(2);
    const cat = world.join("cat", CALL, { node: 1 });
    const [first, second] = [world.join("ann", CALL), world.join("ann", CALL, { node: 1 })];
    cat.take();
    first.vanish();
    world.advance(100);
    clientCloses(second, 1000);
    world.advance(100);
    expect(cat.newFrames()).toEqual(["left: ann"]);
    world.advance(60_000);
    expect(cat.newFrames()).toEqual([]);
  });

  test("nothing is left of members whose time is over", () => {
    const world = graceWorld();
    world.join("ann", CALL).vanish();
    world.advance(31_000);
    expect(world.node.hub.spaces.channelCount).toBe(0);
    expect(world.node.hub.presence.lingering.size).toBe(0);
  });
});

describe("several nodes", () => {
  test("over the death of a node its members in a channel with grace are lost, the others leave", () => {
    const world = graceWorld(3);
    const cat = withStates(world, "cat", CALL, 1);
    cat.subscribe("c");
    const dan = world.join("dan", CALL, { node: 2 });
    const ann = world.connect("ann");
    ann.subscribe(CALL);
    ann.subscribe("c");
    world.settle();
    for (const client of [cat, dan]) client.take();
    world.kill(0);
    world.advance(100);
    expect(cat.take()).toContainEqual({
      type: "state",
      channel: CALL,
      changed: [{ peerId: "ann", state: null, lost: true }],
    });
    expect(dan.take()).toEqual([]);
    const eve = world.connect("eve", { node: 2 });
    eve.subscribe(CALL);
    world.advance(600);
    expect(eve.newFrames().at(-1)).toBe("roster: ann cat dan");
    cat.take();
    dan.take();
    world.advance(30_000);
    expect([cat.newFrames(), dan.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("a member that comes back on another node after its node has died was never away", () => {
    const world = graceWorld(3);
    const [cat, dan] = [world.join("cat", CALL, { node: 1 }), world.join("dan", CALL, { node: 2 })];
    world.join("ann", CALL);
    world.settle();
    for (const client of [cat, dan]) client.take();
    world.kill(0);
    world.advance(2000);
    const again = world.join("ann", CALL, { node: 2 });
    world.advance(60_000);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
    clientCloses(again, 1000);
    world.advance(100);
    expect([cat.newFrames(), dan.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("a kick and a revocation end a grace that was left by a node that is gone", async () => {
    for (const end of [
      (world: World) => world.nodeAt(1).hub.kicks.kick("app", "ann"),
      (world: World) => world.keys.editKey(SECRET_KEY, { revoked: 1 }),
    ]) {
      const world = graceWorld(3);
      const [cat, dan] = [1, 2].map((node) => world.join(`w${node}`, CALL, { node, key: PUBLISHABLE_KEY }));
      world.join("ann", CALL);
      world.settle();
      world.kill(0);
      world.advance(100);
      for (const client of [cat, dan]) client?.take();
      await end(world);
      world.advance(100);
      expect([cat?.newFrames(), dan?.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
    }
  });

  test("a rolling restart is not seen: members of a node that drains stay on the others until they are back", async () => {
    const world = new World({ nodes: 3 });
    const [cat, dan] = [world.join("cat", "c", { node: 1 }), world.join("dan", "c", { node: 2 })];
    const ann = world.join("ann", "c", { metadata: { n: 1 } });
    world.settle();
    for (const client of [cat, dan]) client.take();
    drain(world);
    world.advance(100);
    expect(ann.closeCode).toBe(1001);
    await world.nodeAt(0).engine.close();
    world.advance(3000);
    const again = world.connect("ann", { node: 1, metadata: { n: 1 } });
    again.subscribe("c");
    world.advance(600);
    expect(again.newFrames().at(-1)).toBe("roster: cat dan");
    world.advance(20_000);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
  });

  test("a member that does not come back leaves after 10 s", async () => {
    const world = new World({ nodes: 3 });
    const [cat, dan] = [world.join("cat", "c", { node: 1 }), world.join("dan", "c", { node: 2 })];
    world.join("ann", "c");
    world.settle();
    drain(world);
    world.advance(100);
    await world.nodeAt(0).engine.close();
    for (const client of [cat, dan]) client.take();
    world.advance(9500);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
    world.advance(700);
    expect([cat.newFrames(), dan.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });
});

describe("hold", () => {
  test("a token's renewal is not seen: the member stays for 10 s after 4002", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c", { expiresInMs: 5000 });
    ben.take();
    world.advance(5000);
    expect(ann.closeCode).toBe(4002);
    const again = world.join("ann", "c");
    world.advance(20_000);
    expect(ben.take()).toEqual([]);
    clientCloses(again, 1000);
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("another token's metadata is shown as new metadata", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    world.join("ann", "c", { expiresInMs: 5000, metadata: { n: 1 } });
    world.advance(5000);
    ben.take();
    world.join("ann", "c", { metadata: { n: 2 } });
    expect(ben.newFrames()).toEqual(['joined: ann{"n":2}']);
  });

  test("peers of a publishable key are not held: they come back as others", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c", { key: PUBLISHABLE_KEY });
    ben.take();
    const { connections } = world.node.hub;
    connections.expire(ann.connection);
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a resynchronisation is not seen either", async () => {
    const world = new World();
    const ben = world.join("ben", "other");
    const ann = world.connect("ann");
    for (const channel of ["c", "other"]) ann.subscribe(channel);
    world.advance(600);
    ben.take();
    const channel = world.node.hub.spaces.channel("app", "c");
    if (channel) world.node.hub.boundary.resync(channel);
    await Promise.resolve();
    expect(ann.closeCode).toBe(1001);
    world.advance(5000);
    expect(ben.take()).toEqual([]);
    world.join("ann", "other");
    world.advance(20_000);
    expect(ben.take()).toEqual([]);
  });

  test("in a channel with grace a held member counts as lost when it has not come back", () => {
    const world = graceWorld();
    const ben = withStates(world, "ben", CALL);
    world.join("ann", CALL, { expiresInMs: 2000 });
    world.advance(2000);
    ben.take();
    world.advance(9000);
    expect(ben.take()).toEqual([]);
    world.advance(1100);
    expect(ben.take().map(({ changed }) => changed)).toEqual([[{ peerId: "ann", state: null, lost: true }]]);
    world.advance(21_000);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a kick ends a hold", async () => {
    const world = new World();
    const ben = world.join("ben", "c");
    world.join("ann", "c", { expiresInMs: 2000 });
    world.advance(2000);
    ben.take();
    await world.node.hub.kicks.kick("app", "ann");
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });
});

describe("uncommitted messages", () => {
  test("a leave waits until the store has answered for the last message", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c");
    ben.take();
    const { connection } = ann;
    connection.uncommitted = 1;
    clientCloses(ann, 1000);
    world.advance(5000);
    expect(ben.take()).toEqual([]);
    connection.uncommitted = 0;
    for (const run of connection.whenCommitted ?? []) run();
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("a member that is lost meanwhile stays for its grace from then on", () => {
    const world = graceWorld();
    const ben = world.join("ben", CALL);
    const ann = world.join("ann", CALL);
    ben.take();
    const { connection } = ann;
    connection.uncommitted = 1;
    ann.vanish();
    world.advance(100);
    for (const run of connection.whenCommitted ?? []) run();
    world.advance(29_000);
    expect(ben.take()).toEqual([]);
    world.advance(2000);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });
});
