/** Several nodes: everything that holds on one node holds between them, however long transport takes. */
import { describe, expect, test } from "bun:test";
import { delayed, shuffled } from "../../engine/testing/traffic.ts";
import { APP, type Client, leftovers } from "../testing/kit.ts";
import { everywhere, LATE_MS, watchers, watching, worldOf } from "../testing/watchers.ts";

describe("between nodes", () => {
  test("the first subscriber of a node finds the members of other nodes in its roster", () => {
    const world = worldOf();
    for (const node of [0, 1]) world.connect(`p${node}`, { node, metadata: node }).subscribe("c");
    world.settle();
    const ann = world.connect("ann", { node: 2 });
    ann.subscribe("c");
    world.settle();
    expect(ann.newFrames()).toEqual(["ack r1", "roster: p00 p11"]);
  });

  test("a node that comes later finds the members and follows their changes, as the first one does", () => {
    const world = worldOf(1);
    const [ann, ben] = [world.connect("ann", { metadata: 1 }), world.connect("ben")];
    for (const client of [ann, ben]) client.subscribe("c");
    world.settle();
    world.start();
    const cat = world.connect("cat", { node: 1 });
    cat.subscribe("c");
    world.settle();
    expect(cat.newFrames()).toEqual(["ack r1", "roster: ann1 ben"]);
    ben.vanish();
    world.settle();
    expect(cat.newFrames()).toEqual(["left: ben"]);
    // Alone again, the first one forgets what no one can ask for any more.
    world.kill(1);
    world.settle();
    ann.vanish();
    world.settle();
    expect(leftovers(world)).toEqual({});
  });

  test("members that came between a node's start and its first subscriber are announced once", () => {
    const world = worldOf(1);
    world.connect("ann").subscribe("c");
    world.settle();
    world.start();
    const ben = world.connect("ben");
    ben.subscribe("c");
    world.settle();
    const cat = world.connect("cat", { node: 1 });
    cat.subscribe("c");
    world.settle();
    ben.vanish();
    world.settle();
    expect(cat.newFrames()).toEqual(["ack r1", "roster: ann ben", "left: ben"]);
  });

  test("a message reaches every node's subscribers once, in order, but not the sending connection", () => {
    const world = worldOf();
    const { clients } = watching(world);
    const [sender] = clients as [Client];
    const [other] = watchers(world) as [Client];
    for (const client of [...clients, other]) client.take();
    for (let i = 0; i < 20; i++) {
      sender.publish("c", i);
      if (i % 3 === 0) world.advance(1);
    }
    world.settle();
    const heard = (client: Client): unknown[] =>
      client
        .take()
        .filter((frame) => frame.type === "message")
        .map((frame) => frame.data);
    const all = Array.from({ length: 20 }, (_, i) => i);
    expect([...clients, other].map(heard)).toEqual([[], all, all, all]);
  });

  for (const [name, traffic] of [
    ["slow", () => delayed(LATE_MS)],
    ["of random speed", () => shuffled(5)],
  ] as const) {
    test(`a member is known before its message when transport is ${name}`, () => {
      const world = worldOf(3, traffic());
      const { newFrames } = watching(world);
      const ann = world.connect("ann", { node: 0 }).withholdPongs();
      ann.subscribe("c");
      ann.publish("c", 1);
      ann.unsubscribe("c");
      ann.publish("c", 2);
      world.settle();
      expect(newFrames()).toEqual(everywhere(world, "joined: ann", "message ann 1", "left: ann", "message ann 2"));
    });
  }

  test("a member is known before its direct message, even before its node's tick", () => {
    const world = worldOf(2);
    const { clients } = watching(world);
    const ann = world.connect("ann", { node: 0 }).withholdPongs();
    ann.subscribe("c");
    ann.send("w1", 1);
    world.advance(LATE_MS + 1);
    expect(clients[1]?.newFrames()).toEqual(["joined: ann", "direct ann 1"]);
  });

  test("a leave on another node is shown before the peer's message, even if its connection here has ended", () => {
    const world = worldOf(2);
    const here = world.connect("ann", { node: 0 });
    const there = world.connect("ann", { node: 1 });
    there.subscribe("c");
    const { clients } = watching(world);
    here.vanish();
    world.settle();
    there.unsubscribe("c");
    there.publish("c", 1);
    world.settle();
    expect(clients[0]?.newFrames()).toEqual(["left: ann", "message ann 1"]);
  });

  test("a peer that leaves, rejoins and publishes within a tick, alone on its node, stays known on other nodes", () => {
    const world = worldOf(2);
    const ann = world.connect("ann", { node: 0 });
    ann.subscribe("c");
    const far = world.connect("far", { node: 1 });
    far.subscribe("c");
    world.settle();
    far.take();
    ann.unsubscribe("c");
    ann.subscribe("c");
    ann.publish("c", 1);
    world.settle();
    expect(far.newFrames()).toEqual(["message ann 1"]);
    far.subscribe("c");
    world.settle();
    expect(far.newFrames()).toEqual(["ack r2", "roster: ann"]);
  });

  test("a node counts its own connections only; other nodes report theirs", () => {
    const world = worldOf(2);
    for (const node of [0, 1]) world.connect(`p${node}`, { node }).subscribe("c");
    world.settle();
    expect(world.nodes.map(({ hub }) => hub.occupancy.localChannels(APP).counts)).toEqual([
      [{ channel: "c", peerIds: ["p0"], connections: 1 }],
      [{ channel: "c", peerIds: ["p1"], connections: 1 }],
    ]);
  });

  test("the members of a node that dies leave, in one frame per channel; peers with other connections stay", () => {
    const world = worldOf();
    const { clients } = watching(world);
    for (const client of clients) client.subscribe("d");
    for (const name of ["p", "q", "r"]) {
      const client = world.connect(name, { node: 2 });
      for (const channel of ["c", "d"]) client.subscribe(channel);
    }
    world.connect("p", { node: 1 }).subscribe("d");
    world.settle();
    for (const client of clients) client.take();
    world.kill(2);
    world.settle();
    for (const client of clients.slice(0, 2))
      expect(
        client.take().map((frame) => [frame.channel, frame.joined?.length, frame.left?.map((one) => one.peerId)]),
      ).toEqual([
        ["c", 0, ["w2", "p", "q", "r"]],
        ["d", 0, ["w2", "q", "r"]],
      ]);
  });

  test("a node that dies while its peers publish leaves no member behind", () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = worldOf(2, shuffled(seed));
      const [ann] = watchers(world) as [Client];
      for (let i = 0; i < 5; i++) {
        const eve = world.connect(`eve${i}`, { node: 1, pongAfterMs: 0 });
        eve.subscribe("c");
        world.advance(11);
        eve.publish("c", i);
      }
      world.kill(1);
      world.settle();
      ann.take();
      ann.subscribe("c");
      world.settle();
      expect(ann.newFrames()).toEqual(["ack r2", "roster:"]);
    }
  });

  test("nothing is left in memory when all connections of every node have ended", () => {
    const world = worldOf();
    const people = Array.from({ length: 12 }, (_, i) => world.connect(`p${i % 5}`, { node: i % 3, metadata: i }));
    for (const [i, one] of people.entries()) for (const channel of ["c", "d"].slice(i % 2)) one.subscribe(channel);
    world.advance(7);
    for (const one of people.slice(6)) one.vanish();
    world.settle();
    for (const one of people) one.vanish();
    world.settle();
    expect(leftovers(world)).toEqual({});
  });
});
