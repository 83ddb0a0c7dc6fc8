import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import { seatOf } from "../../access/tokens/room-token.ts";
import type { MeetingRow, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, type Someone, World, type WorldNode } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let room: RoomRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  room = await world.room(node.rooms);
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const refusal = (code: string) => expect.objectContaining({ code });
const stay = (id: string): Promise<StayRow | undefined> => world.store.meetings.stay(id);
const inside = (): Promise<number> => world.store.meetings.inside(APP, room.id);
const current = (): Promise<MeetingRow | undefined> => world.store.meetings.current(APP, room.id);
const sweep = ({ meetings }: WorldNode = node): Promise<void> => meetings.upkeep.run(meetings.stays);
const back = (one: Someone, at: WorldNode = node): Promise<Someone> => world.connect(at.meetings, one.seat.claims);

async function leave(one: Someone, departure: "goodbye" | "lost" | "held" = "lost", at: WorldNode = node) {
  at.meetings.disconnected(one.seat, one.connection, departure);
  await at.meetings.stop();
}

/** Sweeps every 5 s, as a node does. */
async function pass(ms: number, ...nodes: WorldNode[]): Promise<void> {
  for (let left = ms; left > 0; left -= 5000) {
    world.now += Math.min(left, 5000);
    for (const one of nodes.length > 0 ? nodes : [node]) await sweep(one);
  }
}

describe("a stay", () => {
  test("ends at once with a goodbye, as left", async () => {
    const ada = await world.enter(node, room);
    await leave(ada, "goodbye");
    expect(await stay(ada.id)).toMatchObject({ why: "left", ended: world.now });
    await expect(back(ada)).rejects.toEqual(refusal("token_expired"));
  });

  test("goes on over a lost connection for 30 s", async () => {
    const ada = await world.enter(node, room);
    const bob = await world.enter(node, room);
    await leave(ada);
    await leave(bob, "held");
    await pass(29_000);
    await back(ada);
    await pass(60_000);
    expect(await stay(ada.id)).toMatchObject({ ended: null });
    expect(await stay(bob.id)).toMatchObject({ why: "lost" });
    expect(await inside()).toBe(1);
  });

  test("that no one came back to has ended when it was last seen, and its meeting with it", async () => {
    const ada = await world.enter(node, room);
    world.now += 1000;
    const lastSeen = world.now;
    await leave(ada);
    await pass(40_000);
    expect(await stay(ada.id)).toMatchObject({ why: "lost", ended: lastSeen });
    expect(await current()).toBeUndefined();
    const [meeting] = (await world.store.meetings.meetings(APP, { limit: 1 }))?.rows ?? [];
    expect(meeting?.ended).toBe(lastSeen);
  });

  test("whose connection never opened counts as lost", async () => {
    const seat = (await world.enter(node, room)).seat;
    const unopened = { ...seat, claims: { ...seat.claims, id: "never" } };
    await node.meetings.enter(unopened);
    await pass(50_000);
    expect(await stay("never")).toMatchObject({ why: "lost" });
    const gone = { ...seat, claims: { ...seat.claims, id: "gone" } };
    await node.meetings.enter(gone);
    node.meetings.disconnected(gone, "", "lost");
    await node.meetings.stop();
    expect(await stay("gone")).toMatchObject({ node: null, ended: null });
  });

  test("ends with a goodbye, as left, also if its node alone cannot reach the store: another one writes it", async () => {
    const ada = await world.enter(node, room);
    const other = world.node();
    const { meetings } = world.store;
    const end = meetings.end.bind(meetings);
    let calls = 0;
    // The first call is that of its own node.
    meetings.end = (...args) => (calls++ === 0 ? Promise.reject(new Error("away")) : end(...args));
    await leave(ada, "goodbye");
    meetings.end = end;
    expect(await stay(ada.id)).toMatchObject({ why: "left", ended: world.now });
    expect(await inside()).toBe(0);
    await other.services.stop();
  });

  test("whose goodbye no node can write ends when the store is there again", async () => {
    const ada = await world.enter(node, room);
    const other = world.node();
    const { meetings } = world.store;
    const end = meetings.end.bind(meetings);
    meetings.end = () => Promise.reject(new Error("away"));
    await leave(ada, "goodbye");
    expect(world.failures.splice(0)).toHaveLength(1);
    meetings.end = end;
    await sweep();
    await node.meetings.stop();
    expect(await stay(ada.id)).toMatchObject({ why: "left" });
    await other.services.stop();
  });

  test("is written as lost when the store is there again", async () => {
    const ada = await world.enter(node, room);
    const { lost } = world.store.meetings;
    world.store.meetings.lost = () => Promise.reject(new Error("away"));
    await leave(ada);
    expect(world.failures.splice(0)).toHaveLength(1);
    world.store.meetings.lost = lost;
    await sweep();
    await node.meetings.stop();
    expect(await stay(ada.id)).toMatchObject({ node: null, ended: null });
  });

  test("takes no second place with a second connection: the newest wins, the older is closed as replaced", async () => {
    await node.rooms.update(APP, "standup", { maxParticipants: 1 });
    const first = await world.enter(node, room);
    const second = await back(first);
    expect(node.floor.closed).toEqual([{ peerId: first.id, reason: "replaced", except: second.connection }]);
    await leave(first);
    expect(await stay(first.id)).toMatchObject({ node: "node-1", ended: null });
    await leave(second, "goodbye");
    expect(await stay(first.id)).toMatchObject({ why: "left" });
  });

  test("is closed on the other node when it comes to this one", async () => {
    const other = world.node();
    const first = await world.enter(other, room);
    world.now += 1;
    await back(first);
    await nextTurn();
    expect(other.floor.closed).toEqual([{ peerId: first.id, reason: "replaced", except: undefined }]);
    expect(node.floor.closed).toEqual([]);
    await leave(first, "lost", other);
    expect(await stay(first.id)).toMatchObject({ node: "node-1", ended: null });
  });

  test("keeps the newer of two connections that open in the other order, on one node and on two", async () => {
    const other = world.node();
    const { claims } = (await world.enter(node, room)).seat;
    const [old, onOther, newest] = [seatOf(claims), seatOf(claims), seatOf(claims)];
    for (const [seat, at] of [
      [old, node],
      [onOther, other],
      [newest, node],
    ] as const) {
      world.now += 1;
      await at.meetings.enter(seat);
    }
    node.meetings.connected(newest, "newest");
    other.meetings.connected(onOther, "on-other");
    node.meetings.connected(old, "old");
    await nextTurn();
    expect(node.meetings.present.stay(newest)?.connection).toBe("newest");
    expect(other.meetings.present.stay(onOther)).toBeUndefined();
    expect(node.floor.closed.at(-1)).toEqual({ peerId: claims.id, reason: "replaced", except: "newest" });
    expect(other.floor.closed.at(-1)).toMatchObject({ reason: "replaced" });
  });

  for (const [name, isLater] of [
    ["keeps the one that came later, also if the store's answer to the earlier one is late", true],
    ["keeps one of two that came in the same millisecond to two nodes, if the store's answer to one is late", false],
  ] as const)
    test(name, async () => {
      const other = world.node();
      const { meetings } = world.store;
      const enter = meetings.enter.bind(meetings);
      const claims = { ...(await world.enter(node, room)).seat.claims, id: "two" };
      const [early, late] = [seatOf(claims), seatOf(claims)];
      meetings.enter = async (...entering) => {
        const entered = await enter(...entering);
        meetings.enter = enter;
        if (isLater) world.now += 1;
        await other.meetings.enter(late);
        other.meetings.connected(late, "late");
        await nextTurn();
        return entered;
      };
      await node.meetings.enter(early);
      node.meetings.connected(early, "early");
      await nextTurn();
      const kept = [node.meetings.present.stay(early), other.meetings.present.stay(late)].filter(Boolean);
      expect(kept).toMatchObject([{ connection: "late" }]);
      expect(node.floor.closed.at(-1)).toMatchObject({ peerId: "two", reason: "replaced" });
      expect((await stay("two"))?.node).toBe("node-2");
    });

  test("that is put out while its connection opens is closed when it opens", async () => {
    const seat = { ...(await world.enter(node, room)).seat };
    await node.meetings.enter(seat);
    node.meetings.stays.closeHere(APP, room.id, seat.claims.id, "removed");
    node.floor.closed.length = 0;
    node.meetings.connected(seat, "late");
    expect(node.floor.closed).toMatchObject([{ peerId: seat.claims.id, reason: "removed" }]);
    expect(node.meetings.present.isEmpty).toBe(true);
  });

  test("that is put out before the store's answer is here is closed when it opens", async () => {
    const { meetings } = world.store;
    const enter = meetings.enter.bind(meetings);
    meetings.enter = async (...entering) => {
      const entered = await enter(...entering);
      await node.services.acts.end(APP, "standup");
      return entered;
    };
    const ada = await world.enter(node, room);
    expect(await stay(ada.id)).toMatchObject({ why: "ended" });
    expect(node.floor.closed.at(-1)).toMatchObject({ peerId: ada.id, reason: "ended" });
    expect(node.meetings.present.isEmpty).toBe(true);
  });

  test("has the rights of the room as it is now", async () => {
    const chat = `_parley/room/${room.id}/chat`;
    const ada = await world.enter(node, room);
    const withChat = ada.seat.access.on(chat);
    await node.rooms.update(APP, "standup", { enableChat: false });
    const next = await back(ada);
    expect(next.seat.access.on(chat)).not.toBe(withChat);
  });
});

describe("a node that was killed", () => {
  test("has its stays ended by the others at its last beat, after the people had 30 s to come back", async () => {
    const dead = world.node();
    const ada = await world.enter(dead, room);
    const bob = await world.enter(dead, room);
    await pass(5000, dead, node);
    const lastBeat = world.now;
    world.kill(dead);
    await pass(29_000);
    await back(bob);
    expect(await stay(ada.id)).toMatchObject({ ended: null });
    await pass(15_000);
    expect(await stay(ada.id)).toMatchObject({ why: "lost", ended: lastBeat });
    expect(await stay(bob.id)).toMatchObject({ ended: null, node: "node-1" });
  });

  test("ends its stays itself after a restart, and gives the people 30 s from then", async () => {
    const dead = world.node();
    const ada = await world.enter(dead, room);
    const bob = await world.enter(dead, room);
    const lastBeat = world.now;
    world.kill(dead);
    world.now += 3_600_000;
    const restarted = world.node();
    await restarted.meetings.upkeep.begin();
    await pass(28_000, restarted);
    expect(await stay(ada.id)).toMatchObject({ ended: null });
    await back(bob, restarted);
    await pass(10_000, restarted);
    expect(await stay(ada.id)).toMatchObject({ why: "lost", ended: lastBeat });
    expect(await stay(bob.id)).toMatchObject({ ended: null });
    expect((await current())?.id).toBe((await stay(bob.id))?.meeting);
  });

  test("is not what a node is whose beats were late: it says that its people are connected", async () => {
    const slow = world.node();
    const ada = await world.enter(slow, room);
    await pass(60_000, node);
    expect(await stay(ada.id)).toMatchObject({ ended: null, node: "node-2" });
  });

  test("is not what a node is that cannot reach the store, but the others: they beat for it", async () => {
    const cutOff = world.node();
    const ada = await world.enter(cutOff, room);
    await world.enter(node, room);
    const { meetings } = world.store;
    const enter = meetings.enter.bind(meetings);
    // The second is as one that falls silent.
    const failures = [() => Promise.reject(new Error("away")), () => new Promise<never>(() => undefined)];
    for (const fail of failures) {
      meetings.enter = (one, ...more) => (one.node === "node-2" ? fail() : enter(one, ...more));
      await pass(40_000, node);
    }
    expect(await stay(ada.id)).toMatchObject({ ended: null, node: "node-2" });
    meetings.enter = enter;
    expect(world.failures.splice(0)).not.toEqual([]);
    world.kill(cutOff);
    await pass(60_000, node);
    expect(await stay(ada.id)).toMatchObject({ why: "lost" });
  });

  test("is not what all nodes are when the store was unavailable: the others get 30 s for their beats", async () => {
    const ada = await world.enter(node, room);
    world.floors.isCut = true;
    const other = world.node();
    const { overdue } = world.store.meetings;
    world.store.meetings.overdue = () => Promise.reject(new Error("away"));
    world.now += 60_000;
    await expect(sweep(other)).rejects.toThrow("away");
    world.store.meetings.overdue = overdue;
    expect(await stay(ada.id)).toMatchObject({ ended: null });
    await pass(25_000, other);
    expect(await stay(ada.id)).toMatchObject({ ended: null });
    await pass(60_000, node, other);
    expect(await stay(ada.id)).toMatchObject({ ended: null });
  });
});

describe("beats", () => {
  test("are only sent while a person is on the node", async () => {
    let beats = 0;
    const { beat } = world.store.meetings;
    world.store.meetings.beat = (...args) => {
      beats++;
      return beat.apply(world.store.meetings, args);
    };
    await pass(20_000);
    expect(beats).toBe(0);
    const ada = await world.enter(node, room);
    await pass(20_000);
    expect(beats).toBe(5);
    await leave(ada, "goodbye");
    await pass(20_000);
    expect(beats).toBe(5);
  });
});
