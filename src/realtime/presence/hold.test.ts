import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { delayed } from "../../engine/testing/traffic.ts";
import { CALL, clientCloses, drain, graceWorld, withStates } from "../testing/grace.ts";
import { PUBLISHABLE_KEY, SECOND_KEY, SECRET_KEY, World } from "../testing/kit.ts";

const APP = anAppId("app");

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
    const returned = world.join("ann", CALL, { node: 2 });
    world.advance(60_000);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
    clientCloses(returned, 1000);
    world.advance(100);
    expect([cat.newFrames(), dan.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("a node that watches the channel since a node has died shows the end of a grace in time", () => {
    const world = graceWorld(3);
    const cat = world.join("cat", CALL, { node: 1 });
    world.join("ann", CALL);
    world.settle();
    world.kill(0);
    world.advance(1000);
    const dan = world.connect("dan", { node: 2 });
    dan.subscribe(CALL);
    world.advance(600);
    expect(dan.newFrames().at(-1)).toBe("roster: ann cat");
    cat.take();
    world.advance(28_000);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
    world.advance(600);
    expect([cat.newFrames(), dan.newFrames()]).toEqual([["left: ann"], ["left: ann"]]);
  });

  test("of two connections that were lost one after the other, the last one counts, also if it was the older one", () => {
    const world = graceWorld(2);
    const cat = world.join("cat", CALL);
    const older = world.connect("ann", { node: 1 });
    const newer = world.join("ann", CALL);
    world.advance(10);
    older.subscribe(CALL);
    world.settle();
    cat.take();
    newer.vanish();
    world.advance(20_000);
    world.kill(1);
    world.advance(29_500);
    expect(cat.take()).toEqual([]);
    world.advance(1000);
    expect(cat.newFrames()).toEqual(["left: ann"]);
  });

  test("a peer that is kicked before the others notice that its node has died has no grace, one that was back since has", async () => {
    for (const isBack of [false, true]) {
      const world = graceWorld(3);
      const cat = world.join("cat", CALL, { node: 1 });
      world.join("ann", CALL);
      world.settle();
      // The node still answers to the kick, but the connection is as one that the kick has not reached.
      if (!isBack) world.nodeAt(0).hub.kicks.kickHere = () => 0;
      await world.nodeAt(1).hub.kicks.kick(APP, "ann");
      world.advance(100);
      if (isBack) world.join("ann", CALL);
      cat.take();
      world.kill(0);
      world.advance(100);
      expect(cat.newFrames()).toEqual(isBack ? [] : ["left: ann"]);
    }
  });

  test("a kick and a revocation end a grace that was left by a node that is gone", async () => {
    for (const end of [
      (world: World) => world.nodeAt(1).hub.kicks.kick(APP, "ann"),
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
    const returned = world.connect("ann", { node: 1, metadata: { n: 1 } });
    returned.subscribe("c");
    world.advance(600);
    expect(returned.newFrames().at(-1)).toBe("roster: cat dan");
    world.advance(20_000);
    expect([cat.take(), dan.take()]).toEqual([[], []]);
  });

  test("members of a node that leaves the others before its next tick stay too", async () => {
    const world = new World({ nodes: 2 });
    const cat = world.join("cat", "c", { node: 1 });
    world.join("ann", "c");
    world.settle();
    cat.take();
    drain(world);
    world.nodeAt(0).hub.expectedBack.announceChanges();
    await world.nodeAt(0).engine.close();
    world.advance(5000);
    expect(cat.take()).toEqual([]);
    world.join("ann", "c", { node: 1 });
    world.advance(20_000);
    expect(cat.take()).toEqual([]);
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

test("a node that says a member lingers for years is not believed", () => {
  const world = new World({ nodes: 2 });
  const cat = world.join("cat", "c", { node: 1 });
  const lingers = { why: "lost", untilMs: world.clock.wallMs() + 1e12, keyId: "" } as const;
  const state = { peerId: "eve", metadataJson: undefined, since: 1, node: "n9", lingers };
  world.nodeAt(1).hub.engineCallbacks.membersChanged("n9", APP, "c", [state], []);
  world.advance(100);
  expect(cat.newFrames()).toEqual(["joined: eve"]);
  world.advance(130_000);
  expect(cat.newFrames()).toEqual(["left: eve"]);
});

describe("hold", () => {
  test("a token's renewal is not seen: the member stays for 10 s after 4002", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const ann = world.join("ann", "c", { expiresInMs: 5000 });
    ben.take();
    world.advance(5000);
    expect(ann.closeCode).toBe(4002);
    const returned = world.join("ann", "c");
    world.advance(20_000);
    expect(ben.take()).toEqual([]);
    clientCloses(returned, 1000);
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("connections on two nodes that expire together, one of them new, are held", () => {
    const world = new World({ nodes: 2, traffic: delayed(5) });
    const ben = world.join("ben", "c", { node: 1 });
    const ann = world.join("ann", "c");
    const other = world.connect("ann", { node: 1 });
    world.settle();
    ben.take();
    other.subscribe("c");
    for (const { connection, node } of [ann, other]) node.hub.connections.expire(connection);
    world.advance(5000);
    expect(ben.take()).toEqual([]);
  });

  test("connections of a peer that expire together are held as the newest one, also if others have ended before", () => {
    const world = new World();
    const ben = world.join("ben", "c");
    const expiresInMs = 5000;
    const dan = world.connect("dan", { expiresInMs });
    world.connect("ann", { expiresInMs, metadata: { n: 1 } }).subscribe("c");
    world.advance(5);
    const newest = world.connect("ann", { expiresInMs: expiresInMs - 5, metadata: { n: 2 } });
    newest.subscribe("c");
    world.advance(600);
    expect(ben.take().at(-1)?.joined).toEqual([{ peerId: "ann", metadata: { n: 2 } }]);
    dan.vanish();
    world.advance(5000);
    expect(newest.closeCode).toBe(4002);
    expect(ben.take()).toEqual([]);
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
    const channel = world.node.hub.spaces.channel(APP, "c");
    if (channel) world.node.hub.boundary.resync(channel);
    await Promise.resolve();
    expect(ann.closeCode).toBe(1001);
    world.advance(5000);
    expect(ben.take()).toEqual([]);
    world.join("ann", "other");
    world.advance(20_000);
    expect(ben.take()).toEqual([]);
  });

  for (const way of ["resynchronisation", "drain"])
    test(`a peer whose connections a ${way} closes together is held as its newest one, whichever key that has`, async () => {
      const world = new World({ nodes: 2 });
      const ben = world.join("ben", "c", { node: 1 });
      // The connections of the first key come first in the order of keys.
      world.connect("dan", { key: SECRET_KEY });
      world.join("ann", "c", { key: SECOND_KEY, metadata: { n: 1 } });
      world.advance(10);
      const newest = world.join("ann", "c", { key: SECRET_KEY, metadata: { n: 2 } });
      world.settle();
      expect(ben.take().at(-1)?.joined).toEqual([{ peerId: "ann", metadata: { n: 2 } }]);
      if (way === "drain") drain(world);
      else world.node.hub.engineCallbacks.lost(APP, "c");
      await Promise.resolve();
      expect(newest.closeCode).toBe(1001);
      world.advance(5000);
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
    await world.node.hub.kicks.kick(APP, "ann");
    world.advance(20);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });
});
