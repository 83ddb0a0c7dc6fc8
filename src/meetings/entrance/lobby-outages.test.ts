/** Visitors of a lobby while the store is unreachable: no node can note meanwhile that they are connected. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import { LOBBY_GONE_MS, LOBBY_SWEEP_EVERY_MS } from "../contract/limits.ts";
import { World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
let isStoreUnavailable = false;
beforeEach(async () => {
  isStoreUnavailable = false;
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms, { privacy: "private" });
  const { meetings } = world.store;
  for (const name of ["setSeen", "waitingOne", "forgetWaiting"] as const) {
    const call = meetings[name].bind(meetings) as (...args: unknown[]) => Promise<never>;
    spyOn(meetings, name).mockImplementation(async (...args: unknown[]) => {
      if (isStoreUnavailable) throw new StoreUnreachable("unreachable for this test");
      return call(...args);
    });
  }
});
afterEach(() => world.close());

/** Both nodes sweep every two seconds; the one without the visitor first. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOBBY_SWEEP_EVERY_MS) {
    world.now += LOBBY_SWEEP_EVERY_MS;
    for (const { services } of [other, node])
      await services.lobby.sweep().catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnreachable));
  }
}

const waiting = async (): Promise<string[]> =>
  (await world.store.meetings.waiting(room.app, room.id)).map(({ waitId }) => waitId);

describe("an outage of the store", () => {
  test.each([10, 26, 30, 40, 300])("of %i s: a visitor whose page is connected keeps its place", async (seconds) => {
    const bob = await world.wait(node, room, "Bob");
    await pass(14_000);
    isStoreUnavailable = true;
    await pass(seconds * 1000);
    isStoreUnavailable = false;
    await pass(2 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([bob.id]);
    expect(node.floor.closed).toEqual([]);
  });

  test("a visitor whose page is gone is forgotten after it", async () => {
    const bob = await world.wait(node, room, "Bob");
    isStoreUnavailable = true;
    await pass(LOBBY_GONE_MS);
    isStoreUnavailable = false;
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    await pass(LOBBY_GONE_MS - LOBBY_SWEEP_EVERY_MS);
    expect(await waiting()).toEqual([bob.id]);
    await pass(2 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([]);
  });

  test("a visitor whose secret key ends meanwhile is disconnected, and its place is gone", async () => {
    const bob = await world.wait(node, room, "Bob");
    world.rotate(10);
    isStoreUnavailable = true;
    await pass(14_000);
    expect(node.floor.closed.map(({ peerId }) => peerId)).toEqual([bob.id]);
    isStoreUnavailable = false;
    await pass(3 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([]);
  });
});
