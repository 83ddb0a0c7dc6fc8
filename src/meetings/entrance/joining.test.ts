import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Joined, JoinRequest, Waiting } from "../contract/contract.ts";
import { APP, callerAt, NO_LIMITS, World, type WorldNode } from "../testing/world.ts";
import { stayOfTicket, waitIdOf } from "./tickets.ts";

const CALLER = callerAt();

let world: World;
let node: ReturnType<World["node"]>;
let app: AppRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
});
afterEach(() => world.close());

const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app, generation: 1 }, request);

const answer = (request: JoinRequest, { meetings }: WorldNode = node, room = "standup"): Promise<Joined | Waiting> =>
  meetings.join(app, room, request, CALLER);

async function join(request: JoinRequest = {}, at: WorldNode = node): Promise<Joined> {
  const joined = await answer(request, at);
  if ("waiting" in joined) throw new Error("waits in the lobby");
  return joined;
}

const refusal = (code: string) => expect.objectContaining({ code });
const seconds = (): number => Math.floor(world.now / 1000);

describe("a join", () => {
  test("is answered with who one is, what one may, and a connect token for the same", async () => {
    await world.room(node.rooms, { enableChat: false, maxParticipants: 4 });
    const joined = await join({ name: "Ada" });
    expect(joined).toMatchObject({
      peerId: joined.participantSession,
      name: "Ada",
      isAdmin: false,
      isGuest: true,
      may: { audio: true, video: true, screen: true, chat: false, record: false },
      room: { roomName: "standup", privacy: "public", enableChat: false, maxParticipants: 4 },
      media: { engine: "mesh" },
      iceServers: [],
    });
    expect(joined.connect).toEqual({ url: CALLER.url, token: joined.connect.token });
    expect(joined).not.toHaveProperty("ejectAt");
    expect(world.tokens.verify(joined.connect.token, world.now)).toMatchObject({
      kind: "stay",
      id: joined.participantSession,
      meeting: joined.meetingSession,
      exp: seconds() + 86_400,
    });
  });

  test("makes no stay, and its meeting begins with the first who enters, under the id that all joins named", async () => {
    const room = await world.room(node.rooms);
    const [first, second] = [await join(), await join({}, world.node())];
    expect(second.meetingSession).toBe(first.meetingSession);
    expect(await world.store.meetings.inside(APP, room.id)).toBe(0);
    expect(await world.store.meetings.current(APP, room.id)).toBeUndefined();
    await world.take(node, second);
    await world.take(node, first);
    expect((await world.store.meetings.current(APP, room.id))?.id).toBe(first.meetingSession);
  });

  test("of an unknown room and of an unknown application are answered alike", async () => {
    await world.room(node.rooms);
    await expect(node.meetings.join(app, "other", {}, CALLER)).rejects.toEqual(refusal("room_not_found"));
    await expect(node.meetings.join(undefined, "standup", {}, CALLER)).rejects.toEqual(refusal("room_not_found"));
    await expect(node.meetings.door(undefined, "standup", NO_LIMITS)).rejects.toEqual(refusal("room_not_found"));
  });

  test("is refused before the room opens and after it is over, unless the token says otherwise", async () => {
    await world.room(node.rooms, { notBeforeUnixSec: seconds() + 60, expireUnixSec: seconds() + 120 });
    await expect(join()).rejects.toMatchObject({
      code: "room_not_open",
      more: { fields: { opensAt: seconds() + 60 } },
    });
    const token = await mint({ roomName: "standup", name: "Ada", notBeforeUnixSec: seconds() - 1 });
    expect(await join({ token })).toMatchObject({ name: "Ada", isGuest: false });
    const short = await mint({ roomName: "standup", notBeforeUnixSec: seconds() - 1, expireUnixSec: seconds() + 1 });
    world.now += 1000;
    const expired = { code: "room_over", message: "The access token has expired." };
    await expect(join({ token: short })).rejects.toMatchObject(expired);
    world.now += 119_000;
    await expect(join()).rejects.toMatchObject({ code: "room_over", message: "The room has closed." });
  });

  test("ends its connect token with the stay: at the room's end, or after its time", async () => {
    await world.room(node.rooms, {
      ejectAfterElapsedTimeInSec: 600,
      ejectAtRoomExp: true,
      expireUnixSec: seconds() + 900,
    });
    const guest = await join();
    expect(guest.ejectAt).toBe(seconds() + 600);
    expect(world.tokens.verify(guest.connect.token, world.now)).toMatchObject({ exp: seconds() + 660 });
    const token = await mint({ roomName: "standup", ejectAfterElapsedTimeInSec: 3600 });
    expect((await join({ token })).ejectAt).toBe(seconds() + 900);
  });
});

describe("an access token", () => {
  test("decides about name, rights and how one enters, over what the request says", async () => {
    await world.room(node.rooms, { privacy: "private", ownerOnlyBroadcast: true });
    const token = await mint({
      roomName: "standup",
      name: "Ada\u202e",
      isAdmin: true,
      externalUserId: "u1",
      disableVideo: true,
      joinAudioOn: false,
    });
    const joined = await join({ token, name: "Mallory" });
    expect(joined).toMatchObject({ name: "Ada", isAdmin: true, isGuest: false });
    expect(joined.may).toEqual({ audio: true, video: false, screen: true, chat: true, record: false });
    expect(joined.room).toMatchObject({ joinAudioOn: false, joinVideoOn: true });
    const plain = await join({ token: await mint({ roomName: "standup" }), name: "Bob" });
    expect(plain).toMatchObject({ name: "Bob", isAdmin: false, isGuest: true, may: { audio: false, video: false } });
  });

  test("of another room counts as none in a private room, and makes no one an admin in a public one", async () => {
    await world.room(node.rooms, { privacy: "private", enableRequestToJoin: false });
    await world.room(node.rooms, { roomName: "open" });
    await world.room(node.rooms, { roomName: "third" });
    const token = await mint({ roomName: "third", name: "Ada", isAdmin: true });
    await expect(join({ token })).rejects.toEqual(refusal("token_required"));
    expect(await answer({ token }, node, "open")).toMatchObject({ name: "Ada", isAdmin: false, isGuest: false });
    await node.rooms.archive(APP, "third");
    expect(await answer({ token, name: "Bob" }, node, "open")).toMatchObject({ name: "Bob", isGuest: true });
  });

  test("for all rooms opens every room", async () => {
    await world.room(node.rooms, { privacy: "private" });
    expect(await join({ token: await mint({ globalToken: true, isAdmin: true }) })).toMatchObject({ isAdmin: true });
  });

  test("that is not ours is refused as such", async () => {
    await world.room(node.rooms);
    for (const token of ["", "x", `${await mint({})}x`])
      await expect(join({ token })).rejects.toEqual(refusal("invalid_access_token"));
  });

  test("whose time in the meeting is over does not come back into it", async () => {
    await world.room(node.rooms);
    const token = await mint({ roomName: "standup", ejectAfterElapsedTimeInSec: 60 });
    await world.take(node, await join());
    const first = await world.take(node, await join({ token }));
    world.now += 40_000;
    node.meetings.disconnected(first.seat, first.connection, "goodbye");
    expect((await join({ token })).ejectAt).toBe(seconds() + 20);
    world.now += 20_000;
    await expect(join({ token })).rejects.toEqual(refusal("room_over"));
  });
});

describe("the place", () => {
  test("is held for 15 s, and then free again", async () => {
    await world.room(node.rooms, { maxParticipants: 1 });
    await join();
    await expect(join()).rejects.toEqual(refusal("room_full"));
    world.now += 14_999;
    await expect(join()).rejects.toEqual(refusal("room_full"));
    world.now += 1;
    await join();
  });

  test("that was given to another person meanwhile is not entered", async () => {
    await world.room(node.rooms, { maxParticipants: 1 });
    const late = await join();
    world.now += 16_000;
    await world.take(node, await join());
    await expect(world.take(node, late)).rejects.toEqual(refusal("room_full"));
  });

  test("cannot be taken long after the join, even if the room is empty", async () => {
    await world.room(node.rooms);
    const late = await join();
    world.now += 61_000;
    await expect(world.take(node, late)).rejects.toEqual(refusal("token_expired"));
  });

  test("is one of six by default, of ten where there are only microphones", async () => {
    const count = async (room: string): Promise<number> => {
      for (let held = 0; ; held++)
        try {
          await node.meetings.join(app, room, {}, { ...CALLER, address: `a${held}` });
        } catch (error) {
          expect(error).toEqual(refusal("room_full"));
          return held;
        }
    };
    await world.room(node.rooms, { maxParticipants: 50 });
    await world.room(node.rooms, { roomName: "radio", audioOnlyRoom: true });
    await world.room(node.rooms, { roomName: "small", audioOnlyRoom: true, maxParticipants: 3 });
    expect([await count("standup"), await count("radio"), await count("small")]).toEqual([6, 10, 3]);
  });

  test("is one of two that an address holds: for a third, the oldest is given up", async () => {
    await world.room(node.rooms, { maxParticipants: 3 });
    const from = (address: string) => node.meetings.join(app, "standup", {}, { ...CALLER, address });
    const flood = [];
    for (let i = 0; i < 10; i++) flood.push(await from("flood"));
    const ada = await from("ada");
    await expect(from("bob")).rejects.toEqual(refusal("room_full"));
    await world.take(node, ada as Joined);
    // The oldest has no place any more, and there is none.
    await expect(world.take(node, flood[0] as Joined)).rejects.toEqual(refusal("room_full"));
    await world.take(node, flood[9] as Joined);
    // One that has entered keeps its place, and does not count as held.
    await expect(from("flood")).rejects.toEqual(refusal("room_full"));
    expect(await world.store.meetings.inside(APP, (await node.rooms.row(APP, "standup")).id)).toBe(2);
  });

  test("of a page that joins again before it has entered is the same one", async () => {
    await world.room(node.rooms, { maxParticipants: 1 });
    const first = await join();
    const next = await join({ resume: first.connect.token, name: "Ada" });
    expect(next).toMatchObject({ participantSession: first.participantSession, name: "Ada" });
  });
});

describe("resume", () => {
  test("continues the stay, whatever the room says now about those who come", async () => {
    const room = await world.room(node.rooms, { maxParticipants: 1 });
    const joined = await join({ name: "Ada" });
    await world.take(node, joined);
    await node.rooms.update(APP, "standup", { privacy: "private", expireUnixSec: seconds() - 1 });
    const next = await join({ resume: joined.connect.token, name: "Bob" });
    expect(next).toMatchObject({ participantSession: joined.participantSession, name: "Ada" });
    expect(next.meetingSession).toBe(joined.meetingSession);
    await world.take(node, next);
    expect(await world.store.meetings.inside(APP, room.id)).toBe(1);
  });

  test("of a stay that has ended is a new join", async () => {
    await world.room(node.rooms, { maxParticipants: 1 });
    const joined = await join();
    const { seat, connection } = await world.take(node, joined);
    node.meetings.disconnected(seat, connection, "goodbye");
    await node.meetings.stop();
    const next = await join({ resume: joined.connect.token });
    expect(next.participantSession).not.toBe(joined.participantSession);
  });

  test("of a person who was removed is refused until the meeting ends, also for a guest", async () => {
    await world.room(node.rooms);
    await world.take(node, await join());
    const joined = await join();
    await world.take(node, joined);
    await node.meetings.stays.end(joined.participantSession, "removed", world.now);
    await expect(join({ resume: joined.connect.token })).rejects.toEqual(refusal("removed"));
    await expect(world.take(node, joined)).rejects.toEqual(refusal("removed"));
  });

  test("with a token of another room, of a person who waits, or an invented one is a new join", async () => {
    await world.room(node.rooms);
    const other = await world.room(node.rooms, { roomName: "other", privacy: "private" });
    const joined = await join();
    await world.take(node, joined);
    const waiting = await answer({}, node, "other");
    for (const resume of ["", "rt_x.y.z", `${joined.connect.token}x`, waiting.connect.token])
      expect((await join({ resume })).participantSession).not.toBe(joined.participantSession);
    await expect(answer({ resume: joined.connect.token }, node, other.name)).resolves.toMatchObject({ waiting: true });
  });
});

describe("a private room", () => {
  beforeEach(async () => {
    await world.room(node.rooms, { privacy: "private" });
  });

  test("gives a person without a token a place in the lobby, and the same one again for the ticket", async () => {
    const first = (await answer({ name: "Bob" })) as Waiting;
    expect(first).toEqual({
      waiting: true,
      ticket: expect.any(String),
      connect: { url: CALLER.url, token: expect.stringMatching(/^rt_/) },
    });
    expect(world.tokens.verify(first.connect.token, world.now)).toMatchObject({
      kind: "wait",
      id: waitIdOf(first.ticket),
      name: "Bob",
      exp: seconds() + 1800,
    });
    expect(await answer({ name: "Bob", ticket: first.ticket })).toMatchObject({ ticket: first.ticket });
    expect(JSON.stringify(world.tokens.verify(first.connect.token, world.now))).not.toContain(first.ticket);
  });

  test("lets one stay in per ticket, under an id that does not give the ticket away", async () => {
    const { ticket } = (await answer({ name: "Bob" })) as Waiting;
    await world.store.meetings.decide(waitIdOf(ticket), "admitted", world.now);
    // Under the name that admins were shown.
    const [first, second] = [await join({ ticket, name: "Bob" }), await join({ ticket, name: "Boss" })];
    expect(second).toMatchObject({ participantSession: first.participantSession, name: "Bob", isGuest: true });
    expect(first.participantSession).not.toContain(ticket.slice(0, 8));
    // Others know the waitId and the stay: neither is the ticket, nor is one derived from the other.
    for (const known of [waitIdOf(ticket), first.participantSession])
      expect([ticket, known]).not.toContain(((await answer({ ticket: known })) as Waiting).ticket);
    expect(stayOfTicket(waitIdOf(ticket))).not.toBe(first.participantSession);
    const { seat, connection } = await world.take(node, first);
    node.meetings.disconnected(seat, connection, "goodbye");
    await node.meetings.stop();
    expect(await answer({ ticket, name: "Bob" })).toMatchObject({ waiting: true });
  });

  test("refuses a declined ticket, and keeps no one waiting where requests are off", async () => {
    const { ticket } = (await answer({ name: "Bob" })) as Waiting;
    await world.store.meetings.decide(waitIdOf(ticket), "declined", world.now);
    world.now += 20_000;
    await expect(answer({ ticket })).rejects.toMatchObject({
      code: "declined",
      retryAfterSeconds: 40,
      more: { fields: { retryAfterSec: 40 } },
    });
    await node.rooms.update(APP, "standup", { enableRequestToJoin: false });
    await expect(answer({})).rejects.toEqual(refusal("token_required"));
  });

  test("that is locked says so only to a person who could enter otherwise; admins enter", async () => {
    const token = await mint({ roomName: "standup", name: "Ada" });
    const joined = await join({ token });
    await world.take(node, joined);
    await world.store.meetings.lock(joined.meetingSession, true);
    await expect(join({ token })).rejects.toEqual(refusal("room_locked"));
    expect(await answer({})).toMatchObject({ waiting: true });
    const admin = await join({ token: await mint({ roomName: "standup", isAdmin: true }) });
    await world.take(node, admin);
    const next = await join({ resume: joined.connect.token });
    expect(next.participantSession).toBe(joined.participantSession);
  });

  test("refuses the access token and the user that were removed", async () => {
    const token = await mint({ roomName: "standup", externalUserId: "u1" });
    const other = await mint({ roomName: "standup", externalUserId: "u1", name: "other" });
    const joined = await join({ token });
    await world.take(node, joined);
    const [claims] = [world.tokens.verify(joined.connect.token, world.now)];
    if (!claims || claims === "expired") throw new Error("no claims");
    await world.store.meetings.ban(joined.meetingSession, {
      accessToken: claims.accessToken ?? null,
      externalUserId: "u1",
    });
    for (const banned of [token, other]) await expect(join({ token: banned })).rejects.toEqual(refusal("removed"));
  });
});
