/** People in rooms and in the lobby while the clock on the wall is set. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn } from "../../test/support/wait.ts";
import type { RoomRow } from "../store/contract/rooms.ts";
import { DECLINED_MS, LOBBY_GONE_MS } from "./contract/limits.ts";
import { APP, type Someone, World, type WorldNode } from "./testing/world.ts";

const STEP_MS = 600_000;

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

const back = (one: Someone, at: WorldNode = node): Promise<Someone> => world.connect(at.meetings, one.seat.claims);
const whyOf = async ({ id }: Someone) => (await world.store.meetings.stay(id))?.why;

async function leave(one: Someone, departure: "goodbye" | "lost"): Promise<void> {
  node.meetings.disconnected(one.seat, one.connection, departure);
  await node.meetings.stop();
}

/** Sweeps every 5 s, as a node does. */
async function pass(ms: number, ...nodes: WorldNode[]): Promise<void> {
  for (let left = ms; left > 0; left -= 5000) {
    world.now += Math.min(left, 5000);
    for (const { meetings } of nodes.length > 0 ? nodes : [node]) await meetings.upkeep.run(meetings.stays);
  }
}

/** As a node does when it notices. */
async function setBack(): Promise<void> {
  world.setMs -= STEP_MS;
  await node.meetings.upkeep.clockSetBack();
}

describe("the clock is set back by ten minutes", () => {
  test("a stay that is lost ends in time, also on a node that has just started", async () => {
    const ada = await world.enter(node, room);
    await leave(ada, "lost");
    await node.meetings.upkeep.begin();
    await setBack();
    await pass(30_000);
    expect(await whyOf(ada)).toBeNull();
    await pass(20_000);
    expect(await whyOf(ada)).toBe("lost");
  });

  test("a meeting without people ends in time", async () => {
    await leave(await world.enter(node, room), "goodbye");
    await setBack();
    await pass(45_000);
    expect(await world.store.meetings.current(APP, room.id)).toBeUndefined();
  });

  test("stays of a node that was killed end in time", async () => {
    const dead = world.node();
    const ada = await world.enter(dead, room);
    await pass(5000, dead, node);
    world.kill(dead);
    await setBack();
    await pass(50_000);
    const row = await world.store.meetings.stay(ada.id);
    expect(row).toMatchObject({ why: "lost" });
    expect(row?.ended).toBeLessThanOrEqual(world.nowMs());
  });

  test("a page that is loaded again replaces its older connection, on this node and on another", async () => {
    const other = world.node();
    const [here, there] = [await world.enter(node, room), await world.enter(other, room)];
    await setBack();
    const reloaded = await back(here);
    expect(node.floor.closed).toEqual([{ peerId: here.id, reason: "replaced", except: reloaded.connection }]);
    await back(there);
    await nextTurn();
    expect(other.floor.closed).toEqual([{ peerId: there.id, reason: "replaced", except: undefined }]);
    expect(node.floor.closed).toHaveLength(1);
  });

  test("a connection that was let in and never opened is given up in time", async () => {
    const ada = await world.enter(node, room);
    await leave(ada, "lost");
    await node.meetings.enter(ada.seat);
    world.setMs -= STEP_MS;
    await pass(15_000);
    await node.meetings.stop();
    expect(await world.store.meetings.stay(ada.id)).toMatchObject({ node: null });
  });

  test("a change of the room that this node was not notified of is found in time", async () => {
    const ada = await world.enter(node, room);
    await node.services.tick();
    world.setMs -= STEP_MS;
    await world.store.rooms.archiveRoom(APP, room.name, world.nowMs());
    for (let n = 0; n < 11; n++) {
      world.now += 1000;
      await node.services.tick();
    }
    expect(await whyOf(ada)).toBe("ended");
  });

  test("who was declined waits a minute, and a place in the lobby is forgotten in time", async () => {
    const { lobby } = node.services;
    const [bob, eve] = [await world.wait(node, room, "Bob"), await world.wait(node, room, "Eve", "elsewhere")];
    await lobby.decide({ app: APP, room: room.id }, bob.id, "declined");
    node.meetings.disconnected(eve.seat, eve.connection, "lost");
    await nextTurn();
    await setBack();
    expect(await lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "declined" });
    world.now += LOBBY_GONE_MS + 1;
    expect(await lobby.placeOf(room, eve.ticket)).toBeUndefined();
    world.now += DECLINED_MS;
    expect(await lobby.placeOf(room, bob.ticket)).toBeUndefined();
  });
});

describe("a meeting in which nothing happens", () => {
  for (const [what, stepMs, latestSec] of [["back", -STEP_MS, 31] as const, ["forward", STEP_MS, 1] as const])
    test(`ends in time although the clock is set ${what}`, async () => {
      const row = await world.room(node.rooms, { roomName: "quiet", endMeetingAfterNoActivityInSec: 30 });
      const ada = await world.enter(node, row);
      world.members(row, { [ada.id]: {} });
      const tick = async (seconds: number): Promise<void> => {
        for (let n = 0; n < seconds; n++) {
          world.now += 1000;
          await node.services.tick();
        }
      };
      await tick(2);
      world.setMs += stepMs;
      await tick(latestSec - Math.min(10, latestSec));
      expect(await whyOf(ada)).toBeNull();
      await tick(10);
      expect(await whyOf(ada)).toBe("ended");
    });
});
