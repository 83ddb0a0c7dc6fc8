import { describe, expect, test } from "bun:test";
import type { Peer } from "./peer.ts";
import type { Space } from "./space.ts";
import { APP, leftovers, OTHER_KEY, PUBLISHABLE_KEY, SECRET_KEY, turn, World } from "./testing/kit.ts";

describe("a connection", () => {
  test("is welcomed once, before anything else, with its expiry in whole seconds", () => {
    const world = new World();
    const token = world.connect("ann", { expiresInMs: 10_500, metadata: { hidden: false } });
    const key = world.connect("random", { key: PUBLISHABLE_KEY });
    const serverTime = Math.floor(world.clock.nowMs() / 1000);
    const common = { type: "welcome", serverTime, maxMessageSize: 65_536 };
    expect(token.received).toEqual([{ ...common, peerId: "ann", expiresAt: serverTime + 10 }]);
    expect(key.received).toEqual([{ ...common, peerId: "random", expiresAt: null }]);
  });

  test("counts once, from its beginning to its end, even if it is ended twice", () => {
    const world = new World();
    const ann = world.connect("ann");
    world.connect("ann");
    expect([world.node.hub.connections.count, world.node.hub.occupancy.connectionsOf(APP)]).toEqual([2, 2]);
    world.node.hub.connections.disconnect(ann.peer);
    world.node.hub.connections.disconnect(ann.peer);
    ann.vanish();
    expect([world.node.hub.connections.count, world.node.hub.occupancy.connectionsOf(APP)]).toEqual([1, 1]);
    expect(world.node.usage.of(APP).connections).toBe(1);
  });

  test("is newer than the one before it, even if the wall clock was set back in between", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    world.join("ben", "c", { metadata: 1 });
    world.clock.jump(-3_600_000);
    world.join("ben", "c", { metadata: 2 });
    expect(ann.newFrames()).toEqual(["joined: ben1", "joined: ben2"]);
  });

  test("ends with going_away and 1001 when the node drains, one after the other if there are many", async () => {
    const world = new World();
    const clients = Array.from({ length: 100 }, (_, i) => world.connect(`p${i}`));
    const drained = world.node.gateway.drain(200);
    const gone = (): number => clients.filter((client) => client.closeCode === 1001).length;
    expect(gone()).toBe(25);
    for (let i = 0; i < 3; i++) {
      world.advance(50);
      await turn();
    }
    await drained;
    expect(gone()).toBe(100);
    for (const client of clients) expect(client.take()).toEqual([{ type: "going_away", retryAfterMs: 1000 }]);
    expect(leftovers(world)).toEqual({});
  });
});

describe("a key that is changed", () => {
  test("and is revoked ends its connections with 4001, and no others", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { revoked: 1 });
    world.advance(10);
    expect([ben.closeCode, ann.closeCode, ann.newFrames()]).toEqual([4001, undefined, ["left: ben"]]);
  });

  test("and covers less ends the subscriptions it no longer covers: an error for each, left for the others", () => {
    const world = new World();
    const ann = world.connect("ann");
    const ben = world.connect("ben", { key: PUBLISHABLE_KEY });
    for (const channel of ["a/1", "a/2", "b/1"]) for (const one of [ann, ben]) one.subscribe(channel);
    world.advance(600);
    for (const one of [ann, ben]) one.take();
    world.keys.editKey(PUBLISHABLE_KEY, { channelPatterns: ["b/*"] });
    expect(ben.newFrames()).toEqual(["error channel_not_authorized", "error channel_not_authorized"]);
    world.advance(10);
    expect(ann.take().map((frame) => [frame.channel, frame.left])).toEqual([
      ["a/1", [{ peerId: "ben" }]],
      ["a/2", [{ peerId: "ben" }]],
    ]);
    for (const channel of ["a/1", "b/1"]) ann.publish(channel, 1);
    expect(ben.take().map((frame) => frame.channel)).toEqual(["b/1"]);
    ben.subscribe("a/1");
    ben.publish("a/2", 1);
    expect(ben.newFrames().map((one) => one.replace(/ r\d+$/, ""))).toEqual(
      new Array(2).fill("error channel_not_authorized"),
    );
    expect(ben.closeCode).toBeUndefined();
  });

  test("and loses the subscribe action ends every subscription, with an error for each", () => {
    const world = new World();
    const ann = world.join("ann", "c");
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    ann.take();
    world.keys.editKey(PUBLISHABLE_KEY, { actions: ["publish", "presence", "send"] });
    world.advance(10);
    expect(ann.newFrames()).toEqual(["left: ben"]);
    expect(ben.newFrames()).toEqual(["error channel_not_authorized"]);
    ann.publish("c", 1);
    ben.publish("c", 2);
    expect([ben.newFrames(), ann.newFrames()]).toEqual([["ack r2"], ["ack r2", "message ben 2"]]);
  });

  test("and covers more gives a token no more than its claims", () => {
    const world = new World();
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["a/*", "b/*"], actions: ["subscribe"] });
    const ann = world.connect("ann", { channels: ["a/*"], actions: ["subscribe"] });
    const key = world.connect("ben");
    world.keys.editKey(SECRET_KEY, { channelPatterns: ["**"], actions: ["subscribe", "publish"] });
    for (const one of [ann, key]) {
      one.subscribe("c/1");
      one.publish("a/1", 1);
    }
    expect(ann.newFrames()).toEqual(["error channel_not_authorized r1", "error action_not_permitted r2"]);
    expect(key.newFrames()).toEqual(["ack r1", "ack r2"]);
  });

  test("and only changes its label ends nothing", () => {
    const world = new World();
    const ben = world.join("ben", "c", { key: PUBLISHABLE_KEY });
    const ann = world.join("ann", "c");
    world.keys.editKey(PUBLISHABLE_KEY, {});
    world.keys.editKey(SECRET_KEY, {});
    world.advance(600);
    expect([ann.newFrames(), ben.newFrames()]).toEqual([[], ["joined: ann"]]);
  });
});

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

describe("nothing is left in memory", () => {
  test("of channels, when all have unsubscribed", () => {
    const world = new World();
    const people = Array.from({ length: 20 }, (_, i) => world.connect(`p${i % 7}`));
    for (const [i, one] of people.entries()) for (const name of ["a", "b", "c"].slice(i % 3)) one.subscribe(name);
    world.advance(30);
    for (const one of people) for (const name of ["a", "b", "c"]) one.unsubscribe(name);
    world.advance(1000);
    expect([world.node.hub.spaces.channelCount, world.node.server.onTopics, world.node.hub.connections.count]).toEqual([
      0, 0, 20,
    ]);
  });

  test("of peers that left a channel that is still in use", () => {
    const world = new World();
    world.join("ann", "c");
    for (let i = 0; i < 30; i++) world.join(`p${i}`, "c", { pongAfterMs: i % 2 === 0 ? 0 : undefined }).vanish();
    world.advance(1000);
    const spaces = Reflect.get(world.node.hub.spaces, "byApp") as Map<string, Space>;
    const space = spaces.get(APP);
    expect([...(space?.identities.keys() ?? [])]).toEqual(["ann"]);
    expect([...(space?.channels.get("c")?.members.keys() ?? [])]).toEqual(["ann"]);
  });

  test("of connections, whenever they ended and whatever they held and waited for", () => {
    const world = new World();
    for (let round = 0; round < 30; round++) {
      const people = Array.from({ length: 12 }, (_, i) =>
        world.connect(`p${i % 5}`, {
          key: i % 4 === 0 ? PUBLISHABLE_KEY : SECRET_KEY,
          metadata: i % 3,
          expiresInMs: 3_600_000,
          ...(i % 5 === 0 && { actions: ["subscribe", "publish"] as const }),
          pongAfterMs: [undefined, 0, 3, 20, 700][i % 5],
        }),
      );
      for (const [i, one] of people.entries()) {
        one.subscribe(`c${i % 3}`);
        if (i % 2 === 0) one.subscribe("all", { includeSenderMetadata: i % 4 === 0 });
        if (i % 6 === 0) one.publish("all", i);
        if (i % 7 === 0) one.unsubscribe("all");
      }
      world.advance(round * 3);
      world.keys.editKey(PUBLISHABLE_KEY, { actions: round % 2 === 0 ? ["subscribe"] : ["subscribe", "presence"] });
      for (const one of people) one.vanish();
      world.advance(round % 4);
    }
    expect(leftovers(world)).toEqual({});
  });

  test("of a connection that ended before its token expired", () => {
    const world = new World();
    for (let i = 0; i < 50; i++) world.connect("ann", { expiresInMs: 86_000_000 }).vanish();
    world.connect("ben", { expiresInMs: 3_600_000 });
    for (let i = 0; i < 50; i++) world.keys.editKey(SECRET_KEY, {});
    // Its deadline is earlier now: it is in the new slot only.
    world.keys.rotate(SECRET_KEY, 600_000);
    const deadlines = Reflect.get(world.node.hub, "deadlines") as object;
    const slots = Reflect.get(deadlines, "slots") as Map<number, Iterable<Peer>>;
    expect([...slots.values()].flatMap((peers) => [...peers].map((peer) => peer.peerId))).toEqual(["ben"]);
  });
});

describe("channels whose messages were lost between nodes", () => {
  test("500 of them in one turn cost one look at each connection; subscribers of any are closed with 1001", async () => {
    const world = new World();
    const { hub } = world.node;
    const channels = Array.from({ length: 500 }, (_, at) => `lost ${at}`);
    // Each subscribes to ten of them, some without presence.
    const listening = Array.from({ length: 100 }, (_, at) => {
      const client = world.connect(`p${at}`, { actions: at % 2 === 0 ? ["subscribe"] : ["subscribe", "presence"] });
      for (let i = 0; i < 10; i++) client.subscribe(channels[(at * 5 + i) % channels.length] as string);
      return client;
    });
    const others = Array.from({ length: 50 }, (_, at) => {
      const client = world.connect(`q${at}`);
      client.subscribe("kept");
      return client;
    });
    world.advance(600);
    let looks = 0;
    const all = hub.connections.all.bind(hub.connections);
    hub.connections.all = function* () {
      for (const peer of all()) {
        looks++;
        yield peer;
      }
    };
    for (const channel of [...channels, "unknown"]) hub.end.lost(APP, channel);
    await Promise.resolve();
    expect(looks).toBe(listening.length + others.length);
    expect(new Set(listening.map((client) => client.closeCode))).toEqual(new Set([1001]));
    expect(new Set(others.map((client) => client.closeCode))).toEqual(new Set([undefined]));
    // A later turn looks again.
    hub.end.lost(APP, "kept");
    await Promise.resolve();
    expect(new Set(others.map((client) => client.closeCode))).toEqual(new Set([1001]));
    expect(leftovers(world)).toEqual({});
  });
});
