/** A channel is opened when the engine has said who is in it elsewhere; that may take a while, and anything may happen meanwhile. */
import { describe, expect, test } from "bun:test";
import type { RemoteMembers } from "../engine/engine.ts";
import type { Space } from "./space.ts";
import { APP, leftovers, PUBLISHABLE_KEY, turn, World } from "./testing/kit.ts";
import { LateAnswers } from "./testing/late-engine.ts";

describe("a channel that the engine is still asked about", () => {
  const begin = (nodes = 1): { world: World; late: LateAnswers } => {
    const late = new LateAnswers();
    return { world: new World({ nodes, engine: late.between }), late };
  };

  test("is acked when the answer has come, for everybody who waits; the roster follows its own ping", async () => {
    const { world, late } = begin(2);
    const far = world.connect("far", { node: 1, metadata: 1 });
    far.subscribe("c");
    late.releaseAll();
    await turn();
    world.advance(20);
    const people = [world.connect("ann"), world.connect("ben")];
    for (const one of people) one.holdPongs().subscribe("c");
    world.advance(600);
    expect(people.map((one) => [one.newFrames(), one.socket.pings])).toEqual([
      [[], []],
      [[], []],
    ]);
    expect(late.count).toBe(1);
    late.releaseAll();
    await turn();
    expect(people.map((one) => one.newFrames())).toEqual([["ack r1"], ["ack r1"]]);
    world.advance(50);
    for (const one of people) one.socket.pong();
    world.advance(10);
    expect(people.map((one) => one.newFrames())).toEqual([["roster: ben far1"], ["roster: ann far1"]]);
    world.connect("cat").subscribe("c");
    expect(late.count).toBe(0);
  });

  test("brings what others publish from the ack on", async () => {
    const { world, late } = begin(2);
    const ann = world.connect("ann");
    ann.subscribe("c");
    late.releaseAll();
    await turn();
    world.connect("far", { node: 1 }).publish("c", 1);
    world.advance(5);
    expect(ann.newFrames()).toEqual(["ack r1", "message far 1"]);
  });

  test("a peer that speaks in it before its ack has joined before its words, elsewhere, and joins once", async () => {
    const { world, late } = begin(2);
    const far = world.connect("far", { node: 1 });
    far.subscribe("c");
    late.releaseAll();
    world.advance(20);
    far.take();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.publish("c", 1);
    ann.send("far", 2);
    world.advance(20);
    await turn();
    expect(far.newFrames()).toEqual(["joined: ann", "message ann 1", "direct ann 2"]);
    late.releaseAll();
    world.advance(600);
    expect(ann.newFrames().sort()).toEqual(["ack r1", "ack r2", "ack r3", "roster: far"]);
    expect(far.newFrames()).toEqual([]);
    ann.vanish();
    world.advance(600);
    expect(far.newFrames()).toEqual(["left: ann"]);
  });

  test("a peer that has spoken in it and gives it up before its ack has left", async () => {
    const { world, late } = begin(2);
    const far = world.connect("far", { node: 1 });
    far.subscribe("c");
    late.releaseAll();
    world.advance(20);
    far.take();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.publish("c", 1);
    ann.unsubscribe("c");
    world.advance(20);
    late.releaseAll();
    world.advance(600);
    await turn();
    expect(far.newFrames()).toEqual(["joined: ann", "message ann 1", "left: ann"]);
    for (const one of [ann, far]) one.vanish();
    world.advance(600);
    late.releaseAll();
    expect(leftovers(world)).toEqual({});
  });

  test("is acked twice and shows one roster where the subscribe was repeated", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.subscribe("c", { includeSenderMetadata: true });
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "roster:"]);
  });

  test("given up meanwhile: acked for what was asked, no roster, nothing left", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.unsubscribe("c");
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames().sort()).toEqual(["ack r1", "ack r2"]);
    expect([ann.socket.pings, world.node.hub.spaces.channelCount]).toEqual([[], 0]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("left by a connection that vanishes: nothing is written, nothing is left, others go on", async () => {
    const { world, late } = begin();
    const [ann, ben] = [world.connect("ann"), world.connect("ben")];
    ann.subscribe("c");
    ben.subscribe("c");
    ann.vanish();
    late.releaseAll();
    await turn();
    world.advance(600);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([[], ["ack r1", "roster:"]]);
    ben.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("given up by one of a peer's connections: the other takes its place in it all the same", async () => {
    const { world, late } = begin();
    const ben = world.connect("ben");
    const ann = [world.connect("ann"), world.connect("ann")] as const;
    for (const one of [ben, ...ann]) one.subscribe("c");
    ann[0].vanish();
    world.advance(50);
    late.releaseAll();
    world.advance(600);
    expect(ben.newFrames()).toEqual(["ack r1", "roster: ann"]);
    ann[1].vanish();
    world.advance(50);
    expect(ben.newFrames()).toEqual(["left: ann"]);
    ben.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("given up by one connection and taken by another just before the answer: the peer is in it", async () => {
    const { world, late } = begin();
    const ben = world.connect("ben");
    const [first, second, third] = [world.connect("ann"), world.connect("ann"), world.connect("ann")];
    for (const one of [ben, first, second]) one.subscribe("c");
    first.vanish();
    world.advance(50);
    third.subscribe("c");
    second.vanish();
    late.releaseAll();
    world.advance(600);
    expect(ben.newFrames()).toEqual(["ack r1", "roster: ann"]);
    third.vanish();
    world.advance(50);
    expect(ben.newFrames()).toEqual(["left: ann"]);
  });

  test("asked about again before the first answer: that answer belongs to nobody and leaves nothing behind", async () => {
    const { world, late } = begin(2);
    const far = world.connect("far", { node: 1 });
    far.subscribe("c");
    late.releaseAll();
    await turn();
    world.advance(20);
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.unsubscribe("c");
    ann.subscribe("c");
    expect(late.count).toBe(2);
    late.release();
    await turn();
    late.release();
    await turn();
    world.advance(600);
    expect(ann.newFrames().slice(-1)).toEqual(["roster: far"]);
    far.vanish();
    world.advance(50);
    expect(ann.newFrames()).toEqual(["left: far"]);
    ann.unsubscribe("c");
    world.advance(50);
    // ann is still connected: of far, who is known nowhere any more, not even a name may be left.
    const spaces = Reflect.get(world.node.hub.spaces, "byApp") as Map<string, Space>;
    expect([...(spaces.get(APP)?.identities.keys() ?? [])]).toEqual(["ann"]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("taken away by an edit of the key meanwhile: an error, and no roster", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann", { key: PUBLISHABLE_KEY });
    ann.subscribe("c");
    world.keys.editKey(PUBLISHABLE_KEY, { channelPatterns: ["d"] });
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["error channel_not_authorized", "error channel_not_authorized r1"]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("without the presence action since: acked, no roster, messages come", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann", { key: PUBLISHABLE_KEY });
    ann.subscribe("c");
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "subscribe", "send"] });
    late.releaseAll();
    await turn();
    world.advance(600);
    world.connect("ben").publish("c", 1);
    expect(ann.newFrames()).toEqual(["ack r1", "message ben 1"]);
    ann.unsubscribe("c");
    world.connect("ben").publish("c", 2);
    expect(ann.newFrames()).toEqual(["ack r2"]);
  });

  test("a member who goes in the moment of the answer does not stay as a ghost", async () => {
    let answer: (members: RemoteMembers) => void = () => {};
    const world = new World({
      engine: (engine) =>
        Object.assign(engine, {
          watch: (_app: string, _channel: string, found: (members: RemoteMembers) => void) => {
            answer = found;
          },
        }),
    });
    const ann = world.connect("ann");
    ann.subscribe("c");
    const eve = { peerId: "eve", metadataJson: undefined, since: 1 };
    // What came before the answer and is not in it has gone again.
    world.node.hub.end.membersChanged("far", APP, "c", [eve, { ...eve, peerId: "joe" }], []);
    // One read of the network may bring both, so no turn of the loop lies between them.
    answer(new Map([["far", [eve]]]));
    world.node.hub.end.membersChanged("far", APP, "c", [], ["eve"]);
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["ack r1", "roster:"]);
  });
});
