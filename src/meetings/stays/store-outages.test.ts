/** The store does not answer, on one node or on all: who has to go is put out all the same, and no stay is left without a connection. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { seatOf } from "../../access/tokens/room-token.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, type Someone, World, type WorldNode } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let room: RoomRow;
let meetings: MeetingStore;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  room = await world.room(node.rooms, { maxParticipants: 2 });
  meetings = world.store.meetings;
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const away = (): Promise<never> => Promise.reject(new Error("away"));
const silent = (): Promise<never> => new Promise(() => undefined);
const stay = (id: string): Promise<StayRow | undefined> => meetings.stay(id);

/** Calls of this name are answered so until the returned function is called. */
function answered<K extends keyof MeetingStore>(name: K, answer: MeetingStore[K]): () => void {
  const before = meetings[name];
  meetings[name] = answer;
  return () => {
    meetings[name] = before;
  };
}

/** Sweeps every 5 s, as a node does. */
async function pass(ms: number, ...nodes: WorldNode[]): Promise<void> {
  for (let left = ms; left > 0; left -= 5000) {
    world.now += Math.min(left, 5000);
    for (const { meetings: one } of nodes.length > 0 ? nodes : [node]) await one.upkeep.run(one.stays);
  }
}

async function leave(one: Someone, departure: "goodbye" | "lost", at: WorldNode = node): Promise<void> {
  at.meetings.disconnected(one.seat, one.connection, departure);
  await at.meetings.stop();
}

describe("while the store is not responding", () => {
  test("a rotation closes everyone in all rooms at once", async () => {
    const other = await world.room(node.rooms, { roomName: "other" });
    const people: Someone[] = [];
    for (const one of [room, room, other]) people.push(await world.enter(node, one));
    const restore = answered("end", silent);
    world.rotate();
    void node.services.tick();
    await nextTurn();
    expect(node.floor.closed).toEqual(people.map(({ id }) => ({ peerId: id, reason: "ended" })));
    restore();
  });

  test("a rotation closes everyone in the lobby", async () => {
    const closedRoom = await world.room(node.rooms, { roomName: "closed", privacy: "private" });
    const visitors = [await world.wait(node, closedRoom, "Bob", "a"), await world.wait(node, closedRoom, "Eve", "b")];
    const restore = answered("setSeen", away);
    world.rotate();
    await expect(node.services.lobby.endWithSecret()).rejects.toThrow("away");
    expect(node.floor.closed.map(({ peerId }) => peerId)).toEqual(visitors.map(({ id }) => id));
    restore();
  });

  test("everyone whose time is over is put out, and the record says so later", async () => {
    await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 60 });
    const people = [await world.enter(node, room), await world.enter(node, room)];
    const restore = answered("end", away);
    world.now += 60_000;
    await node.services.times.tick();
    const overMs = world.now;
    await node.meetings.stop();
    expect(node.floor.closed).toEqual(people.map(({ id }) => ({ peerId: id, reason: "time" })));
    expect(world.failures.splice(0)).toHaveLength(2);
    restore();
    await pass(5000);
    await node.meetings.stop();
    for (const { id } of people) expect(await stay(id)).toMatchObject({ why: "time", ended: overMs });
  });

  test("another node writes that the time of a stay is over", async () => {
    await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 60 });
    const ada = await world.enter(node, room);
    const other = world.node();
    const end = meetings.end.bind(meetings);
    let calls = 0;
    // The first call is that of its own node.
    const restore = answered("end", (...args) => (calls++ === 0 ? away() : end(...args)));
    world.now += 60_000;
    await node.services.times.tick();
    await node.meetings.stop();
    expect(await stay(ada.id)).toMatchObject({ why: "time" });
    restore();
    await other.services.stop();
  });

  test("a room that is archived by the clock puts out the people on this node", async () => {
    const expireUnixSec = world.now / 1000 + 60;
    await node.rooms.update(APP, "standup", { expireUnixSec, ejectAtRoomExp: true });
    const archived = { ...(await node.rooms.row(APP, "standup")), archiveAt: expireUnixSec * 1000 };
    const ada = await world.enter(node, room);
    const present = node.meetings.present.room(room.id);
    if (present) present.row = archived;
    const restore = answered("current", away);
    world.now += 61_000;
    await node.services.times.tick();
    expect(node.floor.closed).toContainEqual({ peerId: ada.id, reason: "ended" });
    expect(world.failures.splice(0)).toHaveLength(1);
    restore();
    await node.meetings.stop();
    expect(await stay(ada.id)).toMatchObject({ why: "ended" });
  });

  test("a stay that was put out cannot come back before that is written", async () => {
    await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 60 });
    const ada = await world.enter(node, room);
    const restore = answered("end", away);
    world.now += 60_000;
    await node.services.times.tick();
    await node.meetings.stop();
    await expect(node.meetings.enter(seatOf(ada.seat.claims))).rejects.toThrow("away");
    expect(world.failures.splice(0)).toHaveLength(1);
    restore();
    await expect(node.meetings.enter(seatOf(ada.seat.claims))).rejects.toMatchObject({ code: "token_expired" });
    expect(await stay(ada.id)).toMatchObject({ why: "time" });
  });

  for (const isOpen of [true, false])
    test(`a node that closes ${isOpen ? "a" : "an opening"} connection for another one, which dies, writes it too`, async () => {
      await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 60 });
      const other = world.node();
      const ada = await world.enter(node, room);
      world.now += 30_000;
      await world.enter(other, room);
      // The first node does not hear that its connection was replaced.
      world.floors.isCut = true;
      const second = seatOf(ada.seat.claims);
      await other.meetings.enter(second);
      if (isOpen) other.meetings.connected(second, "second");
      world.floors.isCut = false;
      const restore = answered("end", away);
      world.now += 30_000;
      await node.services.times.tick();
      const overMs = world.now;
      await Promise.all([node.meetings.stop(), other.meetings.stop()]);
      expect(world.failures.splice(0)).toHaveLength(2);
      world.kill(node);
      if (!isOpen) other.meetings.connected(second, "second");
      expect(other.floor.closed).toContainEqual({ peerId: ada.id, reason: "time" });
      restore();
      await pass(5000, other);
      await other.meetings.stop();
      expect(await stay(ada.id)).toMatchObject({ why: "time", ended: overMs });
    });

  test("the end of a meeting that the store has is not written again by those who close its connections", async () => {
    const other = world.node();
    await world.enter(node, room);
    await world.enter(other, room);
    const end = meetings.end.bind(meetings);
    let calls = 0;
    const restore = answered("end", (...args) => {
      calls++;
      return end(...args);
    });
    await node.services.acts.end(APP, "standup");
    await Promise.all([node.meetings.stop(), other.meetings.stop()]);
    expect(calls).toBe(2);
    restore();
  });

  test("one that was put out is not taken for lost because another connection of it did not open", async () => {
    await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 60 });
    const ada = await world.enter(node, room);
    const second = seatOf(ada.seat.claims);
    await node.meetings.enter(second);
    const restore = answered("end", away);
    world.now += 60_000;
    await node.services.times.tick();
    const overMs = world.now;
    node.meetings.disconnected(second, "", "lost");
    await node.meetings.stop();
    expect(world.failures.splice(0)).toHaveLength(1);
    restore();
    await pass(5000);
    await node.meetings.stop();
    expect(await stay(ada.id)).toMatchObject({ why: "time", ended: overMs });
  });
});

describe("after the store was away, a stay has ended", () => {
  // Someone else is on the node, which is why it says that it is alive.
  beforeEach(async () => {
    await world.enter(node, room);
  });

  for (const [departure, why] of [
    ["goodbye", "left"],
    ["lost", "lost"],
  ] as const)
    test(`whose client left (${departure}) and tried in vain to come back`, async () => {
      const ada = await world.enter(node, room);
      const restores = [answered("end", away), answered("lost", away), answered("enter", away)];
      await leave(ada, departure);
      await expect(node.meetings.enter(seatOf(ada.seat.claims))).rejects.toThrow("away");
      for (const restore of restores) restore();
      expect(world.failures.splice(0)).toHaveLength(1);
      await pass(60_000);
      expect(await stay(ada.id)).toMatchObject({ why });
      await world.enter(node, room);
    });

  test("whose client was refused because the store's answer did not come", async () => {
    const enter = meetings.enter.bind(meetings);
    const restore = answered("enter", async (...args) => {
      await enter(...args);
      return away();
    });
    await expect(world.enter(node, room)).rejects.toThrow("away");
    restore();
    expect(await meetings.inside(APP, room.id)).toBe(2);
    await pass(65_000);
    expect(await meetings.inside(APP, room.id)).toBe(1);
  });

  test("but not if its client came back, here or on another node", async () => {
    const other = world.node();
    await node.rooms.update(APP, "standup", { maxParticipants: 3 });
    const enter = meetings.enter.bind(meetings);
    const bob = await world.enter(node, room);
    await leave(bob, "goodbye");
    const people = ["here", "there"].map((id) => ({ ...bob.seat.claims, id }));
    const restore = answered("enter", async (...args) => {
      await enter(...args);
      return away();
    });
    for (const one of people) await expect(node.meetings.enter(seatOf(one))).rejects.toThrow("away");
    restore();
    for (const [i, at] of [node, other].entries()) await world.connect(at.meetings, people[i] ?? bob.seat.claims);
    await pass(20_000, node, other);
    await node.meetings.stop();
    expect(await stay("here")).toMatchObject({ ended: null, node: "node-1" });
    expect(await stay("there")).toMatchObject({ ended: null, node: "node-2" });
    await other.services.stop();
  });
});

describe("a goodbye that is written late", () => {
  test("does not end a stay that is on another node by then", async () => {
    const other = world.node();
    const ada = await world.enter(node, room);
    const end = meetings.end.bind(meetings);
    const { promise, resolve } = Promise.withResolvers<void>();
    const restore = answered("end", (...args) => promise.then(() => end(...args)));
    node.meetings.disconnected(ada.seat, ada.connection, "goodbye");
    world.now += 500;
    await world.connect(other.meetings, ada.seat.claims);
    resolve();
    await node.meetings.stop();
    restore();
    expect(await stay(ada.id)).toMatchObject({ ended: null, node: "node-2" });
    await other.services.stop();
  });

  test("does not either if a third node writes it", async () => {
    const [other, third] = [world.node(), world.node()];
    const ada = await world.enter(node, room);
    const end = meetings.end.bind(meetings);
    let calls = 0;
    const restore = answered("end", async (...args) => {
      if (calls++ > 0) return end(...args);
      await world.connect(other.meetings, ada.seat.claims);
      return away();
    });
    await leave(ada, "goodbye");
    restore();
    expect(calls).toBeGreaterThan(1);
    expect(await stay(ada.id)).toMatchObject({ ended: null, node: "node-2" });
    await Promise.all([other.services.stop(), third.services.stop()]);
  });
});
