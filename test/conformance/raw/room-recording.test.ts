/** Whether a meeting is being recorded: who decides it, and who hears of it (meetings.md 2, 5). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import { SOON_MS, until } from "../../support/wait.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { newRoom, type Person, ROOMS_ENV, type Room } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> =>
  room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });

const outcome = async (room: Room, { token }: Person, what: "record" | "stopRecord"): Promise<unknown> => {
  const { status, body } = await room.act(token, { do: what });
  return status === 200 ? body : (body as { error: { code: string } }).error.code;
};

/** The next notice of a recording; it is the service's. */
const notice = async (wire: Wire): Promise<unknown> => {
  const { data, from, channel } = await wire.until("message", (frame) => (frame.data as Json).notice === "recording");
  expect([from, channel.endsWith("/room")]).toEqual(["service", true]);
  return data;
};

const byServer = ({ app, name }: Room, verb: "start" | "stop"): Promise<Json> =>
  app.must("POST", `/room/${name}/recording/${verb}`);
const door = ({ app, name }: Room): Promise<Json> => app.must("GET", `/room/${name}/door`);
const on = (by: string): Json => ({ notice: "recording", on: true, by, since: expect.any(Number) });
const off = (by: string): Json => ({ notice: "recording", on: false, by });

describe("record and stopRecord", () => {
  test("of an admin are heard by everyone, and by who comes later; the door and the join say it too", async () => {
    const room = await newRoom(server, { enableRecording: true });
    const [admin, ann] = [await host(room), await room.inside({ name: "Ann" })];
    expect((await room.join()) as unknown).toMatchObject({ recording: null, may: { record: true } });
    expect(await outcome(room, ann, "record")).toBe("action_not_permitted");
    expect(await outcome(room, admin, "record")).toEqual({ success: true });
    for (const { wire } of [admin, ann]) expect(await notice(wire)).toEqual(on("Host"));
    expect(await door(room)).toMatchObject({ recording: true });
    const ben = await room.enter({ name: "Ben" });
    expect(ben.join as unknown).toMatchObject({ recording: { by: "Host", since: expect.any(Number) } });
    await subscribe(ben.wire, room.channel("room"));
    expect(await notice(ben.wire)).toEqual(on("Host"));
    // A page that connects again hears it again.
    const second = await room.connected(await room.join({ resume: ben.token }));
    await subscribe(second.wire, room.channel("room"));
    expect(await notice(second.wire)).toEqual(on("Host"));
    const began = performance.now();
    expect(await outcome(room, admin, "stopRecord")).toEqual({ success: true });
    // Another process of the service may notice it first, and does not know who it was: its notice has no name.
    const isStop = ({ on, by }: Json): boolean => on === false && by !== "";
    expect(await second.wire.until("message", ({ data }) => isStop(data as Json))).toMatchObject({ data: off("Host") });
    expect(performance.now() - began).toBeLessThan(SOON_MS);
    expect(await door(room)).toMatchObject({ recording: false });
  });

  test("are anyone's while no admin is inside, and no one's where it is not enabled", async () => {
    const room = await newRoom(server, { enableRecording: true });
    const ann = await room.inside({ name: "Ann" });
    expect(await outcome(room, ann, "record")).toEqual({ success: true });
    expect(await notice(ann.wire)).toEqual(on("Ann"));
    const admin = await host(room);
    expect(await outcome(room, ann, "stopRecord")).toBe("action_not_permitted");
    await room.app.must("PUT", `/room/${room.name}`, { enableRecording: false });
    expect(await ann.wire.until("message", ({ data }) => (data as Json).on === false)).toBeDefined();
    for (const person of [ann, admin])
      for (const what of ["record", "stopRecord"] as const)
        expect(await outcome(room, person, what)).toBe("action_not_permitted");
  });

  test("are no one's to forge, and a visitor in the lobby hears nothing", async () => {
    const room = await newRoom(server, { privacy: "private", recordRoom: true });
    const ann = await room.inside({ token: await room.accessToken({ name: "Ann" }) });
    const waiting = await room.join({ name: "Eve" });
    const eve = await room.connected(waiting);
    await subscribe(eve.wire, room.channel(`wait/${eve.id}`));
    const forged = { type: "publish", channel: room.channel("room"), data: off("Ann") };
    for (const { wire } of [ann, eve]) expect((await wire.request(forged)).type).toBe("error");
    expect(await eve.wire.request({ type: "subscribe", channel: room.channel("room") })).toMatchObject({
      type: "error",
    });
    expect(await outcome(room, eve, "record")).toBe("invalid_token");
    await byServer(room, "stop");
    expect(await ann.wire.until("message", ({ data }) => (data as Json).on === false)).toBeDefined();
    const said = eve.wire.frames.flatMap((frame) => (frame.type === "message" ? [(frame.data as Json).notice] : []));
    expect(said.filter((notice) => notice !== "hosts")).toEqual([]);
  });
});

describe("the application's server", () => {
  test("starts and stops it, as often as it asks, and everyone hears it once; the meeting says it", async () => {
    const room = await newRoom(server);
    const empty = await room.app.call("POST", `/room/${room.name}/recording/start`);
    expect([empty.status, empty.body.error.code]).toEqual([404, "meeting_not_found"]);
    const ann = await room.inside();
    for (let i = 0; i < 3; i++) expect(await byServer(room, "start")).toEqual({ success: true, recording: true });
    expect(await notice(ann.wire)).toEqual(on(""));
    const meeting = `/meeting/${ann.join.meetingSession}`;
    expect(await room.app.must("GET", meeting)).toMatchObject({ recording: { by: "", since: expect.any(Number) } });
    for (let i = 0; i < 3; i++) expect(await byServer(room, "stop")).toEqual({ success: true, recording: false });
    expect(await notice(ann.wire)).toEqual(off(""));
    expect(await room.app.must("GET", meeting)).not.toHaveProperty("recording");
    const audited = async (): Promise<unknown[]> => {
      const { data } = await server.admin.must<{ data: Json[] }>("GET", `/audit?app=${room.app.id}`);
      return data.map(({ what }) => what).filter((what) => String(what).startsWith("recording"));
    };
    // It is written a moment after the answer.
    await until("the audit", async () => (await audited()).length > 1);
    expect(await audited()).toEqual(["recording stopped", "recording started"]);
  });
});

describe("recordRoom", () => {
  test("is said before anyone is inside, and every meeting begins with it", async () => {
    const room = await newRoom(server, { recordRoom: true });
    expect(await door(room)).toMatchObject({ recording: true });
    const ann = await room.enter();
    expect(ann.join as unknown).toMatchObject({ recording: { by: "" }, may: { record: false } });
    await subscribe(ann.wire, room.channel("room"));
    expect(await notice(ann.wire)).toEqual(on(""));
    // A page says in its state whether it records.
    const ben = await room.inside();
    const state = { type: "state", channel: room.channel("room"), state: { recording: true } };
    expect(await ben.wire.request(state)).toMatchObject({ type: "ack" });
  });

  test("by PUT records the people inside within a second", async () => {
    const room = await newRoom(server);
    const ann = await room.inside();
    const began = performance.now();
    await room.app.must("PUT", `/room/${room.name}`, { recordRoom: true });
    expect(await notice(ann.wire)).toEqual(on(""));
    expect(performance.now() - began).toBeLessThan(SOON_MS);
  });
});
