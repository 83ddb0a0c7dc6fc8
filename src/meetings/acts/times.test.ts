import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { nextTurn, until } from "../../../test/support/wait.ts";
import { roomChannel } from "../../protocol/room-channels.ts";
import { type RoomEdits, valuesOf } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, World } from "../testing/world.ts";

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
const inSec = (sec: number): number => Math.floor(world.now / 1000) + sec;
const notices = (): unknown[] => world.floors.on("/room").filter(({ notice }) => notice === "ending");
/** All notices about ends, and that they do not come. */
const announced = (): unknown[] =>
  world.floors.on("/room").filter(({ notice }) => notice === "ending" || notice === "continues");
const fieldsOf = (id: string): RoomEdits => valuesOf(node.meetings.present.room(id)?.row as RoomRow);
/** A check that comes late: the machine, or the store, has stood still for that long. */
const lateTick = async (seconds: number): Promise<void> => {
  world.now += seconds * 1000;
  await node.services.tick();
};
const tick = async (seconds: number): Promise<void> => {
  for (let n = 0; n < seconds; n++) {
    world.now += 1000;
    await node.services.tick();
    await other.services.tick();
  }
};

describe("ejectAfterElapsedTimeInSec", () => {
  test("warns a participant that subscribes to the notices after its warning", async () => {
    const row = await room({ ejectAfterElapsedTimeInSec: 50 });
    const ada = await world.enter(node, row);
    await tick(2);
    expect(notices()).toHaveLength(1);
    node.meetings.subscribed(ada.seat, roomChannel(row.id));
    await tick(2);
    expect(notices()).toEqual([
      { notice: "ending", participantSession: ada.id, inSec: 49 },
      { notice: "ending", participantSession: ada.id, inSec: 47 },
    ]);
  });

  test("puts each one out that long after its own entry, with a warning a minute before", async () => {
    const row = await room({ ejectAfterElapsedTimeInSec: 100 });
    const ada = await world.enter(node, row);
    await tick(30);
    const bob = await world.enter(other, row);
    await tick(9);
    expect(notices()).toEqual([]);
    await tick(1);
    expect(notices()).toEqual([{ notice: "ending", participantSession: ada.id, inSec: 60 }]);
    await tick(59);
    expect(node.floor.closed).toEqual([]);
    await tick(1);
    for (const { floor } of [node, other]) expect(floor.closed).toEqual([{ peerId: ada.id, reason: "time" }]);
    expect(await world.store.meetings.stay(ada.id)).toMatchObject({ why: "time", ended: world.now });
    await tick(30);
    expect(other.floor.closed).toEqual([
      { peerId: ada.id, reason: "time" },
      { peerId: bob.id, reason: "time" },
    ]);
    expect(notices()).toHaveLength(2);
  });

  test("is announced before the close, also if no check came in time", async () => {
    const row = await room({ ejectAfterElapsedTimeInSec: 5 });
    const ada = await world.enter(node, row);
    await lateTick(7);
    expect(notices()).toEqual([{ notice: "ending", participantSession: ada.id, inSec: 0 }]);
    expect(node.floor.closed).toEqual([{ peerId: ada.id, reason: "time" }]);
  });

  test("of the token wins, and counts from the token's first entry into the meeting", async () => {
    const row = await room({ ejectAfterElapsedTimeInSec: 1000 });
    const token = { accessToken: "digest", ejectAfterSec: 20 };
    await world.enter(node, row);
    const first = await world.enter(node, row, token);
    await tick(10);
    node.meetings.disconnected(first.seat, first.connection, "goodbye");
    const second = await world.enter(other, row, token);
    await tick(9);
    expect(other.floor.closed).toEqual([]);
    await tick(1);
    expect(other.floor.closed).toEqual([{ peerId: second.id, reason: "time" }]);
    await expect(world.enter(node, row, token)).rejects.toMatchObject({ code: expect.any(String) });
  });
});

test("ejectAtRoomExp puts everyone out at that time, after one warning for all", async () => {
  const row = await room({ ejectAtRoomExp: true, expireUnixSec: inSec(90) });
  const ada = await world.enter(node, row);
  const eve = await world.enter(node, row, { isAdmin: true });
  await tick(89);
  expect(notices()).toEqual([{ notice: "ending", inSec: 60 }]);
  expect(node.floor.closed).toEqual([]);
  await tick(1);
  expect(node.floor.closed.map(({ peerId }) => peerId).toSorted()).toEqual([ada.id, eve.id].toSorted());
  expect(node.floor.closed.every(({ reason }) => reason === "time")).toBe(true);
});

test("the end of the room is announced once to everyone, also if no check came in time", async () => {
  const row = await room({ ejectAtRoomExp: true, expireUnixSec: inSec(5) });
  await world.enter(node, row);
  await world.enter(node, row);
  await lateTick(7);
  expect(notices()).toEqual([{ notice: "ending", inSec: 0 }]);
  expect(node.floor.closed).toHaveLength(2);
});

test("without ejectAtRoomExp people stay when the room's time is over", async () => {
  await world.enter(node, await room({ expireUnixSec: inSec(5) }));
  await tick(20);
  expect(node.floor.closed).toEqual([]);
});

test("a room that is archived by the clock ends its meeting", async () => {
  const row = await room({ deleteOnExp: true, expireUnixSec: inSec(10) });
  const ada = await world.enter(node, row);
  await tick(9);
  expect(notices()).toEqual([{ notice: "ending", inSec: 9 }]);
  await tick(1);
  expect(node.floor.closed).toEqual([{ peerId: ada.id, reason: "ended" }]);
  expect(await world.store.meetings.current(APP, row.id)).toBeUndefined();
});

describe("endMeetingAfterNoActivityInSec", () => {
  test("ends the meeting when no one has shared anything for that long, on any node", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    const bob = await world.enter(other, row);
    world.members(row, { [ada.id]: { audio: false, hand: true }, [bob.id]: { audio: true } });
    await tick(60);
    expect(node.floor.closed).toEqual([]);
    world.members(row, { [ada.id]: { hand: true }, [bob.id]: { audio: false } });
    await tick(29);
    expect(notices()).toContainEqual({ notice: "ending", inSec: 15 });
    expect(node.floor.closed).toEqual([]);
    await tick(1);
    await until("both", () => node.floor.closed.length === 2);
    expect(node.floor.closed).toContainEqual({ peerId: bob.id, reason: "ended" });
    expect(await world.store.meetings.stay(ada.id)).toMatchObject({ why: "ended" });
  });

  test("counts from the end of the activity, also if a check comes late", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: { audio: true } });
    await tick(1);
    world.members(row, { [ada.id]: { audio: false } });
    await lateTick(40);
    await tick(28);
    expect(node.floor.closed).toEqual([]);
    await tick(1);
    expect(node.floor.closed).toEqual([{ peerId: ada.id, reason: "ended" }]);
  });

  test.each(["audio", "video", "screen"])("%s is activity, and so is a person who comes in", async (kind) => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(25);
    world.members(row, { [ada.id]: { [kind]: true } });
    await tick(1);
    world.members(row, { [ada.id]: {} });
    await tick(25);
    world.members(row, { [ada.id]: {}, another: {} });
    await tick(29);
    expect(node.floor.closed).toEqual([]);
    await tick(2);
    expect(node.floor.closed).toEqual([{ peerId: ada.id, reason: "ended" }]);
  });

  test.each(["audio", "video", "screen"])("the warning is taken back when a person shares %s", async (kind) => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(20);
    expect(announced()).toEqual([{ notice: "ending", inSec: 15 }]);
    world.members(row, { [ada.id]: { [kind]: true } });
    await tick(2);
    expect(announced().slice(1)).toEqual([{ notice: "continues" }]);
    world.members(row, { [ada.id]: {} });
    await tick(17);
    expect(announced().slice(2)).toEqual([{ notice: "ending", inSec: 15 }]);
  });

  test("the warning is taken back also for a person who comes in and listens", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(20);
    const bob = await world.enter(node, row);
    world.members(row, { [ada.id]: {}, [bob.id]: {} });
    node.meetings.subscribed(bob.seat, roomChannel(row.id));
    await tick(1);
    expect(announced()).toEqual([{ notice: "ending", inSec: 15 }, { notice: "continues" }]);
  });

  test("the warning is taken back when the room allows more time, or all of it", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(20);
    for (const [at, sec] of [300, null].entries()) {
      await node.rooms.update(APP, "standup", { endMeetingAfterNoActivityInSec: sec } as RoomEdits);
      await until("the edit is known", () => fieldsOf(row.id).endMeetingAfterNoActivityInSec === (sec ?? undefined));
      await tick(1);
      expect(announced()).toHaveLength(2 + 2 * at);
      expect(announced().at(-1)).toEqual({ notice: "continues" });
      await node.rooms.update(APP, "standup", { endMeetingAfterNoActivityInSec: 30 });
      await until("the edit is known", () => fieldsOf(row.id).endMeetingAfterNoActivityInSec === 30);
      await tick(1);
      if (at === 0) expect(announced().at(-1)).toEqual({ notice: "ending", inSec: 9 });
    }
    expect(node.floor.closed).toEqual([]);
  });
});

describe("without activity, and with a store that answers late", () => {
  test("the end does not come for a person who shares again before the store fails", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(30);
    const asked = Promise.withResolvers<never>();
    const store = spyOn(world.store.meetings, "openStays").mockReturnValue(asked.promise);
    world.now += 1000;
    const late = node.services.times.tick();
    await until("the store is asked", () => store.mock.calls.length > 0);
    world.members(row, { [ada.id]: { audio: true } });
    asked.reject(new Error("the store is not responding"));
    await late;
    store.mockRestore();
    expect(world.failures.splice(0)).toHaveLength(1);
    await lateTick(1);
    expect(node.floor.closed).toEqual([]);
  });

  test("a person who comes in after the warning is activity, also if the store answers only then", async () => {
    const row = await room({ endMeetingAfterNoActivityInSec: 30 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(15);
    const asked = Promise.withResolvers<[]>();
    const store = spyOn(world.store.meetings, "openStays").mockReturnValue(asked.promise);
    await lateTick(1);
    expect(announced()).toEqual([{ notice: "ending", inSec: 15 }]);
    world.members(row, { [ada.id]: {}, [(await world.enter(node, row)).id]: {} });
    asked.resolve([]);
    await nextTurn();
    store.mockRestore();
    await lateTick(1);
    expect(announced().slice(1)).toEqual([{ notice: "continues" }]);
  });
});

describe("an end that was announced and moves away", () => {
  test("is taken back for everyone if it was the room's", async () => {
    const row = await room({ ejectAtRoomExp: true, expireUnixSec: inSec(50) });
    const ada = await world.enter(node, row);
    await tick(1);
    expect(announced()).toEqual([{ notice: "ending", inSec: 49 }]);
    await node.rooms.update(APP, "standup", { expireUnixSec: inSec(1000) });
    await until("the edit is known", () => node.meetings.present.stay(ada.seat)?.ejectAt === inSec(1000) * 1000);
    await tick(1);
    expect(announced().slice(1)).toEqual([{ notice: "continues" }]);
  });

  test("is taken back for one person, and what holds for everyone is not", async () => {
    const row = await room({ ejectAfterElapsedTimeInSec: 50, endMeetingAfterNoActivityInSec: 40 });
    const ada = await world.enter(node, row);
    world.members(row, { [ada.id]: {} });
    await tick(25);
    await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 1000 });
    await until("the edit is known", () => (node.meetings.present.stay(ada.seat)?.ejectAt ?? 0) > world.now + 100_000);
    await tick(1);
    expect(announced().slice(-2)).toEqual([
      { notice: "ending", inSec: 20 },
      { notice: "continues", participantSession: ada.id },
    ]);
  });
});
