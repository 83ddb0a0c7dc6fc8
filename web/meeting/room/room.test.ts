import { afterEach, beforeEach, expect, test } from "bun:test";
import { settled } from "../../../client/src/testing/clock.ts";
import { Kit } from "../../../client/src/testing/kit.ts";
import type { PersonState, RoomConnection, RoomOpening } from "./contract.ts";
import { openRoom } from "./room.ts";
import { roomToken } from "./testing/token.ts";

const ROOM = "_parley/room/r1";
const QUIET: PersonState = { audio: false, video: false, screen: false, hand: false, recording: false };

let kit: Kit;
let room: RoomConnection;
let story: unknown[];

beforeEach(() => {
  kit = new Kit();
  kit.service.answersPings = true;
  Object.assign(globalThis, { WebSocket: kit.service.WebSocket });
  story = [];
});

const realWebSocket = globalThis.WebSocket;
afterEach(() => {
  room.close();
  kit.restore();
  globalThis.WebSocket = realWebSocket;
});

async function open(more: Partial<RoomOpening> = {}): Promise<void> {
  const connect = { url: "wss://service/v1", token: roomToken("r1", "me") };
  room = openRoom({ connect, name: "Me", isAdmin: false, isGuest: true, renew: async () => null, ...more });
  for (const event of ["joined", "left", "chat", "notice", "queue", "online", "ended", "stayLost"] as const)
    room.on(event, (...args: unknown[]) => story.push([event, ...args]));
  await settled();
  await kit.service.socket.welcome({ peerId: "me", expiresAt: 1_700_003_600 });
}

/** Answers the subscribes that wait, and sends a roster. */
async function enter(...people: string[]): Promise<void> {
  await ack(`${ROOM}/in/me`);
  await ack(`${ROOM}/chat`);
  await ack(`${ROOM}/reactions`, {});
  await ack(`${ROOM}/room`, {});
  await roster(...people);
}

async function ack(channel: string, fields: object = { pos: "1" }): Promise<void> {
  const { socket } = kit.service;
  const asked = socket.of("subscribe").find((frame) => frame.channel === channel);
  if (!asked) throw new Error(`no subscribe of ${channel}`);
  await socket.receive({ type: "ack", requestId: asked.requestId, ...fields });
}

const entry = (peerId: string, more: object = {}) => ({ peerId, metadata: { name: peerId.toUpperCase() }, ...more });

const roster = (...people: string[]): Promise<void> =>
  kit.service.socket.receive({
    type: "presence",
    channel: `${ROOM}/room`,
    snapshot: true,
    joined: people.map((one) => entry(one)),
    left: [],
  });

const presence = (fields: object): Promise<void> =>
  kit.service.socket.receive({ type: "presence", channel: `${ROOM}/room`, joined: [], left: [], ...fields });

const message = (channel: string, from: string, data: object, more: object = {}): Promise<void> =>
  kit.service.socket.receive({ type: "message", channel: `${ROOM}/${channel}`, from, data, ...more });

const names = (): string[] => room.people().map(({ name }) => name);

test("the inbox is subscribed to before the page is seen in the room, and the chat when it is", async () => {
  await open();
  const asked = () => kit.service.socket.of("subscribe").map(({ channel }) => channel);
  expect(asked()).toEqual([`${ROOM}/in/me`]);
  await ack(`${ROOM}/in/me`);
  expect(asked()).toEqual(["in/me", "room", "chat", "reactions"].map((rest) => `${ROOM}/${rest}`));
});

test("people come and go after the first roster, which is no arrival", async () => {
  await open();
  await enter("ann");
  expect(names()).toEqual(["ANN"]);
  await presence({ joined: [entry("bob")] });
  await presence({ left: [{ peerId: "ann" }] });
  expect(story.slice(1).map((one) => JSON.stringify(one).slice(0, 40))).toEqual([
    '["joined",{"participantSession":"bob","n',
    '["left",{"participantSession":"ann","nam',
  ]);
  expect(names()).toEqual(["BOB"]);
});

test("states of others are shown, with those whose connection is lost", async () => {
  await open();
  await enter("ann");
  await presence({ changed: [{ peerId: "ann", state: { audio: true, hand: "yes" }, lost: true }] });
  expect(room.people()[0]).toMatchObject({ isLost: true, state: { ...QUIET, audio: true } });
});

test("one's own state is set once inside, and after a reconnect", async () => {
  await open();
  room.setState({ ...QUIET, audio: true });
  await enter("ann");
  expect(kit.service.socket.last("state")).toMatchObject({ channel: `${ROOM}/room`, state: { audio: true } });
  await kit.reconnected();
  await enter("ann");
  expect(kit.service.socket.last("state")).toMatchObject({ state: { audio: true } });
});

test("a blip is no coming or going, but the signalling learns that the page is back", async () => {
  await open();
  await enter("ann", "bob");
  let backs = 0;
  room.signalling.onOthers(() => backs++);
  await kit.reconnected();
  await ack(`${ROOM}/in/me`);
  await ack(`${ROOM}/room`, {});
  await roster("ann", "bob");
  expect(backs).toBeGreaterThan(0);
  expect(story).toEqual([
    ["online", true],
    ["online", false],
    ["online", true],
  ]);
});

/** The connection is lost and made again; the service knows of these people by now. */
async function backWith(...people: string[]): Promise<void> {
  await kit.reconnected();
  await enter(...people);
}

const comings = (): string[] =>
  story.flatMap((one) => {
    const [event, person] = one as [string, { readonly name?: string } | undefined];
    return event === "joined" || event === "left" ? [`${event} ${person?.name}`] : [];
  });

test("people are missed only while this page is connected", async () => {
  await open();
  await enter("ann");
  await backWith();
  expect(room.signalling.others()).toEqual(["ann"]);
  await kit.clock.advance(20_000);
  await kit.service.socket.end();
  await kit.clock.advance(20_000);
  expect(names()).toEqual(["ANN"]);
  await kit.comesBack();
  await kit.service.socket.welcome();
  await enter();
  await kit.clock.advance(20_000);
  expect([names(), comings()]).toEqual([["ANN"], []]);
  await kit.clock.advance(11_000);
  expect([names(), comings()]).toEqual([[], ["left ANN"]]);
});

test("a person who leaves, or is removed while missing, has left at once", async () => {
  await open();
  await enter("ann", "bob");
  await backWith("bob");
  await presence({ left: [{ peerId: "bob" }] });
  expect(comings()).toEqual(["left BOB"]);
  await message("room", "service", { notice: "removed", participantSession: "ann", inSec: 0 });
  expect([names(), comings()]).toEqual([[], ["left BOB", "left ANN"]]);
});

test("signals go into the inbox of the other one, and wait while there is no connection", async () => {
  await open();
  await enter("ann");
  await kit.service.socket.end();
  const sent = room.signalling.send("ann", { bye: true });
  await kit.comesBack();
  await kit.service.socket.welcome({ peerId: "me" });
  expect(kit.service.socket.last("publish")).toMatchObject({ channel: `${ROOM}/in/ann`, data: { bye: true } });
  await kit.service.socket.ack("publish");
  await sent;
});

test("a signal whose answer was lost is sent again under the same id", async () => {
  await open();
  await enter("ann");
  const sent = room.signalling.send("ann", { bye: true });
  await settled();
  const { id } = kit.service.socket.last("publish");
  await kit.reconnected();
  expect(kit.service.socket.last("publish").id).toBe(id as string);
  await kit.service.socket.ack("publish");
  await sent;
});

test("a signal that the service refuses is rejected", async () => {
  await open();
  await enter("ann");
  const sent = room.signalling.send("ann", { bye: true }).catch((error) => error.code);
  await settled();
  await kit.service.socket.refuse("publish", "action_not_permitted");
  expect(await sent).toBe("action_not_permitted");
});

test("signals come with the sender that the service names", async () => {
  await open();
  await enter("ann");
  const got: unknown[] = [];
  room.signalling.onSignal((from, data) => got.push([from, data]));
  await message("in/me", "ann", { bye: true, from: "bob" });
  expect(got).toEqual([["ann", { bye: true, from: "bob" }]]);
});

test("chat: earlier lines, one's own when accepted, each once", async () => {
  await open();
  await ack(`${ROOM}/in/me`);
  await ack(`${ROOM}/chat`, { pos: "1", recovered: true, replay: 1 });
  const fromMetadata = { name: "Ann", isGuest: true };
  await message("chat", "ann", { text: "old" }, { pos: "1", time: 5, replay: true, fromMetadata });
  const said = room.say("mine");
  await settled();
  await kit.service.socket.ack("publish", { pos: "2" });
  await said;
  await message("chat", "me", { text: "mine" }, { pos: "2", time: 6 });
  await message("chat", "service", { text: "hello", server: true }, { pos: "3", time: 7 });
  const lines = story.filter((one) => (one as unknown[])[0] === "chat").map((one) => (one as unknown[])[1]);
  expect(lines).toMatchObject([
    { id: "1", from: "ann", name: "Ann", isGuest: true, text: "old", timeMs: 5, isEarlier: true },
    { id: "2", from: "me", name: "Me", text: "mine", isEarlier: false },
    { id: "3", from: undefined, name: "", text: "hello" },
  ]);
});

test("chat: characters that the service refuses are not sent, and nothing if no others are left", async () => {
  await open();
  await ack(`${ROOM}/in/me`);
  await ack(`${ROOM}/chat`, { pos: "1", recovered: true, replay: 0 });
  const said = [room.say("\u0001 \u001b"), room.say("one\u0001\r\n\ttwo\u001b")];
  await settled();
  const { socket } = kit.service;
  expect(socket.of("publish")).toMatchObject([{ data: { text: "one\n\ttwo" } }]);
  await socket.ack("publish", { pos: "2" });
  await Promise.all(said);
});

test("notices are the service's alone", async () => {
  await open({ isAdmin: true });
  await enter("ann");
  await ack(`${ROOM}/admin`, {});
  await message("room", "ann", { notice: "muted", participantSession: "me", kind: "audio" });
  await message("room", "service", { notice: "muted", participantSession: "me", kind: "audio" });
  await message("admin", "ann", { notice: "waiting", queue: [] });
  await message("admin", "service", { notice: "waiting", queue: [{ waitId: "w", name: "Eve", since: 1 }, null, {}] });
  expect(story.slice(1)).toEqual([
    ["notice", { notice: "muted", participantSession: "me", kind: "audio" }],
    ["queue", [{ waitId: "w", name: "Eve", since: 1 }]],
  ]);
});

test("only admins ask for the lobby", async () => {
  await open();
  expect(kit.service.socket.of("subscribe").some(({ channel }) => channel === `${ROOM}/admin`)).toBe(false);
});

test.each(["time", "ended", "removed", "replaced"])("put out, with the reason %s, and never back", async (reason) => {
  await open();
  await enter("ann");
  await kit.service.socket.end(4021, reason);
  await kit.clock.advance(60_000);
  expect(story.at(-1)).toEqual(["ended", reason]);
  expect(kit.service.sockets.length).toBe(1);
});

test("a stay that the service does not continue ends", async () => {
  await open();
  await enter("ann");
  kit.service.refuses(403, "removed");
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.end();
  expect(story.at(-1)).toEqual(["ended", "removed"]);
});

test("a token that is refused is replaced by the next one of the same stay", async () => {
  const next = roomToken("r1", "me", "next");
  await open({ renew: async () => next });
  kit.service.refuses(401, "token_expired");
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.end();
  await kit.comesBack();
  expect(kit.service.socket.url).toBe(`wss://service/v1?token=${next}`);
});

test("before the token ends, the next one is taken over without leaving", async () => {
  const next = roomToken("r1", "me", "next");
  await open({ renew: async () => next });
  await enter("ann");
  expect(kit.service.socket.of("renew")).toEqual([]);
  await kit.clock.advance(3_550_000);
  expect(kit.service.socket.last("renew").token).toBe(next);
  expect(kit.service.sockets.length).toBe(1);
});

test("a token of another stay ends this one", async () => {
  await open({ renew: async () => roomToken("r1", "other") });
  kit.service.refuses(401, "token_expired");
  await kit.service.socket.end();
  await kit.comesBack();
  await kit.service.socket.end();
  await kit.clock.advance(20_000);
  expect(story.at(-1)).toEqual(["ended", "lost"]);
});

test("a stay that the service took for lost while the page was connected: it may join again at once", async () => {
  await open();
  await enter("ann");
  const { length } = kit.service.sockets;
  await kit.service.socket.end(1001, "stay lost");
  expect(story.at(-1)).toEqual(["stayLost"]);
  await kit.clock.advance(20_000);
  expect(kit.service.sockets.length).toBe(length);
  expect(story.some((one) => (one as unknown[])[0] === "ended")).toBe(false);
});

test("leaving is a goodbye", async () => {
  await open();
  await enter("ann");
  room.close();
  expect(kit.service.socket.closedWith).toBe(1000);
  expect(story.some((one) => (one as unknown[])[0] === "ended")).toBe(false);
});

test("ICE servers come with the welcome, and new ones with each renewal of the token", async () => {
  const next = roomToken("r1", "me", "next");
  const heard: unknown[] = [];
  const connect = { url: "wss://service/v1", token: roomToken("r1", "me") };
  room = openRoom({ connect, name: "Me", isAdmin: false, isGuest: true, renew: async () => next });
  room.on("iceServers", (iceServers) => heard.push(iceServers));
  await settled();
  const { socket } = kit.service;
  await socket.welcome({
    peerId: "me",
    expiresAt: 1_700_000_015,
    features: ["renew"],
    metadata: { iceServers: ["a"] },
  });
  expect(heard).toEqual([["a"]]);
  await kit.clock.advance(11_000);
  expect(socket.last("renew")).toMatchObject({ token: next });
  await socket.ack("renew", { expiresAt: 1_700_007_200, metadata: { iceServers: ["b"] } });
  expect(heard).toEqual([["a"], ["b"]]);
});
