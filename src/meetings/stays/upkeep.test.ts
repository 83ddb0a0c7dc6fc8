/** More stays and meetings than a sweep reads at once. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { entering } from "../../store/testing/meetings.ts";
import { SWEEP_ROWS } from "../contract/limits.ts";
import { APP, World, type WorldNode } from "../testing/world.ts";

const STAYS = 2 * SWEEP_ROWS + 10;

let world: World;
let node: ReturnType<World["node"]>;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const run = ({ meetings }: WorldNode): Promise<void> => meetings.upkeep.run(meetings.stays);

/** Their connections were lost just now, on a node that has none left. */
async function loseMany(): Promise<void> {
  const { meetings } = world.store;
  for (let nr = 0; nr < STAYS; nr++) {
    await meetings.enter(entering(`many-${nr}`, `room-${nr}`, { app: APP, node: "elsewhere" }), 6, world.now);
    await meetings.lost(`many-${nr}`, "elsewhere", world.now);
  }
}

test("stays that were lost together end together, and so does one that was lost after them", async () => {
  const room = await world.room(node.rooms);
  const ada = await world.enter(node, room);
  await loseMany();
  world.now += 10;
  await world.store.meetings.lost(ada.id, "node-1", world.now);
  world.kill(node);
  world.now += 36_000;
  await run(world.node());
  expect(await world.store.meetings.stay(ada.id)).toMatchObject({ why: "lost" });
  expect(await world.store.meetings.overdue(world.now, 9)).toEqual([]);
  expect(await world.store.meetings.endEmpty(world.now, 9)).toEqual([]);
});

test("meetings that became empty together are over before people may enter again", async () => {
  await loseMany();
  const overdue = await world.store.meetings.overdue(world.now + 1, STAYS);
  await world.store.meetings.endOverdue(world.now + 1, overdue);
  world.now += 31_000;
  await node.meetings.upkeep.begin();
  expect(await world.store.meetings.endEmpty(world.now, 9)).toEqual([]);
});

test("a node that is stopped leaves the rest to the next start", async () => {
  await loseMany();
  world.now += 36_000;
  node.meetings.upkeep.stop();
  await run(node);
  expect(await world.store.meetings.overdue(world.now, STAYS)).toHaveLength(STAYS - SWEEP_ROWS);
});

test("stays that the store has no node of, but that have connections, go on, however many they are", async () => {
  const other = world.node();
  const ids: string[] = [];
  while (ids.length < SWEEP_ROWS + 12) {
    const room = await world.room(other.rooms, { roomName: `room-${ids.length}` });
    for (let nr = 0; nr < 6; nr++) ids.push((await world.enter(other, room)).id);
  }
  for (const id of ids) await world.store.meetings.lost(id, "node-2", world.now);
  world.now += 36_000;
  for (let runs = 0; runs < 3; runs++) await run(node);
  for (const id of ids) expect(await world.store.meetings.stay(id)).toMatchObject({ ended: null, node: "node-2" });
});
