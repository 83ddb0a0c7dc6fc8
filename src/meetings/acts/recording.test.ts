import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { roomChannel } from "../../protocol/room-channels.ts";
import type { RoomEdits } from "../../rooms/rooms.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { appRow } from "../../store/testing/rows.ts";
import { APP, callerAt, NO_LIMITS, type Someone, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms, { enableRecording: true });
});
afterEach(async () => {
  await Promise.all([node.services.stop(), other.services.stop()]);
  expect(world.failures).toEqual([]);
  await world.close();
});

const act = ({ token }: Someone, what: "record" | "stopRecord"): Promise<void> =>
  node.services.acts.act(APP, "standup", token, { do: what });
const byServer = (on: boolean, name = "standup"): Promise<boolean> => node.services.acts.record(APP, name, on);
const put = (edits: RoomEdits): Promise<unknown> => node.rooms.update(APP, "standup", edits);
const recording = async (): Promise<unknown> => (await world.store.meetings.current(APP, room.id))?.recording;
const notices = (): unknown[] => world.floors.on(`${room.id}/room`).filter(({ notice }) => notice === "recording");
const noticed = (count: number): Promise<unknown> => until(`${count} notices`, () => notices().length >= count);
/** Notices follow each other sooner: after this time without one, none is on its way. */
const QUIET_MS = 400;
/** All notices, when none is on its way any more. */
const settled = async (): Promise<unknown[]> => {
  let count: number;
  do {
    count = notices().length;
    await Bun.sleep(QUIET_MS);
  } while (notices().length > count);
  return notices();
};
const subscribe = (someone: Someone, at = node): void => at.meetings.subscribed(someone.seat, roomChannel(room.id));
const refused = { code: "action_not_permitted" };
const since = (): number => Math.floor(world.now / 1000);

describe("acts", () => {
  test("of admins start and stop the recording, and everyone is notified once", async () => {
    const admin = await world.enter(node, room, { isAdmin: true, name: "Admin" });
    await act(admin, "stopRecord");
    await act(admin, "record");
    await act(admin, "record");
    await noticed(1);
    expect(await recording()).toEqual({ by: "Admin", since: world.now });
    world.now += 5000;
    await act(admin, "stopRecord");
    await act(admin, "stopRecord");
    await noticed(2);
    expect(await recording()).toBeNull();
    expect(await settled()).toEqual([
      { notice: "recording", on: true, by: "Admin", since: since() - 5 },
      { notice: "recording", on: false, by: "Admin" },
    ]);
  });

  test("of others are refused while an admin is inside, on any node and also while its connection is lost", async () => {
    const admin = await world.enter(other, room, { isAdmin: true });
    const ada = await world.enter(node, room);
    await expect(act(ada, "record")).rejects.toMatchObject(refused);
    other.meetings.disconnected(admin.seat, admin.connection, "lost");
    await expect(act(ada, "record")).rejects.toMatchObject(refused);
    await world.connect(other.meetings, admin.seat.claims);
    await act(admin, "record");
    await expect(act(ada, "stopRecord")).rejects.toMatchObject(refused);
    await node.services.acts.remove(APP, "standup", admin.id);
    await act(ada, "stopRecord");
    await act(ada, "record");
    expect(await recording()).toMatchObject({ by: "Ada" });
  });

  test("are refused to everyone where recording is not enabled; the application's server may", async () => {
    await put({ enableRecording: false });
    const admin = await world.enter(node, room, { isAdmin: true });
    const ada = await world.enter(node, room);
    for (const who of [admin, ada])
      for (const what of ["record", "stopRecord"] as const)
        await expect(act(who, what)).rejects.toMatchObject({ ...refused, message: expect.stringContaining("server") });
    expect(await byServer(true)).toBe(true);
    expect(await recording()).toMatchObject({ by: "" });
    await expect(act(admin, "stopRecord")).rejects.toMatchObject(refused);
    expect(await byServer(false)).toBe(true);
  });

  test("with a token that says admin do not make a guest's stay one", async () => {
    await world.enter(other, room, { isAdmin: true });
    const ada = await world.enter(node, room);
    const forged = world.tokens.sign({ ...ada.seat.claims, isAdmin: true });
    await expect(act({ ...ada, token: forged }, "record")).rejects.toMatchObject(refused);
  });
});

describe("the application's server", () => {
  test("starts and stops it as often as it likes", async () => {
    await world.enter(node, room);
    expect([await byServer(true), await byServer(true)]).toEqual([true, false]);
    expect([await byServer(false), await byServer(false)]).toEqual([true, false]);
    expect(await settled()).toHaveLength(2);
  });

  test("is refused where no one is inside, also a moment after the last one has left", async () => {
    await expect(byServer(true)).rejects.toMatchObject({ code: "meeting_not_found" });
    const ada = await world.enter(node, room);
    await node.services.acts.remove(APP, "standup", ada.id);
    await expect(byServer(true)).rejects.toMatchObject({ code: "meeting_not_found" });
    await expect(byServer(true, "nowhere")).rejects.toMatchObject({ code: "room_not_found" });
  });
});

describe("a participant that subscribes", () => {
  test("is notified while the meeting is being recorded, whichever node it is on", async () => {
    const ada = await world.enter(node, room);
    subscribe(ada);
    expect(await settled()).toEqual([]);
    await act(ada, "record");
    await noticed(1);
    const ben = await world.enter(other, room, { name: "Ben" });
    subscribe(ben, other);
    await noticed(2);
    expect((await settled())[1]).toEqual({ notice: "recording", on: true, by: "Ada", since: since() });
    await act(ben, "stopRecord");
    await noticed(3);
  });

  test("is notified that the recording was stopped while it was away, and of none that never was", async () => {
    const ada = await world.enter(node, room);
    await act(ada, "record");
    await act(ada, "stopRecord");
    const before = (await settled()).length;
    const ben = await world.enter(other, room);
    subscribe(ben, other);
    await noticed(before + 1);
    expect((await settled()).slice(before)).toEqual([{ notice: "recording", on: false, by: "" }]);
    await node.services.acts.end(APP, "standup");
    subscribe(await world.enter(node, room));
    expect(await settled()).toHaveLength(before + 1);
  });

  test("again and again costs few notices", async () => {
    const ada = await world.enter(node, room);
    await act(ada, "record");
    for (let i = 0; i < 100; i++) subscribe(ada);
    expect((await settled()).length).toBeLessThanOrEqual(3);
  });

  test("sees the end, however a node that repeats the beginning is overtaken", async () => {
    const ada = await world.enter(node, room);
    const ben = await world.enter(other, room);
    await act(ada, "record");
    await noticed(1);
    subscribe(ben, other);
    await act(ada, "stopRecord");
    expect((await settled()).at(-1)).toMatchObject({ on: false });
  });
});

describe("a room that records every meeting", () => {
  test("says so before anyone is inside, and its meetings begin with it", async () => {
    await put({ recordRoom: true });
    const [app, caller] = [appRow(APP), callerAt()];
    expect(await node.meetings.door(app, "standup", NO_LIMITS)).toMatchObject({ recording: true });
    const joined = await node.meetings.join(app, "standup", {}, caller);
    expect(joined).toMatchObject({ recording: { by: "", since: since() }, may: { record: true } });
    if ("waiting" in joined) throw new Error("it waits");
    await world.take(node, joined);
    expect(await recording()).toEqual({ by: "", since: world.now });
    expect(await byServer(false)).toBe(true);
    // A meeting that goes on is as it is now.
    expect(await node.meetings.door(app, "standup", NO_LIMITS)).toMatchObject({ recording: false });
    expect(await node.meetings.join(app, "standup", {}, caller)).toMatchObject({ recording: null });
    const resumed = await node.meetings.join(app, "standup", { resume: joined.connect.token }, caller);
    expect(resumed).toMatchObject({ recording: null });
    await byServer(true);
    expect(await node.meetings.join(app, "standup", { resume: joined.connect.token }, caller)).toMatchObject({
      recording: { by: "", since: since() },
    });
  });

  test("records a meeting whose first participant was let in by the room as it was before", async () => {
    const ada = await world.enter(node, room);
    const meeting = await world.store.meetings.current(APP, room.id);
    if (!meeting) throw new Error("no meeting has begun");
    await put({ recordRoom: true });
    await until("recording", async () => (await recording()) !== null);
    await world.store.meetings.setRecording(meeting.id, null, world.now);
    await node.services.recording.meetingBegan({ ...meeting, recording: null });
    expect(await recording()).toEqual({ by: "", since: world.now });
    expect(ada.seat.claims.room).toBe(room.id);
  });
});

describe("a change of the room", () => {
  test("to recordRoom records the people inside, and back again does not", async () => {
    await world.enter(other, room);
    await put({ recordRoom: true });
    await noticed(1);
    expect(notices()).toEqual([{ notice: "recording", on: true, by: "", since: since() }]);
    await put({ recordRoom: false });
    await noticed(2);
    expect(await recording()).toBeNull();
  });

  test("that disables recording stops one that a participant has started, and no other", async () => {
    const ada = await world.enter(other, room);
    await act(ada, "record");
    await noticed(1);
    await put({ enableChat: false });
    await put({ recordRoom: false });
    expect(await recording()).toMatchObject({ by: "Ada" });
    await put({ enableRecording: false });
    await noticed(2);
    expect(await settled()).toHaveLength(2);
    expect(await recording()).toBeNull();
    await put({ enableRecording: true });
    await byServer(true);
    await put({ enableRecording: false });
    expect(await settled()).toHaveLength(3);
    expect(await recording()).toMatchObject({ by: "" });
  });

  test("changes nothing in an empty room", async () => {
    await put({ recordRoom: true });
    await put({ recordRoom: false });
    expect(await settled()).toEqual([]);
  });
});

test("the end of a meeting ends its recording", async () => {
  const ada = await world.enter(node, room);
  await act(ada, "record");
  const meeting = await world.store.meetings.current(APP, room.id);
  await node.services.acts.end(APP, "standup");
  expect((await world.store.meetings.meeting(APP, meeting?.id ?? ""))?.recording).toBeNull();
  await world.enter(node, room);
  expect(await recording()).toBeNull();
});
