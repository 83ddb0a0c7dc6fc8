/** The life of connections, and that nothing of them stays in memory. */
import { describe, expect, test } from "bun:test";
import type { Connection } from "../state/connection.ts";
import type { Space } from "../state/space.ts";
import { FakeSocket } from "../testing/fake-socket.ts";
import { APP, leftovers, PUBLISHABLE_KEY, SECOND_KEY, SECRET_KEY, turn, World } from "../testing/kit.ts";

describe("a connection", () => {
  test("is welcomed once, before anything else, with its expiry in whole seconds", () => {
    const world = new World();
    const token = world.connect("ann", { expiresInMs: 10_500, metadata: { hidden: false } });
    const key = world.connect("random", { key: PUBLISHABLE_KEY });
    const serverTime = Math.floor(world.clock.wallMs() / 1000);
    const connection = expect.any(String);
    const common = {
      type: "welcome",
      serverTime,
      maxMessageSize: 65_536,
      features: ["history", "state", "renew", "send-id", "events"],
      connection,
    };
    expect(token.received).toEqual([{ ...common, peerId: "ann", expiresAt: serverTime + 10 }]);
    expect(key.received).toEqual([{ ...common, peerId: "random", expiresAt: null }]);
  });

  test("counts once, from its beginning to its end, even if it is ended twice", () => {
    const world = new World();
    const ann = world.connect("ann");
    world.connect("ann");
    expect([world.node.hub.connections.count, world.node.hub.occupancy.connectionsOf(APP)]).toEqual([2, 2]);
    world.node.hub.connections.disconnect(ann.connection, 1006);
    world.node.hub.connections.disconnect(ann.connection, 1006);
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

test.each([
  ["192.0.2.255", [192, 0, 2, 255]],
  ["2001:db8::1", [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
])("the client's address is kept as it was: %s", (text, client) => {
  const { node, keys } = new World();
  const socket = new FakeSocket(node.server, node.handlers, node.clock, { grant: keys.grant("ann"), client });
  socket.open();
  expect(socket.data).toMatchObject({ address: text, client });
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
    const spaces = Reflect.get(world.node.hub.spaces, "byId") as Map<string, Space>;
    const space = spaces.get(APP);
    expect([...(space?.peers.keys() ?? [])]).toEqual(["ann"]);
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
        const key = i % 8 < 4 ? SECRET_KEY : SECOND_KEY;
        if (i % 3 === 0) one.request({ type: "renew", token: world.keys.token(one.connection.peerId, { key }) });
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
    const slots = Reflect.get(deadlines, "slots") as Map<number, Iterable<Connection>>;
    expect([...slots.values()].flatMap((inSlot) => [...inSlot].map(({ peerId }) => peerId))).toEqual(["ben"]);
  });
});
