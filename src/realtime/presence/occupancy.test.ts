/** Kicks, and what REST shows of channels and members. */
import { describe, expect, test } from "bun:test";
import { APP, OTHER_KEY, World } from "../testing/kit.ts";

describe("a kick", () => {
  test("closes every connection of the peer with 4020 and counts them; the others see it leave", async () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = [world.join("ben", "c"), world.connect("ben")];
    const stranger = world.connect("ben", { key: OTHER_KEY });
    ann.take();
    expect(await world.node.hub.kicks.kick(APP, "ben")).toBe(2);
    expect(ben.map((one) => one.closeCode)).toEqual([4020, 4020]);
    expect(await world.node.hub.kicks.kick(APP, "ben")).toBe(0);
    world.advance(10);
    expect([ann.newFrames(), stranger.closeCode]).toEqual([["left: ben"], undefined]);
  });
});

describe("occupancy, for REST", () => {
  test("has members with their newest metadata, also those that wait for their roster, but none without presence", async () => {
    const world = new World();
    world.join("ann", "c", { metadata: 1 });
    world.join("ann", "c", { metadata: 2 });
    world.connect("ben").holdPongs().subscribe("c");
    world.join("shy", "c", { actions: ["subscribe"] });
    const members = await world.node.hub.occupancy.members(APP, "c");
    expect(members?.map((one) => [one.peerId, one.metadataJson])).toEqual([
      ["ann", "2"],
      ["ben", undefined],
    ]);
    expect(await world.node.hub.occupancy.members(APP, "none")).toEqual([]);
  });

  test("has channels in use, with peers and connections", async () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.join("ann", "c");
    world.join("ben", "d");
    world.join("shy", "d", { actions: ["subscribe"] });
    world.join("ann", "secret", { key: OTHER_KEY });
    expect(await world.node.hub.occupancy.channels(APP)).toEqual([
      { channel: "c", peers: 1, connections: 2 },
      { channel: "d", peers: 1, connections: 2 },
    ]);
    ann.unsubscribe("c");
    ann.subscribe("e");
    expect((await world.node.hub.occupancy.channels(APP))?.map((one) => one.channel)).toEqual(["c", "d", "e"]);
    world.advance(600);
    ann.unsubscribe("e");
    expect((await world.node.hub.occupancy.channels(APP))?.map((one) => one.channel)).toEqual(["c", "d"]);
  });
});
