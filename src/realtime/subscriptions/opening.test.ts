/** A channel is opened when the engine has answered with its members on other nodes. Until then anything may happen. */
import { describe, expect, test } from "bun:test";
import type { RemoteMembers } from "../../engine/engine.ts";
import type { Space } from "../state/space.ts";
import { APP, leftovers, PUBLISHABLE_KEY, turn, World } from "../testing/kit.ts";
import { LateAnswers } from "../testing/late-engine.ts";

describe("a channel for which the engine has not answered yet", () => {
  const begin = (nodes = 1): { world: World; late: LateAnswers } => {
    const late = new LateAnswers();
    return { world: new World({ nodes, engine: late.between }), late };
  };

  test("is acked when the answer comes, for all that wait; each roster follows its own ping", async () => {
    const { world, late } = begin(2);
    const far = world.connect("far", { node: 1, metadata: 1 });
    far.subscribe("c");
    late.releaseAll();
    await turn();
    world.advance(20);
    const people = [world.connect("ann"), world.connect("ben")];
    for (const one of people) one.withholdPongs().subscribe("c");
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

  test("delivers what others publish from the ack on", async () => {
    const { world, late } = begin(2);
    const ann = world.connect("ann");
    ann.subscribe("c");
    late.releaseAll();
    await turn();
    world.connect("far", { node: 1 }).publish("c", 1);
    world.advance(5);
    expect(ann.newFrames()).toEqual(["ack r1", "message far 1"]);
  });

  test("shows a peer that publishes before its ack as joined before its message, on other nodes, once", async () => {
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

  test("shows a peer that has published and unsubscribes before its ack as left", async () => {
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

  test("is acked twice and writes one roster if the subscribe was repeated", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.subscribe("c", { includeSenderMetadata: true });
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2", "roster:"]);
  });

  test("and that is unsubscribed meanwhile is acked for both requests in their order; no roster, nothing left in memory", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann");
    ann.subscribe("c");
    ann.unsubscribe("c");
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["ack r1", "ack r2"]);
    expect([ann.socket.pings, world.node.hub.spaces.channelCount]).toEqual([[], 0]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("and whose subscriber disconnects: nothing is written, nothing is left, others are served", async () => {
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

  test("and that one connection of a peer unsubscribes: the other still becomes a member", async () => {
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

  test("and that one connection unsubscribes and another subscribes to just before the answer has the peer as a member", async () => {
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

  test("and that was forgotten and opened anew: the first answer is ignored and leaves nothing in memory", async () => {
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
    // ann is still connected; nothing may be left of far, which is no member any more.
    const spaces = Reflect.get(world.node.hub.spaces, "byId") as Map<string, Space>;
    expect([...(spaces.get(APP)?.peers.keys() ?? [])]).toEqual(["ann"]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("and that an edit of the key takes away: an error, and no roster", async () => {
    const { world, late } = begin();
    const ann = world.connect("ann", { key: PUBLISHABLE_KEY });
    ann.subscribe("c");
    world.keys.editKey(PUBLISHABLE_KEY, { channelPatterns: ["d"] });
    late.releaseAll();
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["error channel_not_authorized r1", "error channel_not_authorized"]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });

  test("and whose key loses the presence action: acked, no roster, but messages", async () => {
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

  test("does not keep a member that leaves at the moment of the answer", async () => {
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
    const eve = { peerId: "eve", metadataJson: undefined, since: 1, node: "far" };
    // A change that came before the answer and is not in it is outdated.
    world.node.hub.engineCallbacks.membersChanged("far", APP, "c", [eve, { ...eve, peerId: "joe" }], []);
    // One read of the network may bring both, with no turn of the event loop between them.
    answer(new Map([["far", [eve]]]));
    world.node.hub.engineCallbacks.membersChanged("far", APP, "c", [], ["eve"]);
    await turn();
    world.advance(600);
    expect(ann.newFrames()).toEqual(["ack r1", "roster:"]);
  });
});
