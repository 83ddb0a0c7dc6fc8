/** Every act, and every value of an access token, against clients that want more than they were given (meetings.md 2). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Json } from "../../support/http.ts";
import { nowSeconds } from "../../support/jwt.ts";
import { until } from "../../support/wait.ts";
import { claimsOf, type Joined, newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { subscribe, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

const host = async (room: Room): Promise<Person> => room.inside({ token: await room.accessToken({ isAdmin: true }) });

/** 200, or the code of the refusal, which has a sentence. */
const codeOf = ({ status, body }: { readonly status: number; readonly body: unknown }): string | number => {
  if (status === 200) return status;
  const { message, error } = body as { message: string; error: { code: string } };
  expect(message).toMatch(/^\S.*\S$/);
  return error.code;
};
const joinCode = async (room: Room, body: Json): Promise<string | number> => codeOf(await room.tryJoin(body));
const connectCode = async ({ connect }: Joined): Promise<unknown> => {
  const { status, body } = await refusedConnect(server.url, connect.token);
  return [status, body.error];
};

describe("every act", () => {
  const ACTS = ["admit", "decline", "mute", "muteAll", "lowerHands", "remove", "end", "lock", "unlock"];

  test("is refused to all but an admin of this room who is inside, and nothing happens", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const other = await newRoom(server, {}, room.app);
    const [admin, left, elsewhere] = [await host(room), await host(room), await host(other)];
    const member = await room.inside({ token: await room.accessToken({ name: "Member" }) });
    const foreign = await room.inside({ token: await room.accessToken({ isAdmin: false, name: "admin" }) });
    const waiting = await room.join({ name: "Eve" });
    const { id: waitId } = await room.connected(waiting);
    left.wire.close(1000);
    const none = { do: "admit", waitId: "none" };
    await until("it has left", async () => codeOf(await room.act(left.token, none)) === "action_not_permitted");
    await admin.wire.sync();
    for (const does of ACTS) {
      const body = { do: does, waitId, participantSession: member.id };
      for (const { token } of [member, foreign, left, elsewhere])
        expect([does, codeOf(await room.act(token, body))]).toEqual([does, "action_not_permitted"]);
      for (const token of [waiting.connect.token, await room.accessToken({ isAdmin: true }), room.app.secretKey, "x"])
        expect([does, codeOf(await room.act(token, body))]).toEqual([does, "invalid_token"]);
    }
    expect((await admin.wire.sync()).filter(({ type }) => type === "message")).toEqual([]);
    expect([member.wire.isOver, foreign.wire.isOver]).toEqual([false, false]);
    expect((await room.tryJoin({ ticket: waiting.ticket })).body.waiting).toBeTrue();
  });

  test("that does not exist is refused by name", async () => {
    const room = await newRoom(server);
    const admin = await host(room);
    for (const does of ["recordAll", "", "END"])
      expect(codeOf(await room.act(admin.token, { do: does }))).toBe("invalid_request");
  });
});

describe("an access token", () => {
  test("of another room makes no admin, vouches for no private room, and takes no right away from this one", async () => {
    const room = await newRoom(server);
    const other = await newRoom(server, {}, room.app);
    const token = await other.accessToken({ isAdmin: true, name: "Ann" });
    const ann = await room.inside({ token });
    expect(ann.join.isAdmin).toBe(false);
    expect(codeOf(await room.act(ann.token, { do: "lock" }))).toBe("action_not_permitted");
    const answer = await ann.wire.request({ type: "subscribe", channel: room.channel("admin") });
    expect(answer).toMatchObject({ type: "error", code: "channel_not_authorized" });
    await room.app.must("PUT", `/room/${room.name}`, { privacy: "private", enableRequestToJoin: false });
    expect(await joinCode(room, { token })).toBe("token_required");
  });

  test("decides name, user and how one enters, whatever the request says", async () => {
    const room = await newRoom(server, { joinVideoOn: false });
    const token = await room.accessToken({ name: "Ann", externalUserId: "u1", joinVideoOn: true, joinAudioOn: false });
    const body = { token, name: "Boss", isAdmin: true, externalUserId: "u2", joinAudioOn: true };
    const joined = await room.join(body);
    expect(joined).toMatchObject({ name: "Ann", isAdmin: false, isGuest: false });
    expect(joined).toMatchObject({ room: { joinVideoOn: true, joinAudioOn: false } });
    expect(await room.join({ name: "Boss" })).toMatchObject({ room: { joinVideoOn: false, joinAudioOn: true } });
    const watcher = await room.inside();
    const { wire } = await room.connected(joined);
    await subscribe(wire, room.channel("room"), { metadata: { isAdmin: true, name: "Boss" } });
    const { joined: shown } = await watcher.wire.until("presence");
    expect(shown[0]?.metadata).toEqual({ name: "Ann", isAdmin: false, isGuest: false, externalUserId: "u1" });
  });

  test.each([
    ["disableVideo", ["video", "video"], "video"],
    ["disableScreenSharing", ["video", "video"], "screen"],
    ["disableAudio", ["audio"], "audio"],
  ])("with %s alone: nothing of that kind, and all else", async (field, media, kind) => {
    const room = await newRoom(server);
    const [ben, ann] = [await room.inside(), await room.inside({ token: await room.accessToken({ [field]: true }) })];
    const sends = async (kinds: readonly string[]): Promise<string> => {
      const sdp = `v=0\r\n${kinds.map((one) => `m=${one} 9 x 1\r\na=sendrecv\r\n`).join("")}`;
      const data = { description: { type: "offer", sdp } };
      const answer = await ann.wire.request({ type: "publish", channel: room.channel(`in/${ben.id}`), data });
      return answer.type === "error" ? answer.code : answer.type;
    };
    const shows = async (state: Json): Promise<string> => {
      const answer = await ann.wire.request({ type: "state", channel: room.channel("room"), state });
      return answer.type === "error" ? answer.code : answer.type;
    };
    expect(await sends(media)).toBe("action_not_permitted");
    // What remains of the video is a camera or a screen: the service cannot tell which.
    expect(await sends(kind === "audio" ? ["video", "video"] : ["audio", "video"])).toBe("ack");
    for (const one of ["audio", "video", "screen"])
      expect(await shows({ [one]: true })).toBe(one === kind ? "action_not_permitted" : "ack");
  });

  test("has times that win over the room's, at the join and at the connect", async () => {
    const [now, inAnHour] = [nowSeconds(), nowSeconds() + 3600];
    const early = await newRoom(server, { notBeforeUnixSec: inAnHour });
    expect(await joinCode(early, { token: await early.accessToken() })).toBe("room_not_open");
    await early.enter({ token: await early.accessToken({ notBeforeUnixSec: now - 1 }) });
    const open = await newRoom(server);
    const later = await open.tryJoin({ token: await open.accessToken({ notBeforeUnixSec: inAnHour }) });
    expect(later.body).toMatchObject({ error: { code: "room_not_open" }, opensAt: inAnHour });
    const over = await newRoom(server, { expireUnixSec: now - 1 });
    await over.enter({ token: await over.accessToken({ expireUnixSec: inAnHour }) });
    const expireUnixSec = nowSeconds() + 2;
    const token = await open.accessToken({ expireUnixSec });
    const held = await open.join({ token });
    await until("the token has expired", () => Date.now() >= expireUnixSec * 1000);
    expect(await joinCode(open, { token })).toBe("room_over");
    expect(await connectCode(held)).toEqual([403, "room_over"]);
  });
});

describe("a place that is held while the room changes", () => {
  /** A guest, one with a token of this room, one with a token of another, and one whose token has its own times. */
  async function held(room: Room): Promise<readonly [Joined, Joined, Joined, Joined]> {
    const other = await newRoom(server, {}, room.app);
    const own = { notBeforeUnixSec: 1, expireUnixSec: nowSeconds() + 3600 };
    return [
      await room.join(),
      await room.join({ token: await room.accessToken() }),
      await room.join({ token: await other.accessToken({ name: "Ann" }) }),
      await room.join({ token: await room.accessToken(own) }),
    ];
  }
  const changed = (room: Room, fields: Json): Promise<unknown> => room.app.must("PUT", `/room/${room.name}`, fields);

  test("is entered only where the room would let it join now: it is over, or not open yet", async () => {
    for (const [fields, code] of [
      [{ expireUnixSec: 1 }, "room_over"],
      [{ notBeforeUnixSec: 4_000_000_000 }, "room_not_open"],
    ] as const) {
      const room = await newRoom(server);
      const [guest, invited, stranger, own] = await held(room);
      await changed(room, fields);
      for (const one of [guest, invited, stranger]) expect(await connectCode(one)).toEqual([403, code]);
      await room.connected(own);
    }
  });

  test("the same where it is private, full or archived by then", async () => {
    const room = await newRoom(server);
    const [guest, invited, stranger, own] = await held(room);
    await changed(room, { privacy: "private" });
    for (const one of [guest, stranger]) expect(await connectCode(one)).toEqual([403, "token_required"]);
    await room.connected(invited);
    await changed(room, { maxParticipants: 1 });
    expect(await connectCode(own)).toEqual([409, "room_full"]);
    await room.app.must("DELETE", `/room/${room.name}`);
    expect(await connectCode(own)).toEqual([404, "room_not_found"]);
  });

  test("a visitor who was let in, too", async () => {
    const room = await newRoom(server, { privacy: "private" });
    const admin = await host(room);
    const { ticket, connect } = await room.join({ name: "Eve" });
    await room.act(admin.token, { do: "admit", waitId: claimsOf(connect.token).id });
    const eve = await room.join({ ticket });
    await changed(room, { expireUnixSec: 1 });
    expect(await connectCode(eve)).toEqual([403, "room_over"]);
  });
});

test("newChatForMeetingSession: false keeps the chat for the next meeting, and true keeps nothing of it", async () => {
  for (const isNew of [true, false]) {
    const room = await newRoom(server, { newChatForMeetingSession: isNew });
    const [chat, admin] = [room.channel("chat"), await host(room)];
    expect((await admin.wire.request({ type: "publish", channel: chat, data: { text: "before" } })).type).toBe("ack");
    expect(codeOf(await room.act(admin.token, { do: "end" }))).toBe(200);
    const { wire } = await room.enter();
    wire.send({ type: "history", channel: chat, requestId: "h" });
    const page = (await wire.answerTo("h")) as unknown as { messages: { data: unknown }[] };
    expect(page.messages.map(({ data }) => data)).toEqual(isNew ? [] : [{ text: "before" }]);
  }
});
