import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { seatOf } from "../../access/tokens/room-token.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import {
  ADMITTED_LEAVES_MS,
  DECLINED_LEAVES_MS,
  LOBBY_GONE_MS,
  LOBBY_SEEN_EVERY_MS,
  OPENS_WITHIN_MS,
} from "../contract/limits.ts";
import { type Visitor, World, type WorldNode } from "../testing/world.ts";

let world: World;
let node: WorldNode;
let other: WorldNode;
let room: RoomRow;
let bob: Visitor;
beforeEach(async () => {
  world = await World.open();
  const first = world.node();
  node = first;
  other = world.node();
  room = await world.room(first.rooms, { privacy: "private" });
  bob = await world.wait(node, room);
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const connect = (on: WorldNode) => world.connect(on.meetings, { ...bob.seat.claims });
const place = () => other.services.lobby.placeOf(room, bob.ticket);
const decide = (state: "admitted" | "declined") =>
  other.services.lobby.decide({ app: room.app, room: room.id }, bob.id, state);

describe("the newest connection of a visitor", () => {
  test("replaces the older one on the same node", async () => {
    const next = await connect(node);
    expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "replaced", except: next.connection }]);
    // The older one has gone: that is no goodbye of the visitor.
    node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    world.now += LOBBY_SEEN_EVERY_MS;
    await node.services.lobby.sweep();
    expect(await place()).toMatchObject({ state: "waiting" });
  });

  test("replaces the older one on another node", async () => {
    world.now += 1;
    await connect(other);
    await until("the close", () => node.floor.closed.length > 0);
    expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "replaced" }]);
    expect(other.floor.closed).toEqual([]);
  });

  test("is the newest whatever the clocks of the nodes say", async () => {
    // The first node's clock is ahead; the second one's is right.
    world.setMs = -5000;
    await connect(other);
    await until("the close", () => node.floor.closed.length > 0);
    expect(other.floor.closed).toEqual([]);
  });

  test("is one of two that open at the same moment on two nodes", async () => {
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    const seats = [seatOf({ ...bob.seat.claims }), seatOf({ ...bob.seat.claims })] as const;
    await node.meetings.enter(seats[0]);
    await other.meetings.enter(seats[1]);
    node.meetings.connected(seats[0], "x");
    other.meetings.connected(seats[1], "y");
    const closed = () => [...node.floor.closed, ...other.floor.closed];
    await until("the close", () => closed().length > 0);
    expect(closed()).toEqual([{ peerId: bob.id, reason: "replaced" }]);
  });

  test("keeps the place if the older one goes while it is being opened", async () => {
    const seat = seatOf({ ...bob.seat.claims });
    await node.meetings.enter(seat);
    node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    // What a goodbye writes would be written by then.
    for (let i = 0; i < 8; i++) expect(await place()).toMatchObject({ state: "waiting" });
    node.meetings.connected(seat, "next");
    for (let passed = 0; passed <= LOBBY_GONE_MS; passed += LOBBY_SEEN_EVERY_MS) {
      world.now += LOBBY_SEEN_EVERY_MS;
      await node.services.lobby.sweep();
    }
    expect(await place()).toMatchObject({ state: "waiting" });
    expect(node.floor.closed).toEqual([]);
  });
});

test("a connection that opens far too late is closed, because nothing would close it later", async () => {
  const seat = seatOf({ ...bob.seat.claims });
  await node.meetings.enter(seat);
  world.now += OPENS_WITHIN_MS;
  await node.services.lobby.sweep();
  node.meetings.connected(seat, "late");
  expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "replaced", except: bob.connection }]);
});

describe("a visitor who has an answer", () => {
  test.each([
    ["declined", DECLINED_LEAVES_MS],
    ["admitted", ADMITTED_LEAVES_MS],
  ] as const)(
    "%s: its connection is closed a moment after the notice, on whichever node it is",
    async (state, leavesMs) => {
      await decide(state);
      expect(world.floors.on(`/wait/${bob.id}`)).toMatchObject([{ notice: state }]);
      world.now += leavesMs - 1;
      await node.services.lobby.sweep();
      expect(node.floor.closed).toEqual([]);
      world.now += 1;
      await node.services.lobby.sweep();
      expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "ended" }]);
      expect(world.floors.on(`/wait/${bob.id}`)).toHaveLength(1);
      // A visitor who was let in has its whole time to join.
      world.now += LOBBY_GONE_MS - 1;
      expect(await place()).toMatchObject({ state });
    },
  );

  test("is found also by a node that was not notified", async () => {
    world.floors.isCut = true;
    await decide("declined");
    world.now += LOBBY_SEEN_EVERY_MS;
    await node.services.lobby.sweep();
    world.now += DECLINED_LEAVES_MS;
    await node.services.lobby.sweep();
    expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "ended" }]);
  });

  test("and comes back to hear it has a moment too", async () => {
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    await decide("admitted");
    await connect(node);
    world.now += ADMITTED_LEAVES_MS;
    await node.services.lobby.sweep();
    expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "ended" }]);
  });
});
