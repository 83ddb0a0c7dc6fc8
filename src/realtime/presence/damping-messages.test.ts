/** A damped member that sends messages: its receivers must be shown its join before them. */
import { describe, expect, test } from "bun:test";
import type { Channel } from "../state/channel.ts";
import { flap, STEP_MS } from "../testing/flapping.ts";
import { type Client, type Received, World } from "../testing/kit.ts";
import { CHANGES_SHOWN_MAX, CHANGES_SHOWN_WINDOW_MS } from "./limits.ts";

const WINDOW_MS = CHANGES_SHOWN_WINDOW_MS;

const ids = (entries: Received["joined"]): string[] => (entries ?? []).map(({ peerId }) => peerId);
const isAbout = (peerId: string, { joined, left }: Received): boolean =>
  ids(joined).includes(peerId) || ids(left).includes(peerId);

describe("a damped member that sends a message", () => {
  /** ben was shown to change five times, and as gone in the end. */
  const shownAsLeft = (): { world: World; ann: Client; cat: Client; ben: Client } => {
    const world = new World();
    const ann = world.join("ann", "c");
    const cat = world.join("cat", "c");
    const ben = world.connect("ben", { metadata: 1 });
    const other = world.connect("ben", { metadata: 2 });
    ann.take();
    flap(world, ben, 1);
    for (const client of [ben, other]) {
      client.subscribe("c");
      world.advance(STEP_MS);
    }
    for (const client of [ben, other]) client.unsubscribe("c");
    world.advance(STEP_MS);
    const changes = ["joined: ben1", "left: ben1", "joined: ben1", "joined: ben2", "left: ben2"];
    expect([ann.newFrames(), cat.newFrames()]).toEqual([changes, changes]);
    return { world, ann, cat, ben };
  };

  test("has joined before its message, and is not shown to leave until the window ends", () => {
    const { world, ann, ben } = shownAsLeft();
    for (let i = 1; i < 20; i += 2) {
      ben.subscribe("c");
      ben.publish("c", i);
      ben.unsubscribe("c");
      ben.publish("c", i + 1);
      world.advance(STEP_MS);
    }
    const messages = Array.from({ length: 20 }, (_, i) => `message ben ${i + 1}`);
    expect(ann.newFrames()).toEqual(["joined: ben1", ...messages]);
    world.advance(2 * WINDOW_MS);
    expect(ann.newFrames()).toEqual(["left: ben1"]);
  });

  test("has joined before its direct message for the receiver alone, and leaves for it when the window ends", () => {
    const { world, ann, cat, ben } = shownAsLeft();
    for (let i = 1; i < 20; i += 2) {
      ben.subscribe("c");
      ben.send("ann", i);
      ben.unsubscribe("c");
      ben.send("ann", i + 1);
      world.advance(STEP_MS);
    }
    const directs = Array.from({ length: 20 }, (_, i) => `direct ben ${i + 1}`);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben1", ...directs], []]);
    world.advance(2 * WINDOW_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["left: ben1"], []]);
    // Both are on the topic again, and are shown the same.
    world.connect("dan").subscribe("c");
    world.advance(STEP_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: dan"], ["joined: dan"]]);
    expect(ann.connection.subscriptionTo("c")?.channel.offTopic).toBeUndefined();
  });

  test("joins once for each receiver, even if it sends from connections with different metadata", () => {
    const { world, ann, cat, ben } = shownAsLeft();
    const other = world.connect("ben", { metadata: 3 });
    ben.subscribe("c");
    ben.send("ann", 1);
    other.subscribe("c");
    other.publish("c", 2);
    expect(ann.newFrames()).toEqual(["joined: ben1", "direct ben 1", "message ben 2"]);
    expect(cat.newFrames()).toEqual(["joined: ben3", "message ben 2"]);
    world.advance(2 * WINDOW_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben3"], []]);
  });

  test("has at most six changes counted, even if it sends to many receivers with different metadata", () => {
    const { world, ann } = shownAsLeft();
    const readers = Array.from({ length: 5 }, (_, i) => world.connect(`reader${i}`));
    for (const reader of readers) reader.subscribe("c");
    world.advance(STEP_MS);
    for (const [i, reader] of readers.entries()) {
      const connection = world.connect("ben", { metadata: 10 + i });
      connection.subscribe("c");
      connection.send(reader.connection.peerId, 1);
      expect(reader.newFrames().slice(-2)).toEqual([`joined: ben${10 + i}`, "direct ben 1"]);
    }
    const channel = ann.connection.subscriptionTo("c")?.channel as Channel;
    expect(channel.recentChanges?.get("ben")?.count).toBe(CHANGES_SHOWN_MAX + 1);
  });

  test("is shown to all with the next tick if that is its fifth change, and the receiver was shown it first", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const cat = world.join("cat", "c");
    const ben = world.connect("ben", { metadata: 1 });
    flap(world, ben, 2);
    ann.take();
    cat.take();
    ben.subscribe("c");
    ben.send("ann", 1);
    world.advance(STEP_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben1", "direct ben 1"], ["joined: ben1"]]);
  });

  test("is shown to all at the end of the window, also to one that was shown its join alone", () => {
    const { world, ann, cat, ben } = shownAsLeft();
    ben.subscribe("c");
    ben.send("ann", 1);
    world.advance(STEP_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([["joined: ben1", "direct ben 1"], []]);
    world.advance(WINDOW_MS);
    expect([ann.newFrames(), cat.newFrames()]).toEqual([[], ["joined: ben1"]]);
  });
});

test("a flood of publishes and flaps costs the others six presence frames in 10 s at most", () => {
  const world = new World();
  const ann = world.join("ann", "c");
  const ben = world.connect("ben").withholdPongs();
  let shown = 0;
  for (let i = 0; i < 300; i++) {
    ben.subscribe("c");
    ben.publish("c", i);
    ben.unsubscribe("c");
    ben.publish("c", i);
    world.advance(STEP_MS);
    const frames = ann.take();
    shown += frames.filter((frame) => isAbout("ben", frame)).length;
    expect(frames.filter((frame) => frame.type === "message").length).toBe(2);
  }
  expect(shown).toBeLessThanOrEqual(CHANGES_SHOWN_MAX + 1);
});
