/** When the chat of a room is forgotten. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, type Someone, World } from "../testing/world.ts";

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

async function goodbye({ seat, connection }: Someone): Promise<void> {
  node.meetings.disconnected(seat, connection, "goodbye");
  await node.meetings.stop();
}

/** Sweeps every 5 s, as a node does. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5000) {
    world.now += 5000;
    await node.meetings.upkeep.run(node.meetings.stays);
  }
}

describe("the chat", () => {
  const chat = (): string => `_parley/room/${room.id}/chat`;

  test("goes when a meeting begins and when it ends, where it belongs to the meeting", async () => {
    const ada = await world.enter(node, room);
    await world.enter(node, room);
    expect(world.floors.forgotten).toEqual([chat()]);
    const [bob] = [...(node.meetings.present.room(room.id)?.stays.values() ?? [])].slice(1);
    await goodbye(ada);
    if (bob) node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    await node.meetings.stop();
    await pass(35_000);
    expect(world.floors.forgotten).toEqual([chat(), chat()]);
  });

  test("stays where it belongs to the room", async () => {
    await node.rooms.update(APP, "standup", { newChatForMeetingSession: false });
    await goodbye(await world.enter(node, room));
    await pass(35_000);
    expect(await world.store.meetings.current(APP, room.id)).toBeUndefined();
    expect(world.floors.forgotten).toEqual([]);
  });
});
