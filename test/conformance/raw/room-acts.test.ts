/** What admins and the application's server do with people in a meeting (meetings.md 2, 4). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> =>
  room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });

const outcome = async (room: Room, { token }: Person, body: Json): Promise<unknown> => {
  const { status, body: answer } = await room.act(token, body);
  return status === 200 ? answer : (answer as { error: { code: string } }).error.code;
};

const notice = async (wire: Wire): Promise<unknown> => {
  const { data, from } = await wire.until("message", ({ channel }) => channel.endsWith("/room"));
  expect(from).toBe("service");
  return data;
};

const joinCode = async (room: Room, body: Json = {}): Promise<string | number> => {
  const { status, body: answer } = await room.tryJoin(body);
  return status === 200 ? 200 : answer.error.code;
};

describe("mute", () => {
  test("is shown to all, from the service; people that are not admins cannot", async () => {
    const room = await newRoom(server);
    const [admin, ann, ben] = [await host(room), await room.inside({ name: "Ann" }), await room.inside()];
    expect(await outcome(room, admin, { do: "mute", participantSession: ann.id })).toEqual({ success: true });
    const muted = { notice: "muted", participantSession: ann.id, kind: "audio" };
    for (const { wire } of [admin, ann, ben]) expect(await notice(wire)).toEqual(muted);
    expect(await outcome(room, ben, { do: "mute", participantSession: ann.id })).toBe("action_not_permitted");
    const forged = { type: "publish", channel: room.channel("room"), data: muted };
    expect(await ben.wire.request(forged)).toMatchObject({ type: "error", code: "action_not_permitted" });
  });
});

test("mute all and lower hands are shown to all, with who has asked", async () => {
  const room = await newRoom(server);
  const [admin, ann] = [await host(room), await room.inside({ name: "Ann" })];
  expect(await outcome(room, admin, { do: "muteAll", kind: "video" })).toEqual({ success: true });
  expect(await outcome(room, admin, { do: "lowerHands" })).toEqual({ success: true });
  for (const { wire } of [admin, ann]) {
    expect(await notice(wire)).toEqual({ notice: "muted", kind: "video", by: admin.id });
    expect(await notice(wire)).toEqual({ notice: "handsLowered" });
  }
  expect(await outcome(room, admin, { do: "muteAll", kind: "hand" })).toBe("invalid_request");
});

describe("reactions", () => {
  const react = (wire: Wire, channel: string, data: unknown) => wire.request({ type: "publish", channel, data });

  test("reach everyone inside, with their sender, and are not kept for those who come later", async () => {
    const room = await newRoom(server, { enableChat: false });
    const [ann, ben] = [await room.inside({ name: "Ann" }), await room.inside()];
    const channel = room.channel("reactions");
    await subscribe(ben.wire, channel);
    expect((await react(ann.wire, channel, { name: "clap" })).type).toBe("ack");
    const { from, data } = await ben.wire.until("message", (frame) => frame.channel === channel);
    expect([from, data]).toEqual([ann.id, { name: "clap" }]);
    const late = await room.inside();
    expect(await late.wire.request({ type: "history", channel })).toMatchObject({ type: "history", messages: [] });
  });

  test("are refused if they are none of the six, and beyond two per second", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    const channel = room.channel("reactions");
    expect(await react(ann.wire, channel, { name: "<script>" })).toMatchObject({ code: "malformed_message" });
    const answers = await Promise.all(Array.from({ length: 40 }, () => react(ann.wire, channel, { name: "wow" })));
    const codes = answers.map((answer) => (answer.type === "error" ? answer.code : answer.type));
    expect(codes.filter((code) => code === "rate_limited").length).toBeGreaterThan(20);
    expect((await react(ben.wire, channel, { name: "wow" })).type).toBe("ack");
  });

  test("are closed to those in the lobby and in other rooms", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const eve = await room.connected(await room.join({ name: "Eve" }));
    const elsewhere = await (await newRoom(server, {}, room.app)).inside();
    for (const { wire } of [eve, elsewhere])
      for (const frame of [{ type: "publish", data: { name: "wow" } }, { type: "subscribe" }])
        expect(await wire.request({ ...frame, channel: room.channel("reactions") })).toMatchObject({
          code: "channel_not_authorized",
        });
  });
});

interface Participants {
  readonly participants: readonly { readonly name: string }[];
}

describe("rename", () => {
  test("of oneself is shown to all, and is what a resumed join and the record of the meeting have", async () => {
    const room = await newRoom(server);
    const [admin, ann, ben] = [await host(room), await room.inside({ name: "Ann" }), await room.inside()];
    expect(await outcome(room, ann, { do: "rename", name: "Annabel" })).toEqual({ success: true });
    for (const { wire } of [admin, ben]) {
      expect(await notice(wire)).toEqual({ notice: "renamed", participantSession: ann.id, name: "Annabel" });
      const isAnn = ({ peerId, metadata }: { peerId: string; metadata?: unknown }): boolean =>
        peerId === ann.id && (metadata as { name?: string }).name === "Annabel";
      await wire.until("presence", ({ joined = [] }) => joined.some(isAnn));
    }
    // No other way leads to another name: neither a join that resumes the stay, nor its token taken over by renew.
    const resumed = await room.join({ resume: ann.token, name: "Boss" });
    expect(resumed.name).toBe("Annabel");
    expect(await ann.wire.request({ type: "renew", token: resumed.connect.token })).toMatchObject({ type: "ack" });
    await ben.wire.sync();
    const record = await room.app.must<Participants>("GET", `/meeting/${resumed.meetingSession}`);
    expect(record.participants.map(({ name }) => name)).toContain("Annabel");
    expect(await outcome(room, ben, { do: "rename", name: "x", participantSession: ann.id })).toBe(
      "action_not_permitted",
    );
    expect(await outcome(room, admin, { do: "rename", name: "Boss" })).toBe("action_not_permitted");
  });
});

describe("remove", () => {
  test("closes with 4021, and neither the token nor the user is let in again in this meeting", async () => {
    const room = await newRoom(server);
    const admin = await host(room);
    const token = await room.accessToken({ name: "Ann", externalUserId: "u1" });
    const ann = await room.inside({ token });
    expect(await outcome(room, admin, { do: "remove", participantSession: ann.id })).toEqual({ success: true });
    expect(await ann.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    expect(await notice(admin.wire)).toEqual({ notice: "removed", participantSession: ann.id, inSec: 0 });
    // The connect token, a resumed join, the access token, another token of the same user.
    expect((await refusedConnect(server.url, ann.token)).status).toBeGreaterThanOrEqual(401);
    expect(await joinCode(room, { resume: ann.token, token })).toBe("removed");
    expect(await joinCode(room, { token })).toBe("removed");
    expect(await joinCode(room, { token: await room.accessToken({ externalUserId: "u1" }) })).toBe("removed");
    expect(await joinCode(room, { token: await room.accessToken({ externalUserId: "u2" }) })).toBe(200);
    const left = await admin.wire.until("presence", ({ left = [] }) => left.some(({ peerId }) => peerId === ann.id));
    expect(left.joined ?? []).toEqual([]);
    // In the next meeting it may.
    await room.app.must("POST", `/room/${room.name}/end`);
    expect(await joinCode(room, { token })).toBe(200);
  });

  test("of one that holds a place does not let it enter with it", async () => {
    const room = await newRoom(server);
    const admin = await host(room);
    const token = await room.accessToken({ name: "Ann" });
    const ann = await room.inside({ token });
    const held = await room.join({ token });
    await outcome(room, admin, { do: "remove", participantSession: ann.id });
    await ann.wire.closed();
    expect(await refusedConnect(server.url, held.connect.token)).toMatchObject({ status: 403 });
  });

  test("by the application's server is the same", async () => {
    const room = await newRoom(server);
    const ann = await room.inside({ name: "Ann" });
    const path = `/room/${room.name}/participant`;
    await room.app.must("DELETE", `${path}/${ann.id}`);
    expect(await ann.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    expect((await room.app.call("DELETE", `${path}/${ann.id}`)).body.error.code).toBe("participant_not_found");
    // A guest cannot be recognised: that is what a lock is for.
    expect(await joinCode(room, { name: "Ann" })).toBe(200);
  });
});

describe("end", () => {
  test("puts all out, and the next to enter begins another meeting with an empty chat", async () => {
    const room = await newRoom(server);
    const [admin, ann] = [await host(room), await room.inside({ name: "Ann" })];
    const chat = room.channel("chat");
    await subscribe(ann.wire, chat);
    expect((await ann.wire.request({ type: "publish", channel: chat, data: { text: "hello" } })).type).toBe("ack");
    expect(await outcome(room, ann, { do: "end" })).toBe("action_not_permitted");
    expect(await outcome(room, admin, { do: "end" })).toEqual({ success: true });
    for (const { wire } of [admin, ann]) {
      expect(await notice(wire)).toEqual({ notice: "ending", inSec: 0 });
      expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
    }
    expect((await refusedConnect(server.url, admin.token)).status).toBe(401);
    expect(await outcome(room, admin, { do: "lock" })).toBe("action_not_permitted");
    const next = await room.enter();
    expect(next.join.meetingSession).not.toBe(admin.join.meetingSession);
    next.wire.send({ type: "history", channel: chat, requestId: "h" });
    expect(await next.wire.answerTo("h")).toMatchObject({ messages: [] });
  });

  test("by the application's server says how many were inside; archiving ends too", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    expect(await room.app.must<Json>("POST", `/room/${room.name}/end`)).toMatchObject({ success: true, ended: 2 });
    for (const { wire } of [ann, ben]) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
    expect(await room.app.must<Json>("POST", `/room/${room.name}/end`)).toMatchObject({ success: true, ended: 0 });
    const cara = await room.inside();
    await room.app.must("DELETE", `/room/${room.name}`);
    expect(await cara.wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
  });
});

test("lock keeps others out, but neither admins nor those who reload", async () => {
  const room = await newRoom(server);
  const [admin, ann] = [await host(room), await room.inside({ name: "Ann" })];
  const held = await room.join({ name: "Eve" });
  expect(await outcome(room, admin, { do: "lock" })).toEqual({ success: true });
  expect(await notice(ann.wire)).toEqual({ notice: "locked", on: true });
  expect(await joinCode(room)).toBe("room_locked");
  expect(await refusedConnect(server.url, held.connect.token)).toMatchObject({ status: 409 });
  expect(await joinCode(room, { resume: ann.token })).toBe(200);
  expect(await joinCode(room, { token: await room.accessToken({ isAdmin: true }) })).toBe(200);
  expect(await outcome(room, admin, { do: "unlock" })).toEqual({ success: true });
  expect(await notice(ann.wire)).toEqual({ notice: "locked", on: false });
  expect(await joinCode(room)).toBe(200);
});

test("a line from the server is in the chat with its mark, also for latecomers; no client can set it", async () => {
  const room = await newRoom(server);
  const ann = await room.inside();
  const chat = room.channel("chat");
  await subscribe(ann.wire, chat);
  await room.app.must("POST", `/room/${room.name}/message`, { text: "The room closes at five." });
  const line = { from: "service", data: { text: "The room closes at five.", server: true } };
  expect(await ann.wire.until("message")).toMatchObject(line);
  const late = await room.enter();
  late.wire.send({ type: "history", channel: chat, requestId: "h" });
  expect(await late.wire.answerTo("h")).toMatchObject({ messages: [line] });
  const forged = { type: "publish", channel: chat, data: { text: "hello", server: true } };
  expect(await late.wire.request(forged)).toMatchObject({ type: "error", code: "malformed_message" });
});

test("a rename changes nothing for those inside", async () => {
  const room = await newRoom(server);
  const admin = await host(room);
  await room.app.must("PUT", `/room/${room.name}`, { roomName: `${room.name}-2` });
  const flags = (await notice(admin.wire)) as { notice: string; room: Json };
  expect(flags).toMatchObject({ notice: "flags", room: { roomName: `${room.name}-2` } });
  expect(await outcome(room, admin, { do: "lock" })).toEqual({ success: true });
  // A page that has lost its network asks for the next token under the name it knows, also if another room has that name by now.
  expect((await room.join({ resume: admin.token })).participantSession).toBe(admin.id);
  await room.app.must("POST", "/room", { roomName: room.name });
  expect((await room.join({ resume: admin.token })).participantSession).toBe(admin.id);
  expect((await room.join({})).participantSession).not.toBe(admin.id);
});
