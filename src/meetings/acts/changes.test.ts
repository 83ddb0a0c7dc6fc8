import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { nextTurn, until } from "../../../test/support/wait.ts";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { actionSet } from "../../protocol/actions.ts";
import { chatChannel, roomChannel } from "../../protocol/room-channels.ts";
import type { RoomEdits } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { ROOMS_CHECKED_PER_SECOND } from "../contract/limits.ts";
import { APP, type Someone, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
let ada: Someone;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms, { privacy: "private" });
  ada = await world.enter(other, room);
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const PUBLISH = actionSet(["publish"]);
const mayChat = (someone: Someone): boolean => (someone.seat.access.on(chatChannel(room.id)) & PUBLISH) !== 0;
const flags = (): unknown[] => world.floors.on("/room").filter(({ notice }) => notice === "flags");
const put = (edits: RoomEdits): Promise<unknown> => node.rooms.update(APP, "standup", edits);
/** A whole change: the notice comes last. */
const change = async (edits: RoomEdits): Promise<void> => {
  const before = flags().length;
  await put(edits);
  await until("the notice", () => flags().length > before);
};
const ejectAt = (): number | null | undefined => other.meetings.present.stay(ada.seat)?.ejectAt;

describe("a PUT on another node", () => {
  test("takes the right to write in the chat, and gives it back", async () => {
    expect(mayChat(ada)).toBe(true);
    await change({ enableChat: false });
    expect(mayChat(ada)).toBe(false);
    expect(other.floor.accesses.get(ada.id)).toBe(ada.seat.access);
    expect(await other.meetings.refusalOfMessage(ada.seat, chatChannel(room.id), '{"text":"x"}')).toMatchObject({
      code: "action_not_permitted",
    });
    await change({ enableChat: true });
    expect(mayChat(ada)).toBe(true);
  });

  test("is a notice with the public fields of the room, once", async () => {
    await change({ audioOnlyRoom: true, meetingJoinWebhook: "https://example.com/secret" });
    expect(flags()).toEqual([
      { notice: "flags", room: expect.objectContaining({ roomName: "standup", audioOnlyRoom: true }) },
    ]);
    expect(JSON.stringify(flags())).not.toContain("example.com");
  });

  test("is sent to participants that joined before it and subscribe after it, once", async () => {
    const { version } = room;
    const subscribe = ({ seat }: Someone): void => other.meetings.subscribed(seat, roomChannel(room.id));
    subscribe(await world.enter(other, room, { version }));
    expect(flags()).toEqual([]);
    await change({ enableScreenSharing: false });
    const late = await world.enter(other, room, { version });
    subscribe(late);
    subscribe(late);
    expect(flags()).toHaveLength(2);
    expect(flags()[1]).toEqual(flags()[0]);
  });

  test("to times changes when people are put out", async () => {
    expect(ejectAt()).toBeNull();
    await change({ ejectAfterElapsedTimeInSec: 100 });
    expect(ejectAt()).toBe(world.now + 100_000);
    await change({ ejectAtRoomExp: true, expireUnixSec: Math.floor(world.now / 1000) + 50 });
    expect(ejectAt()).toBe(world.now + 50_000);
    await change({ ejectAtRoomExp: false });
    expect(ejectAt()).toBe(world.now + 100_000);
    await change({ ejectAfterElapsedTimeInSec: null });
    expect(ejectAt()).toBeNull();
    // What has passed already counts.
    world.now += 60_000;
    await change({ ejectAfterElapsedTimeInSec: 30 });
    await other.services.tick();
    expect(other.floor.closed).toEqual([{ peerId: ada.id, reason: "time" }]);
  });

  test("that lowers the cap puts no one out", async () => {
    await world.enter(node, room);
    await change({ maxParticipants: 1 });
    await other.services.tick();
    expect(other.floor.closed).toEqual([]);
    await expect(world.enter(node, room)).rejects.toMatchObject({ code: "room_full" });
  });

  test("reaches a person who is just being let in", async () => {
    const seat = { ...ada.seat, claims: { ...ada.seat.claims, id: "f".repeat(24) } };
    await other.meetings.enter(seat);
    await change({ enableChat: false });
    other.meetings.connected(seat, "late");
    await until("the access", () => (seat.access.on(chatChannel(room.id)) & PUBLISH) === 0);
  });

  test("that was not heard of is found within ten seconds", async () => {
    world.floors.isCut = true;
    await put({ enableChat: false });
    await until("nothing", async () => (await node.rooms.get(APP, "standup")).enableChat === false);
    expect(mayChat(ada)).toBe(true);
    for (let second = 0; second < 12; second++) {
      world.now += 1000;
      await other.services.tick();
    }
    expect(mayChat(ada)).toBe(false);
  });
});

describe("a stay that ended while it was connected here", () => {
  test.each(["left", "lost", "removed"] as const)(
    "as %s, and without this node, is closed within ten seconds",
    async (why) => {
      await world.enter(other, room);
      await world.store.meetings.end(ada.id, why, world.now);
      for (let second = 0; second < 12; second++) {
        world.now += 1000;
        await other.services.tick();
      }
      expect(other.floor.closed).toEqual([{ peerId: ada.id, reason: why }]);
      expect(other.meetings.present.stay(ada.seat)).toBeUndefined();
    },
  );
});

test("a connection whose stay has a newer one on a node that could not be reached is closed within ten seconds", async () => {
  world.floors.isCut = true;
  world.now += 1000;
  const seat = { ...ada.seat };
  await node.meetings.enter(seat);
  node.meetings.connected(seat, "newer");
  await nextTurn();
  expect(other.floor.closed).toEqual([]);
  world.floors.isCut = false;
  for (let second = 0; second < 12; second++) {
    world.now += 1000;
    for (const one of [node, other]) await one.services.tick();
  }
  expect([other.floor.closed, node.floor.closed]).toEqual([[{ peerId: ada.id, reason: "replaced" }], []]);
  expect([other, node].map((one) => one.meetings.present.stay(ada.seat)?.connection)).toEqual([undefined, "newer"]);
});

describe("on a node with more rooms than are read in ten seconds", () => {
  const ROOMS = 15 * ROOMS_CHECKED_PER_SECOND;

  /** Rooms of that application, with one person each. Nothing is stored of them. */
  const crowd = (app: AppId): void => {
    const { present } = other.meetings;
    const stay = present.stay(ada.seat);
    for (let nr = 0; stay && nr < ROOMS; nr++) present.add({ ...room, app, id: `crowd-${nr}` }, stay);
  };
  /** After how many seconds this node finds that the stay has ended. */
  const foundAfter = async ({ id }: Someone): Promise<number> => {
    await world.store.meetings.end(id, "removed", world.now);
    for (let second = 1; second < 60; second++) {
      world.now += 1000;
      await other.services.tick();
      if (other.floor.closed.length > 0) return second;
    }
    return Number.POSITIVE_INFINITY;
  };

  test("all of them have their turn", async () => {
    crowd(APP);
    const last = await world.room(node.rooms, { roomName: "last" });
    expect(await foundAfter(await world.enter(other, last))).toBeLessThan(30);
  });

  test("those of one application do not delay those of others", async () => {
    crowd(anAppId("crowded"));
    const last = await world.room(node.rooms, { roomName: "last" });
    expect(await foundAfter(await world.enter(other, last))).toBeLessThanOrEqual(12);
  });
});

describe("archiving", () => {
  const ended = { reason: "ended" } as const;

  test("ends the meeting", async () => {
    await node.rooms.archive(APP, "standup");
    await until("the end", () => other.floor.closed.length > 0);
    expect(other.floor.closed).toEqual([{ peerId: ada.id, ...ended }]);
    expect(world.floors.on("/room").at(-1)).toEqual({ notice: "ending", inSec: 0 });
  });

  test("puts out a person who was let in by the room as it was before, at once", async () => {
    const { meetings } = world.store;
    const enter = meetings.enter.bind(meetings);
    meetings.enter = async (...entering) => {
      await node.rooms.archive(APP, "standup");
      await until("the end of the meeting", async () => (await meetings.current(APP, room.id)) === undefined);
      return enter(...entering);
    };
    const late = await world.enter(other, room);
    await until("its end", () => other.floor.closed.length > 1);
    expect(other.floor.closed).toEqual([ada, late].map(({ id: peerId }) => ({ peerId, ...ended })));
  });

  test("that was not heard of ends it within ten seconds", async () => {
    world.floors.isCut = true;
    await world.store.rooms.archiveRoom(APP, "standup", world.now);
    for (let second = 0; second < 12; second++) {
      world.now += 1000;
      await other.services.tick();
    }
    expect(other.floor.closed).toEqual([{ peerId: ada.id, ...ended }]);
  });
});

test("a stay that was ended on another node, unheard, is closed within ten seconds with its reason", async () => {
  const admin = await world.enter(node, room, { isAdmin: true });
  world.floors.isCut = true;
  await node.services.acts.act(APP, "standup", admin.token, { do: "remove", participantSession: ada.id });
  expect(other.floor.closed).toEqual([]);
  for (let second = 0; second < 12; second++) {
    world.now += 1000;
    await other.services.tick();
  }
  expect(other.floor.closed).toEqual([{ peerId: ada.id, reason: "removed" }]);
});

describe("people in the lobby", () => {
  const answer = (waitId: string): unknown => world.floors.on(`/wait/${waitId}`).at(-1);

  test("are let in when the room becomes public", async () => {
    const bob = await world.wait(node, room);
    await put({ privacy: "public" });
    await until("an answer", () => answer(bob.id) !== undefined);
    expect(answer(bob.id)).toEqual({ notice: "admitted" });
  });

  test("are declined with a word why when no one may ask any more, or the room is archived", async () => {
    const bob = await world.wait(node, room);
    await put({ enableRequestToJoin: false });
    await until("an answer", () => answer(bob.id) !== undefined);
    expect(answer(bob.id)).toEqual({
      notice: "declined",
      reason: "token_required",
      text: expect.stringContaining("access token"),
    });
    await put({ enableRequestToJoin: true });
    const eve = await world.wait(node, room, "Eve", "elsewhere");
    await node.rooms.archive(APP, "standup");
    await until("an answer", () => answer(eve.id) !== undefined);
    expect(answer(eve.id)).toEqual({ notice: "declined", reason: "room_not_found", text: "The room is closed." });
  });
});
