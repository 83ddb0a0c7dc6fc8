import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { APP, type Someone, World } from "../testing/world.ts";
import type { StayAct } from "./acts.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
let admin: Someone;
let ada: Someone;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms);
  admin = await world.enter(node, room, { isAdmin: true, name: "Admin" });
  ada = await world.enter(other, room, { accessToken: "digest", externalUserId: "user-1" });
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const act = (token: string, request: StayAct, roomName = "standup", app = APP): Promise<void> =>
  node.services.acts.act(app, roomName, token, request);
const notices = (): unknown[] => world.floors.on(`${room.id}/room`);

describe("an act", () => {
  test("is an admin's", async () => {
    for (const request of [{ do: "lock" }, { do: "end" }, { do: "remove", participantSession: admin.id }] as const)
      await expect(act(ada.token, request)).rejects.toMatchObject({ code: "action_not_permitted" });
    expect(notices()).toEqual([]);
  });

  test("needs a connect token of a stay in this room that goes on", async () => {
    const lock = { do: "lock" } as const;
    const claims = admin.seat.claims;
    const second = await world.room(node.rooms, { roomName: "second" });
    const elsewhere = await world.enter(node, second, { isAdmin: true });
    for (const token of [
      "",
      "rt_x.y.z",
      `${admin.token.slice(0, -4)}AAAA`,
      world.tokens.sign({ ...claims, kind: "wait" }),
    ])
      await expect(act(token, lock)).rejects.toMatchObject({ code: "invalid_token" });
    await expect(act(admin.token, lock, "standup", anAppId("another"))).rejects.toMatchObject({
      code: "invalid_token",
    });
    await expect(act(elsewhere.token, lock)).rejects.toMatchObject({ code: "action_not_permitted" });
    await expect(act(admin.token, lock, "second")).rejects.toMatchObject({ code: "action_not_permitted" });
    // Signed, but it never entered: a held place is no stay.
    const outside = world.tokens.sign({ ...claims, id: "f".repeat(24) });
    await expect(act(outside, lock)).rejects.toMatchObject({ code: "action_not_permitted" });
    const expired = world.tokens.sign({ ...claims, exp: Math.floor(world.now / 1000) });
    await expect(act(expired, lock)).rejects.toMatchObject({ code: "token_expired" });
    node.meetings.disconnected(admin.seat, admin.connection, "goodbye");
    await until("the end", async () => (await world.store.meetings.stay(admin.id))?.ended !== null);
    await expect(act(admin.token, lock)).rejects.toMatchObject({ code: "action_not_permitted" });
    expect(notices()).toEqual([]);
  });

  test("goes on under the name that the page knows, if the room is renamed", async () => {
    await node.rooms.update(APP, "standup", { roomName: "renamed" });
    await act(admin.token, { do: "lock" });
    await act(admin.token, { do: "unlock" }, "renamed");
  });

  test("names what it needs", async () => {
    await expect(act(admin.token, { do: "mute" })).rejects.toMatchObject({
      code: "invalid_request",
      more: { details: [{ field: "participantSession" }] },
    });
    await expect(act(admin.token, { do: "admit" })).rejects.toMatchObject({ more: { details: [{ field: "waitId" }] } });
  });
});

test("mute is a notice; its page obeys", async () => {
  await act(admin.token, { do: "mute", participantSession: ada.id });
  await act(admin.token, { do: "mute", participantSession: ada.id, kind: "video" });
  expect(notices()).toEqual([
    { notice: "muted", participantSession: ada.id, kind: "audio" },
    { notice: "muted", participantSession: ada.id, kind: "video" },
  ]);
  await expect(act(admin.token, { do: "mute", participantSession: "0".repeat(24) })).rejects.toMatchObject({
    code: "participant_not_found",
  });
});

test("mute all is one notice for everyone but the admin who asks, and lower hands is one for everyone", async () => {
  await act(admin.token, { do: "muteAll" });
  await act(admin.token, { do: "muteAll", kind: "screen" });
  await act(admin.token, { do: "lowerHands" });
  expect(notices()).toEqual([
    { notice: "muted", kind: "audio", by: admin.id },
    { notice: "muted", kind: "screen", by: admin.id },
    { notice: "handsLowered" },
  ]);
});

describe("remove", () => {
  test("is a notice and a close on every node; token and user do not come back into this meeting", async () => {
    await act(admin.token, { do: "remove", participantSession: ada.id });
    expect(notices()).toEqual([{ notice: "removed", participantSession: ada.id, inSec: 0 }]);
    for (const { floor } of [node, other]) expect(floor.closed).toEqual([{ peerId: ada.id, reason: "removed" }]);
    expect(await world.store.meetings.stay(ada.id)).toMatchObject({ why: "removed", ended: world.now });
    await expect(other.meetings.enter(ada.seat)).rejects.toMatchObject({ code: expect.any(String) });
    for (const who of [{ accessToken: "digest" }, { accessToken: "other", externalUserId: "user-1" }])
      await expect(world.enter(node, room, who)).rejects.toMatchObject({ code: "removed" });
    await world.enter(node, room, { accessToken: "other", externalUserId: "user-2" });
    await world.enter(node, room);
  });

  test("is once, of others, and of people in this room", async () => {
    const remove = (id: string): Promise<void> => act(admin.token, { do: "remove", participantSession: id });
    await expect(remove(admin.id)).rejects.toMatchObject({ code: "invalid_request" });
    await remove(ada.id);
    await expect(remove(ada.id)).rejects.toMatchObject({ code: "participant_not_found" });
    const second = await world.room(node.rooms, { roomName: "second" });
    const elsewhere = await world.enter(node, second);
    await expect(remove(elsewhere.id)).rejects.toMatchObject({ code: "participant_not_found" });
    await expect(node.services.acts.remove(APP, "standup", elsewhere.id)).rejects.toMatchObject({
      code: "participant_not_found",
    });
  });

  test("reaches a person whose stay was taken for lost while its connection was open", async () => {
    const remove = (): Promise<void> => act(admin.token, { do: "remove", participantSession: ada.id });
    await world.store.meetings.end(ada.id, "lost", world.now);
    await remove();
    for (const { floor } of [node, other]) expect(floor.closed).toEqual([{ peerId: ada.id, reason: "removed" }]);
    await expect(world.enter(node, room, { accessToken: "digest" })).rejects.toMatchObject({ code: "removed" });
    await expect(remove()).rejects.toMatchObject({ code: "participant_not_found" });
  });

  test("of a person who has left bars no one", async () => {
    other.meetings.disconnected(ada.seat, ada.connection, "goodbye");
    await until("the end", async () => (await world.store.meetings.stay(ada.id))?.ended !== null);
    await expect(node.services.acts.remove(APP, "standup", ada.id)).rejects.toMatchObject({
      code: "participant_not_found",
    });
    await world.enter(node, room, { accessToken: "digest" });
  });

  test("takes other stays of the same user along, but not those that share a token", async () => {
    const phone = await world.enter(node, room, { accessToken: "other", externalUserId: "user-1" });
    const shared = await world.enter(node, room, { accessToken: "digest" });
    await act(admin.token, { do: "remove", participantSession: ada.id });
    const removed = [ada.id, phone.id].map((peerId) => ({ peerId, reason: "removed" as const }));
    for (const { floor } of [node, other]) expect(floor.closed).toEqual(removed);
    expect(await world.store.meetings.stay(shared.id)).toMatchObject({ ended: null });
    const own = await world.enter(node, room, { isAdmin: true, accessToken: "admin", externalUserId: "user-9" });
    const tablet = await world.enter(node, room, { accessToken: "tablet", externalUserId: "user-9" });
    await expect(act(own.token, { do: "remove", participantSession: tablet.id })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("by the application's server is the same", async () => {
    await other.services.acts.remove(APP, "standup", admin.id);
    for (const { floor } of [node, other]) expect(floor.closed).toEqual([{ peerId: admin.id, reason: "removed" }]);
  });
});

describe("end", () => {
  test("puts everyone out on every node, and the meeting is over at once", async () => {
    const before = await world.store.meetings.current(APP, room.id);
    await act(admin.token, { do: "end" });
    expect(notices()).toEqual([{ notice: "ending", inSec: 0 }]);
    for (const { floor } of [node, other])
      expect(floor.closed.toSorted((a, b) => (a.peerId < b.peerId ? -1 : 1))).toEqual([
        { peerId: admin.id, reason: "ended" },
        { peerId: ada.id, reason: "ended" },
      ]);
    expect(await world.store.meetings.current(APP, room.id)).toBeUndefined();
    expect(world.floors.forgotten).toContain(`_parley/room/${room.id}/chat`);
    // A removed one may come back into the next meeting, and so may everyone.
    await world.enter(node, room, { accessToken: "digest" });
    const after = await world.store.meetings.current(APP, room.id);
    expect(after?.id).not.toBe(before?.id);
  });

  test("by the application's server says how many were inside", async () => {
    expect(await node.services.acts.end(APP, "standup")).toBe(2);
    expect(await node.services.acts.end(APP, "standup")).toBe(0);
    await expect(node.services.acts.end(APP, "nowhere")).rejects.toMatchObject({ code: "room_not_found" });
  });

  test("by two nodes at once ends each stay once", async () => {
    await Promise.all([node.services.acts.end(APP, "standup"), other.services.acts.end(APP, "standup")]);
    expect(await world.store.meetings.inside(APP, room.id)).toBe(0);
    expect(await world.store.meetings.current(APP, room.id)).toBeUndefined();
  });

  test("keeps the chat of a room whose chat is not that of one meeting", async () => {
    await node.rooms.update(APP, "standup", { newChatForMeetingSession: false });
    world.floors.forgotten.length = 0;
    await act(admin.token, { do: "end" });
    expect(world.floors.forgotten).toEqual([]);
  });
});

test("lock keeps others out until unlock, but not admins nor those inside", async () => {
  await act(admin.token, { do: "lock" });
  await expect(world.enter(other, room)).rejects.toMatchObject({ code: "room_locked" });
  await world.enter(other, room, { isAdmin: true });
  await world.connect(other.meetings, ada.seat.claims);
  await act(admin.token, { do: "unlock" });
  await world.enter(other, room);
  expect(notices()).toEqual([
    { notice: "locked", on: true },
    { notice: "locked", on: false },
  ]);
});

test("a line from the server is in the chat, marked as such; not in a chat that is about to begin", async () => {
  const { acts } = node.services;
  await acts.say(APP, "standup", "The room closes at five.");
  expect(world.floors.on("/chat")).toEqual([{ text: "The room closes at five.", server: true }]);
  await acts.end(APP, "standup");
  await expect(acts.say(APP, "standup", "x")).rejects.toMatchObject({ code: "meeting_not_found" });
  await node.rooms.update(APP, "standup", { newChatForMeetingSession: false });
  await acts.say(APP, "standup", "Welcome.");
});
