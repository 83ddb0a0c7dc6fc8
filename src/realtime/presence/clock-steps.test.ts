/** Members without a connection, and what is sent to them, while the clock on the wall is set or those of two nodes differ. */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { RESYNC } from "../../protocol/close.ts";
import { CALL, graceWorld } from "../testing/grace.ts";
import { type Client, World } from "../testing/kit.ts";

const STEP_MS = 600_000;

const shownTo = (client: Client): string[] => client.newFrames().filter((one) => !one.startsWith("roster"));

describe("the clock is set back by ten minutes", () => {
  test("a member in its grace leaves in time", () => {
    const world = graceWorld();
    const [cat, ann] = [world.join("cat", CALL), world.join("ann", CALL)];
    cat.take();
    ann.vanish();
    world.advance(1000);
    world.clock.jump(-STEP_MS);
    world.advance(28_900);
    expect(shownTo(cat)).toEqual([]);
    world.advance(200);
    expect(shownTo(cat)).toEqual(["left: ann"]);
  });

  test("a held member leaves in time, and what is sent to it afterwards does not wait", () => {
    const world = new World();
    const [cat, ann] = [world.join("cat", "c"), world.join("ann", "c")];
    cat.take();
    world.node.hub.connections.close(ann.connection, RESYNC);
    world.advance(1000);
    world.clock.jump(-STEP_MS);
    world.advance(8900);
    expect(shownTo(cat)).toEqual([]);
    world.advance(700);
    expect(shownTo(cat)).toEqual(["left: ann"]);
    cat.send("ann", 1);
    world.advance(700);
    expect(cat.take()).toMatchObject([{ type: "error", code: "peer_not_found" }]);
  });

  test("a direct message to a peer that comes back and subscribes to nothing is not kept for longer", async () => {
    const world = new World();
    const [cat, ann] = [world.join("cat", "c"), world.join("ann", "c")];
    world.node.hub.connections.close(ann.connection, RESYNC);
    cat.send("ann", 1);
    world.advance(100);
    world.clock.jump(-STEP_MS);
    const back = world.connect("ann");
    world.advance(700);
    expect(back.take()).toEqual([]);
    world.advance(600);
    expect(back.take()).toMatchObject([{ type: "direct", from: "cat", data: 1 }]);
  });

  test("a kick counts for connections from before it, and not for those after", async () => {
    for (const isBack of [false, true]) {
      const world = graceWorld(3);
      const cat = world.join("cat", CALL, { node: 1 });
      world.join("ann", CALL);
      world.settle();
      world.clock.jump(-STEP_MS);
      // The node still answers to the kick, but the connection is as one that the kick has not reached.
      if (!isBack) world.nodeAt(0).hub.kicks.kickHere = () => 0;
      await world.nodeAt(1).hub.kicks.kick(anAppId("app"), "ann");
      world.advance(100);
      if (isBack) world.join("ann", CALL);
      cat.take();
      world.kill(0);
      world.advance(100);
      expect(shownTo(cat)).toEqual(isBack ? [] : ["left: ann"]);
    }
  });
});

describe("the clock is set forward, or the machine was suspended", () => {
  test("no member lingers", () => {
    const world = graceWorld();
    const cat = world.join("cat", CALL);
    const [ann, ben] = [world.join("ann", CALL), world.join("ben", CALL)];
    cat.take();
    ann.vanish();
    world.node.hub.connections.close(ben.connection, RESYNC);
    world.advance(1000);
    world.clock.jump(STEP_MS);
    world.advance(600);
    expect(shownTo(cat).sort()).toEqual(["left: ann ben"]);
    cat.send("ben", 1);
    world.advance(100);
    expect(cat.take()).toMatchObject([{ type: "error", code: "peer_not_found" }]);
  });
});

describe("two nodes whose clocks differ", () => {
  for (const skewMs of [-STEP_MS, -5000, 5000, STEP_MS])
    test(`by ${skewMs / 1000} s keep a member for the same time, also when its node is gone`, () => {
      for (const isKilled of [false, true]) {
        const world = graceWorld(2);
        world.nodeAt(0).clock.skewMs = skewMs;
        const cat = world.join("cat", CALL, { node: 1 });
        const ann = world.join("ann", CALL);
        world.settle();
        cat.take();
        ann.vanish();
        world.advance(2000);
        if (isKilled) world.kill(0);
        world.advance(27_800);
        expect(shownTo(cat)).toEqual([]);
        world.advance(400);
        expect(shownTo(cat)).toEqual(["left: ann"]);
      }
    });

  test("by 5 s show a peer as its newest connection, on whichever node that is", () => {
    for (const [first, second] of [[0, 1] as const, [1, 0] as const]) {
      const world = new World({ nodes: 2 });
      world.nodeAt(0).clock.skewMs = 5000;
      for (const node of [0, 1]) world.join(`cat${node}`, "c", { node });
      world.join("ann", "c", { node: first, metadata: { n: 1 } });
      world.join("ann", "c", { node: second, metadata: { n: 2 } });
      world.settle();
      for (const node of [0, 1]) {
        const dan = world.connect(`dan${node}`, { node });
        dan.subscribe("c");
        world.advance(600);
        const { joined = [] } = dan.take().find(({ snapshot }) => snapshot === true) ?? {};
        expect(joined).toContainEqual({ peerId: "ann", metadata: { n: 2 } });
      }
    }
  });
});
