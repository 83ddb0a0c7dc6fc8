/** endMeetingAfterNoActivityInSec while a node, or the store, cannot be asked. times.test.ts has the rest. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { RoomEdits } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, type Someone, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const room = (edits: RoomEdits) => world.room(node.rooms, edits);
const notices = (): unknown[] => world.floors.on("/room").filter(({ notice }) => notice === "ending");
/** All notices about ends, and that they do not come. */
const announced = (): unknown[] =>
  world.floors.on("/room").filter(({ notice }) => notice === "ending" || notice === "continues");
/** The second node checks its own people, or does nothing. */
const tick = async (seconds: number, isOtherToo = true): Promise<void> => {
  for (let n = 0; n < seconds; n++) {
    world.now += 1000;
    await node.services.times.tick();
    if (isOtherToo) await other.services.times.tick();
  }
};

describe("with a person on a node that is cut off from the others", () => {
  /** Ada is on one node and Bob, who shares, on the other: this one does not see him any more. */
  const cutOff = async (): Promise<{ row: RoomRow; ada: Someone; bob: Someone }> => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const [ada, bob] = [await world.enter(node, row), await world.enter(other, row)];
    world.members(row, { [ada.id]: {}, [bob.id]: { audio: true } });
    await tick(1);
    world.floors.isCut = true;
    world.members(row, { [ada.id]: {} });
    return { row, ada, bob };
  };

  test("it goes on, without a warning, and ends when that node says that no one shares", async () => {
    await cutOff();
    await tick(300);
    expect(announced()).toEqual([]);
    expect(node.floor.closed).toEqual([]);
    world.floors.isCut = false;
    await tick(60);
    expect(notices()).toContainEqual({ notice: "ending", inSec: 15 });
    expect(node.floor.closed).toContainEqual({ peerId: expect.any(String), reason: "ended" });
  });

  test("it goes on while that node, which is heard again, says that someone shares", async () => {
    const { bob } = await cutOff();
    world.floors.isCut = false;
    const shown = spyOn(other.floor, "members");
    shown.mockImplementation(() => [{ peerId: bob.id, state: { screen: true } }]);
    await tick(100, false);
    expect(announced()).toEqual([]);
    shown.mockImplementation(() => [{ peerId: bob.id, state: { screen: false } }]);
    await tick(60, false);
    expect(node.floor.closed).toContainEqual({ peerId: bob.id, reason: "ended" });
  });

  test("it is announced before that node is cut off, and taken back then", async () => {
    const { row, ada, bob } = await cutOff();
    world.floors.isCut = false;
    world.members(row, { [ada.id]: {}, [bob.id]: {} });
    await tick(20, false);
    expect(announced()).toEqual([{ notice: "ending", inSec: 15 }]);
    world.floors.isCut = true;
    world.now += 9000;
    await tick(1, false);
    expect(announced().slice(1)).toEqual([{ notice: "continues" }]);
    expect(node.floor.closed).toEqual([]);
  });

  test.each(["without a connection", "over"])("it ends if that person's stay is %s", async (how) => {
    const { row, ada, bob } = await cutOff();
    if (how === "without a connection") await world.store.meetings.lost(bob.id, "node-2", world.now);
    else await world.store.meetings.end(bob.id, "lost", world.now);
    await tick(32, false);
    expect(node.floor.closed).toContainEqual({ peerId: ada.id, reason: "ended" });
    expect(await world.store.meetings.current(APP, row.id)).toBeUndefined();
  });

  test("someone who comes in while the nodes are asked is not put out", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(30);
    const ask = node.floor.ask.bind(node.floor);
    const asked = spyOn(node.floor, "ask").mockImplementation(async (...request) => {
      world.members(row, { [ada.id]: {}, another: {} });
      return ask(...request);
    });
    await tick(1, false);
    expect(asked).toHaveBeenCalled();
    await tick(28);
    expect(node.floor.closed).toEqual([]);
  });
});

test.each(["away", "silent"])("a store that is %s keeps no warning back", async (how) => {
  const row = await room({ endMeetingAfterNoActivityInSec: 30 });
  const ada = await world.enter(node, row);
  world.members(row, { [ada.id]: {} });
  await tick(1);
  const openStays = spyOn(world.store.meetings, "openStays");
  openStays.mockImplementation(() => (how === "away" ? Promise.reject(new Error(how)) : new Promise(() => undefined)));
  await tick(20, false);
  expect(notices()).toEqual([{ notice: "ending", inSec: 15 }]);
  openStays.mockRejectedValue(new Error("away"));
  await tick(10, false);
  expect(node.floor.closed).toEqual([{ peerId: ada.id, reason: "ended" }]);
  openStays.mockRestore();
  expect(world.failures.splice(0)).toContainEqual(new Error("away"));
});
