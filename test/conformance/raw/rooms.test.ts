/** Connections of rooms (meetings.md 2): who reaches a room's channels, and who never does. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { call, type Json } from "../../support/http.ts";
import { nowSeconds } from "../../support/jwt.ts";
import type { Wire } from "../../support/wire/wire.ts";
import { claimsOf, newRoom, type Person, ROOMS_ENV, type Room, refusedConnect } from "./support/rooms.ts";
import { join, newApp, tokenQuery, type World, worldForTests } from "./support/world.ts";

setDefaultTimeout(60_000);

const { server } = await worldForTests({ env: ROOMS_ENV });

const DESCRIPTION = { description: { type: "offer", sdp: "v=0\r\n" } };

/** "ack", or the code of the error. */
async function outcome(wire: Wire, frame: object): Promise<string> {
  const answer = await wire.request(frame);
  return answer.type === "error" ? answer.code : answer.type;
}

/** Everything that can be tried with a channel. */
const framesOn = (channel: string): Json[] => [
  { type: "subscribe", channel },
  { type: "publish", channel, data: { text: "hi" } },
  { type: "history", channel },
  { type: "state", channel, state: { audio: true } },
];

const channelsOf = (room: Room, id: string): string[] =>
  ["room", "chat", "reactions", "admin", `in/${id}`, "in/", "wait/t", "", "other"].map((rest) => room.channel(rest));

/** The codes of all that was tried, once each. */
async function codesOf(wire: Wire, channels: readonly string[]): Promise<string[]> {
  const codes = new Set<string>();
  for (const frame of channels.flatMap(framesOn)) codes.add(await outcome(wire, frame));
  return [...codes];
}

/** The application's realtime side: a key that covers everything. */
async function worldOf(room: Room): Promise<World> {
  const { app } = room;
  const other = await newApp(server);
  const key = await server.admin.createKey(app.id);
  return Object.assign(Object.create(Object.getPrototypeOf(other)), other, { key }) as World;
}

describe("a participant", () => {
  test("is the peer of the participantSession, and is shown with what the service has stamped", async () => {
    const room = await newRoom(server);
    const ann = await room.inside({ name: "Ann\u202e <b>" });
    expect(ann.id).toBe(ann.join.participantSession);
    expect(ann.roster.joined).toEqual([]);
    const token = await room.accessToken({ isAdmin: true, name: "Ben", externalUserId: "u7" });
    const ben = await room.inside({ token, name: "somebody else" });
    expect(ben.roster.joined).toMatchObject([
      { peerId: ann.id, metadata: { name: "Ann <b>", isAdmin: false, isGuest: true } },
    ]);
    const shown = await ann.wire.until("presence");
    const metadata = { name: "Ben", isAdmin: true, isGuest: false, externalUserId: "u7" };
    expect(shown.joined).toEqual([{ peerId: ben.id, metadata }]);
  });

  test("writes in the chat, which those who come later read", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.enter({ name: "Ann" }), await room.enter({ name: "Ben" })];
    const channel = room.channel("chat");
    await ben.wire.request({ type: "subscribe", channel, includeSenderMetadata: true });
    const said = {
      type: "publish",
      channel,
      data: { text: "hello" },
      from: "service",
      fromMetadata: { isAdmin: true },
    };
    expect(await outcome(ann.wire, said)).toBe("ack");
    const heard = await ben.wire.until("message");
    expect(heard).toMatchObject({
      from: ann.id,
      fromMetadata: { name: "Ann", isAdmin: false },
      data: { text: "hello" },
    });
    const late = await room.enter();
    late.wire.send({ type: "history", channel, requestId: "h" });
    const page = await late.wire.answerTo("h");
    expect(page).toMatchObject({ type: "history", messages: [{ from: ann.id, data: { text: "hello" } }] });
  });

  test("reads its own inbox only, and writes to those of others", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.enter(), await room.enter()];
    const inbox = room.channel(`in/${ben.id}`);
    expect(await outcome(ben.wire, { type: "subscribe", channel: inbox })).toBe("ack");
    expect(await outcome(ann.wire, { type: "publish", channel: inbox, data: DESCRIPTION })).toBe("ack");
    expect(await ben.wire.until("message")).toMatchObject({ from: ann.id, data: DESCRIPTION });
    expect(await outcome(ann.wire, { type: "subscribe", channel: inbox })).toBe("action_not_permitted");
    expect(await outcome(ann.wire, { type: "history", channel: inbox })).toBe("action_not_permitted");
  });

  test("publishes no notice, reaches no direct message, no lobby and no other room", async () => {
    const room = await newRoom(server);
    const other = await newRoom(server, {}, room.app);
    const [ann, ben, elsewhere] = [await room.enter(), await room.inside(), await other.inside()];
    const notice = { type: "publish", channel: room.channel("room"), data: { notice: "ending", inSec: 1 } };
    expect(await outcome(ann.wire, notice)).toBe("action_not_permitted");
    expect(await outcome(ann.wire, { type: "send", to: ben.id, data: 1 })).toBe("action_not_permitted");
    const closed = [
      room.channel("admin"),
      room.channel("wait/t"),
      ...channelsOf(other, elsewhere.id),
      "lobby",
      "_parley/x",
    ];
    expect(await codesOf(ann.wire, closed)).toEqual(["channel_not_authorized"]);
    expect([await ben.wire.sync(), await elsewhere.wire.sync()]).toEqual([[], []]);
  });
});

describe("a visitor who waits", () => {
  test("hears the answer, and can do nothing else", async () => {
    const room = await newRoom(server, { privacy: "private", enableRequestToJoin: true });
    const admin = await room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });
    const queue = room.channel("admin");
    expect(await outcome(admin.wire, { type: "subscribe", channel: queue })).toBe("ack");
    const joined = await room.join({ name: "Eve" });
    expect(joined.waiting).toBeTrue();
    const { wire, id } = await room.connected(joined);
    expect(id).not.toBe(String(joined.ticket));
    expect(claimsOf(joined.connect.token).id).toBe(id);
    const own = room.channel(`wait/${id}`);
    expect(await codesOf(wire, [...channelsOf(room, admin.id), "lobby"])).toEqual(["channel_not_authorized"]);
    expect(await outcome(wire, { type: "send", to: admin.id, data: 1 })).toBe("action_not_permitted");
    for (const frame of framesOn(own).filter(({ type }) => type === "publish" || type === "state"))
      expect(await outcome(wire, frame)).toBe("action_not_permitted");
    expect(await outcome(wire, { type: "subscribe", channel: own })).toBe("ack");
    const { token } = admin;
    expect(await outcome(wire, { type: "renew", token })).toBe("invalid_token");
    await admin.wire.until("message", ({ data }) => JSON.stringify(data).includes("Eve"));
    expect((await room.act(token, { do: "admit", waitId: id })).status).toBe(200);
    const isHosts = ({ data }: { readonly data: unknown }): boolean => JSON.stringify(data).includes("hosts");
    const seen = await wire.until("message", (frame) => !isHosts(frame));
    expect(seen).toMatchObject({ from: "service", data: { notice: "admitted" } });
    const eve = await room.inside({ ticket: joined.ticket, name: "Eve" });
    expect(eve.roster.joined.map(({ peerId }) => peerId)).toEqual([admin.id]);
    expect(eve.id).not.toBe(id);
  });
});

describe("strangers", () => {
  test("with any key of the application reach nothing of its rooms, and are not seen there", async () => {
    const room = await newRoom(server);
    const ann = await room.inside();
    await join(ann.wire, room.channel("room"));
    const world = await worldOf(room);
    const guest = await world.guest({ sub: ann.id });
    expect(await codesOf(guest.wire, channelsOf(room, ann.id))).toEqual(["channel_reserved"]);
    expect(await outcome(guest.wire, { type: "renew", token: ann.token })).toBe("invalid_token");
    // The only peer of this id that it could reach is itself.
    expect(await outcome(guest.wire, { type: "send", to: ann.id, data: 1 })).toBe("peer_not_found");
    for (const channel of channelsOf(room, ann.id).filter((name) => !name.endsWith("/"))) {
      const path = `/v1/channels/${encodeURIComponent(channel)}`;
      expect((await world.rest("POST", `${path}/publish`, { body: { data: 1, from: "service" } })).status).toBe(400);
      expect((await world.rest("GET", `${path}/peers`)).status).toBe(400);
      expect((await world.rest("GET", `${path}/history`)).status).toBe(400);
    }
    expect((await world.rest("GET", "/v1/channels")).text).not.toContain("_parley");
    const closed = await world.rest<{ closed: number }>("DELETE", `/v1/peers/${ann.id}`);
    expect(closed.body).toMatchObject({ closed: 1 });
    expect((await guest.wire.closed()).code).toBe(4020);
    expect(await ann.wire.sync()).toEqual([]);
    world.hangUp();
  });

  test("with a token that was changed, or is signed by a key of the application, are refused", async () => {
    const room = await newRoom(server);
    const { token } = await room.enter();
    const world = await worldOf(room);
    const [header, , signature] = token.slice(3).split(".");
    const forged = (claims: Json): string =>
      `rt_${header}.${Buffer.from(JSON.stringify({ ...claimsOf(token), ...claims })).toString("base64url")}.${signature}`;
    const own = `rt_${world.token(claimsOf(token))}`;
    for (const wrong of [forged({ isAdmin: true }), forged({}).slice(0, -2), own, token.slice(3), "rt_", "rt_a.b.c"])
      expect(await refusedConnect(server.url, wrong)).toMatchObject({ status: 401, body: { error: "invalid_token" } });
    const guest = await world.guest(claimsOf(token));
    expect(await outcome(guest.wire, { type: "subscribe", channel: room.channel("room") })).toBe("channel_reserved");
    world.hangUp();
  });

  test("of another application have other rooms of the same names", async () => {
    const [one, two] = [await newRoom(server), await newRoom(server)];
    const [ann, ben] = [await one.inside(), await two.inside()];
    expect(await codesOf(ann.wire, channelsOf(two, ben.id))).toEqual(["channel_not_authorized"]);
    for (const token of [ben.token, ben.join.connect.token])
      expect(await outcome(ann.wire, { type: "renew", token })).toBe("invalid_token");
    expect((await two.tryJoin({ resume: ann.token })).body).not.toMatchObject({ participantSession: ann.id });
  });
});

describe("a stay", () => {
  const returnsOf = async (person: Person, room: Room): Promise<Wire> => {
    const { wire } = await room.connected(person.join);
    await join(wire, room.channel("room"));
    return wire;
  };

  test("has one connection: a newer one replaces the older, and its participant is not seen to leave", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside()];
    await ann.wire.until("presence");
    const newer = await returnsOf(ben, room);
    expect(await ben.wire.closed()).toMatchObject({ code: 4021, reason: "replaced" });
    const resumed = await room.inside({ resume: ben.token });
    expect([resumed.id, resumed.join.meetingSession]).toEqual([ben.id, ben.join.meetingSession]);
    expect(await newer.closed()).toMatchObject({ code: 4021, reason: "replaced" });
    expect(await ann.wire.sync()).toEqual([]);
    resumed.wire.close(1000);
    expect((await ann.wire.until("presence")).left.map(({ peerId }) => peerId)).toEqual([ben.id]);
  });

  test("goes on with the next token, without leaving", async () => {
    const room = await newRoom(server);
    const [ann, ben] = [await room.inside(), await room.inside({ name: "Ben" })];
    await ann.wire.until("presence");
    const next = await room.join({ resume: ben.token });
    expect(next.participantSession).toBe(ben.id);
    const answer = await ben.wire.request({ type: "renew", token: next.connect.token });
    expect(answer).toMatchObject({ type: "ack", expiresAt: claimsOf(next.connect.token).exp });
    expect(Number(claimsOf(next.connect.token).exp)).toBeLessThanOrEqual(nowSeconds() + 86_401);
    expect(await outcome(ben.wire, { type: "publish", channel: room.channel("chat"), data: { text: "still" } })).toBe(
      "ack",
    );
    expect(await ann.wire.sync()).toEqual([]);
  });

  test("is over for a participant who is put out: 4021, and a sentence for each way back", async () => {
    const room = await newRoom(server);
    const host = await room.inside({ token: await room.accessToken({ isAdmin: true, name: "Host" }) });
    const token = await room.accessToken({ name: "Eve", externalUserId: "eve" });
    const eve = await room.inside({ token });
    expect((await room.act(eve.token, { do: "remove", participantSession: host.id })).status).toBe(403);
    expect((await room.act(host.token, { do: "remove", participantSession: eve.id })).status).toBe(200);
    expect(await eve.wire.closed()).toMatchObject({ code: 4021, reason: "removed" });
    expect(await refusedConnect(server.url, eve.token)).toMatchObject({ status: 403, body: { error: "removed" } });
    const seen = await call(`${server.url}/v1?${tokenQuery(eve.token)}`);
    expect([seen.status, seen.body.error]).toEqual([403, "removed"]);
    expect((await room.tryJoin({ token })).body.error.code).toBe("removed");
    expect((await room.tryJoin({ resume: eve.token })).body.error.code).toBe("removed");
  });

  test("ends for all with its application", async () => {
    const room = await newRoom(server);
    const people = [await room.inside(), await room.inside()];
    await server.admin.must("DELETE", `/apps/${room.app.id}`);
    for (const { wire } of people) expect(await wire.closed()).toMatchObject({ code: 4021, reason: "ended" });
    expect((await refusedConnect(server.url, people[0]?.token ?? "")).status).toBe(401);
  });
});
