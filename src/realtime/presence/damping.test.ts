/** A flapping member: which of its changes the others are shown, and when. */
import { describe, expect, test } from "bun:test";
import type { Channel } from "../state/channel.ts";
import { flap, STEP_MS } from "../testing/flapping.ts";
import { type Client, leftovers, World } from "../testing/kit.ts";
import { CHANGES_SHOWN_MAX, CHANGES_SHOWN_WINDOW_MS } from "./limits.ts";

const WINDOW_MS = CHANGES_SHOWN_WINDOW_MS;

/** Ann and Ben are in the channel, and that Ben has joined is held back. */
function heldJoin(): { world: World; ann: Client; ben: Client } {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = world.join("ben", "c");
  world.advance(2 * WINDOW_MS);
  for (let i = 0; i < 3; i++) {
    ben.unsubscribe("c");
    world.advance(STEP_MS);
    ben.subscribe("c");
    world.advance(STEP_MS);
  }
  for (const client of [ann, ben]) client.take();
  return { world, ann, ben };
}

const FIVE = ["joined: ben", "left: ben", "joined: ben", "left: ben", "joined: ben"];

describe("a flapping member", () => {
  test("is shown to change five times within 10 s, then once as it is at the end of that time", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    flap(world, ben, 20);
    expect(ann.newFrames()).toEqual(FIVE);
    world.advance(WINDOW_MS - 20 * 2 * STEP_MS - STEP_MS);
    expect(ann.newFrames()).toEqual([]);
    world.advance(2 * STEP_MS);
    expect(ann.newFrames()).toEqual(["left: ben"]);
    world.advance(3 * WINDOW_MS);
    expect(ann.newFrames()).toEqual([]);
  });

  test("causes no change at the end of the window when it is as it was shown last", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    flap(world, ben, 6);
    ben.subscribe("c");
    world.advance(2 * WINDOW_MS);
    expect(ann.newFrames()).toEqual(FIVE);
    ben.unsubscribe("c");
    world.advance(STEP_MS);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });

  test("is never shown to change more than five times within any 10 s, however long it goes on", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    const shownMs: number[] = [];
    for (let i = 0; i < 1200; i++) {
      ben[i % 2 === 0 ? "subscribe" : "unsubscribe"]("c");
      world.advance(STEP_MS);
      for (const _ of ann.take()) shownMs.push(world.clock.monotonicMs());
    }
    for (const [at, ms] of shownMs.entries()) {
      const sixth = shownMs[at + CHANGES_SHOWN_MAX];
      if (sixth !== undefined) expect(sixth - ms).toBeGreaterThanOrEqual(WINDOW_MS - STEP_MS);
    }
    // Further changes are shown as the window moves on.
    expect(shownMs.length).toBeGreaterThanOrEqual(CHANGES_SHOWN_MAX * 3);
  });

  test("is damped across reconnects, which make it a new member each time", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    for (let i = 0; i < 10; i++) {
      const ben = world.connect("ben");
      ben.subscribe("c");
      world.advance(STEP_MS);
      ben.vanish();
      world.advance(STEP_MS);
    }
    expect(ann.newFrames()).toEqual(FIVE);
    world.advance(WINDOW_MS);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });

  test("is damped on the node that shows it, though it flaps on another", () => {
    const world = new World({ nodes: 2 });
    const ann = world.join("ann", "c", { node: 0 });
    const ben = world.connect("ben", { node: 1 });
    flap(world, ben, 10);
    expect(ann.newFrames()).toEqual(FIVE);
    world.advance(WINDOW_MS);
    expect(ann.newFrames()).toEqual(["left: ben"]);
  });

  test("changes of metadata count", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const connections = Array.from({ length: 9 }, (_, v) => {
      const ben = world.connect("ben", { metadata: v });
      ben.subscribe("c");
      world.advance(STEP_MS);
      return ben;
    });
    expect(ann.newFrames()).toEqual([0, 1, 2, 3, 4].map((v) => `joined: ben${v}`));
    world.advance(WINDOW_MS);
    expect(ann.newFrames()).toEqual(["joined: ben8"]);
    for (const ben of connections) ben.vanish();
    world.advance(STEP_MS);
    expect(ann.newFrames()).toEqual(["left: ben8"]);
  });

  test("is not shown its own join when that is shown at last, but the changes of others that come with it", () => {
    const { world, ann, ben } = heldJoin();
    world.advance(WINDOW_MS - 6 * STEP_MS - 1);
    world.join("cat", "c");
    world.advance(STEP_MS);
    expect(ann.newFrames().join(" ")).toMatch(/joined: .*ben/);
    expect(ben.newFrames()).toEqual(["joined: cat"]);
    // It still listens.
    world.join("dan", "c");
    expect(ben.newFrames()).toEqual(["joined: dan"]);
  });

  test("that sends a message while its join is held back is not shown that join either", () => {
    const { world, ann, ben } = heldJoin();
    ben.publish("c", 1);
    expect(ann.newFrames()).toEqual(["joined: ben", "message ben 1"]);
    expect(ben.newFrames().filter((one) => one.includes("joined"))).toEqual([]);
    world.join("dan", "c");
    expect(ben.newFrames()).toEqual(["joined: dan"]);
  });

  test("delays no other member, and none in other channels", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    flap(world, ben, 5);
    ann.subscribe("d");
    world.advance(STEP_MS);
    ann.take();
    world.connect("cat").subscribe("c");
    ben.subscribe("d");
    world.advance(STEP_MS);
    expect(ann.newFrames()).toEqual(["joined: cat", "joined: ben"]);
  });

  test("is shown to newcomers as to the others, also at the end of the window", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.connect("ben");
    flap(world, ben, 5);
    ann.take();
    const cat = world.connect("cat");
    cat.subscribe("c");
    world.advance(STEP_MS);
    expect(cat.newFrames()).toEqual(["ack r1", "roster: ann ben"]);
    world.advance(WINDOW_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: cat", "left: ben"], ["left: ben"]]);
  });

  test("has a change counted once if a receiver of its direct message was shown it before the others", () => {
    const world = new World();
    const [ann, cat] = [world.join("ann", "c"), world.join("cat", "c")];
    for (const client of [ann, cat]) client.take();
    const ben = world.connect("ben");
    for (const act of ["subscribe", "unsubscribe", "subscribe", "unsubscribe"] as const) {
      ben[act]("c");
      ben.send("ann", act);
      world.advance(STEP_MS);
    }
    const four = FIVE.slice(0, 4);
    expect(cat.newFrames()).toEqual(four);
    expect(ann.newFrames().filter((one) => one.endsWith(": ben"))).toEqual(four);
  });

  test("that leaves while no one is shown it is counted when it joins again", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c");
    // It keeps the channel in use, and is shown nothing.
    world.connect("dan", { actions: ["subscribe"] }).subscribe("c");
    expect(ann.newFrames()).toContain("joined: ben");
    ann.unsubscribe("c");
    world.advance(STEP_MS);
    ben.unsubscribe("c");
    world.advance(STEP_MS);
    ann.subscribe("c");
    world.advance(STEP_MS);
    ann.take();
    flap(world, ben, 20);
    expect(ann.newFrames()).toEqual(FIVE.slice(0, 4));
  });

  test("has no changes counted where no one is shown them", () => {
    const world = new World();
    const ben = world.connect("ben");
    flap(world, ben, 10);
    ben.subscribe("c");
    const cat = world.join("cat", "c");
    cat.subscribe("c");
    world.advance(STEP_MS);
    expect(cat.newFrames()).toEqual(["ack r2", "roster: ben"]);
  });

  test("takes a bounded amount of memory, which is free after the window", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const channel = ann.connection.subscriptionTo("c")?.channel as Channel;
    const ben = world.connect("ben");
    flap(world, ben, 200);
    expect(channel.recentChanges?.size).toBe(1);
    ben.vanish();
    world.advance(2 * WINDOW_MS);
    expect([channel.recentChanges, channel.members.size, channel.changed.size]).toEqual([undefined, 1, 0]);
    ann.vanish();
    expect(leftovers(world)).toEqual({});
  });
});
