/** A peer with connections on several nodes is one member. */
import { describe, expect, test } from "bun:test";
import { ALL_CHANNELS, APP, type Client, turn, UNCHARGED } from "../testing/kit.ts";
import { everywhere, LATE_MS, watching, worldOf } from "../testing/watchers.ts";

describe("a peer with connections on several nodes", () => {
  test("is one member: it joins with the first on any node and leaves with the last", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const here = world.connect("ann", { node: 0 });
    const there = world.connect("ann", { node: 1 });
    here.subscribe("c");
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "joined: ann"));
    there.subscribe("c");
    world.settle();
    here.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world));
    there.unsubscribe("c");
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "left: ann"));
  });

  test("has the metadata of its newest connection on every node; when that ends, of the one before", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const join = (node: number, metadata: number): Client => {
      const client = world.connect("ann", { node, metadata });
      client.subscribe("c");
      world.settle();
      return client;
    };
    const [first, second, third] = [join(0, 1), join(1, 2), join(0, 3)];
    expect(newFrames()).toEqual(everywhere(world, "joined: ann1", "joined: ann2", "joined: ann3"));
    second.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world));
    third.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "joined: ann1"));
    first.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "left: ann1"));
  });

  test("does not change when an older connection subscribes later", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const older = world.connect("ann", { node: 0, metadata: 1 });
    world.advance(1);
    world.connect("ann", { node: 1, metadata: 2 }).subscribe("c");
    world.settle();
    older.subscribe("c");
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "joined: ann2"));
  });

  test("has the same metadata on every node when two connections were made in one millisecond", () => {
    const world = worldOf();
    const { clients } = watching(world);
    const here = world.connect("ann", { node: 1, metadata: "here" });
    const there = world.connect("ann", { node: 0, metadata: "there" });
    here.subscribe("c");
    there.subscribe("c");
    world.settle();
    for (const client of clients) client.subscribe("c");
    world.settle();
    const shown = clients.map((client) => client.take().findLast((frame) => frame.snapshot)?.joined);
    const ann = shown.map((roster) => roster?.find((entry) => entry.peerId === "ann")?.metadata);
    expect(new Set(ann).size).toBe(1);
  });

  test("that moves to another node before its old socket is closed never flaps", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const old = world.connect("ann", { node: 0 });
    old.subscribe("c");
    world.settle();
    newFrames();
    const fresh = world.connect("ann", { node: 1 }).withholdPongs();
    fresh.subscribe("c");
    world.advance(50);
    old.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world));
  });

  test("whose old connection ends between the new one's ack and roster never flaps either", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const old = world.connect("ann", { node: 0 });
    old.subscribe("c");
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "joined: ann"));
    const young = world.connect("ann", { node: 1 }).withholdPongs();
    young.subscribe("c");
    expect(young.newFrames()).toEqual(["ack r1"]);
    old.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world));
    world.advance(600);
    expect(newFrames()).toEqual(everywhere(world));
  });

  test("that subscribes on one node and publishes on another joins before its message, on every node, once", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const silent = world.connect("ann", { node: 0 }).withholdPongs();
    silent.subscribe("c");
    world.advance(LATE_MS + 1);
    expect(newFrames()).toEqual(everywhere(world));
    world.connect("ann", { node: 1 }).publish("c", 1);
    world.advance(2 * LATE_MS);
    expect(newFrames()).toEqual(everywhere(world, "joined: ann", "message ann 1"));
    silent.socket.pong();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world));
    silent.vanish();
    world.settle();
    expect(newFrames()).toEqual(everywhere(world, "left: ann"));
  });

  test("that subscribes and leaves before its roster is never shown", () => {
    const world = worldOf();
    const { newFrames } = watching(world);
    const silent = world.connect("ann", { node: 0 }).withholdPongs();
    silent.subscribe("c");
    world.advance(LATE_MS + 1);
    silent.vanish();
    world.settle();
    world.advance(600);
    expect(newFrames()).toEqual(everywhere(world));
  });

  test("is among the members of a channel from its ack on, on every node", async () => {
    const world = worldOf();
    const ann = world.connect("ann", { node: 1, metadata: 1 }).withholdPongs();
    ann.subscribe("c");
    for (const { hub } of world.nodes)
      expect((await hub.occupancy.members(APP, "c"))?.map(({ peerId }) => peerId)).toEqual(["ann"]);
    ann.unsubscribe("c");
    for (const { hub } of world.nodes) expect(await hub.occupancy.members(APP, "c")).toEqual([]);
  });

  test("gets a direct message on all of them, and the sender one ack; an unknown peer is peer_not_found", async () => {
    const world = worldOf();
    const ann = [0, 1, 1].map((node) => world.connect("ann", { node }));
    const ben = world.connect("ben", { node: 2, metadata: { b: 1 } });
    ben.send("ann", 1);
    ben.send("absent", 2);
    expect(ben.newFrames()).toEqual([]);
    world.settle();
    await turn();
    expect(ben.newFrames()).toEqual(["ack r1", "error peer_not_found r2"]);
    for (const one of ann)
      expect(one.take()).toEqual([{ type: "direct", from: "ben", fromMetadata: { b: 1 }, data: 1 }]);
  });

  test("is kicked from all of them", async () => {
    const world = worldOf();
    const ann = [0, 1, 1].map((node) => world.connect("ann", { node }));
    expect(await world.nodeAt(0).hub.kicks.kick(APP, "ann")).toBe(3);
    expect(ann.map((one) => one.closeCode)).toEqual([4020, 4020, 4020]);
  });

  test("counts as one peer, and each of its connections as one", async () => {
    const world = worldOf();
    for (const node of [0, 1, 1]) world.connect("ann", { node, metadata: node }).subscribe("c");
    world.connect("ben", { node: 2 }).subscribe("d");
    world.settle();
    for (const { hub } of world.nodes) {
      expect(await hub.occupancy.channels(APP, ALL_CHANNELS, UNCHARGED)).toEqual({
        data: [
          { channel: "c", peers: 1, connections: 3 },
          { channel: "d", peers: 1, connections: 1 },
        ],
        next: null,
      });
      expect((await hub.occupancy.members(APP, "c"))?.map((one) => [one.peerId, one.metadataJson])).toEqual([
        ["ann", "1"],
      ]);
      expect(hub.occupancy.connectionsOf(APP)).toBe(4);
    }
  });
});
