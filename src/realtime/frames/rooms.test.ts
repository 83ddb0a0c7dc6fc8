/** Connections of rooms: what a seat may do, what the hooks of rooms are asked, and that rooms and applications never meet. */
import { describe, expect, test } from "bun:test";
import { stayAccess } from "../../access/tokens/room-access.ts";
import { roomSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { adminChannel, chatChannel, inboxChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import { APP, type Client, inShort, leftovers, PUBLISHABLE_KEY, SECRET_KEY } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";

const ROOM = roomChannel(ROOM_ID);
const CHAT = chatChannel(ROOM_ID);
const ADMIN = adminChannel(ROOM_ID);
const inbox = (id: string): string => inboxChannel(ROOM_ID, id);
const wait = (waitId: string): string => waitChannel(ROOM_ID, waitId);

/** The answer to the last frame: "ack" or the code of its error. */
async function answer(world: RoomsWorld, client: Client, send: () => string): Promise<string> {
  const id = send();
  await world.pass(30);
  const frame = client.received.find(({ requestId }) => requestId === id);
  return frame?.type === "ack" ? "ack" : (frame?.code ?? "nothing");
}

/** What a participant gets for each action on each channel of the room, on another room's, and on one of the application. */
async function tries(world: RoomsWorld, client: Client): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const channels = [
    ROOM,
    CHAT,
    ADMIN,
    inbox("ann"),
    inbox("ben"),
    wait("t1"),
    wait("t2"),
    roomChannel("other"),
    "lobby",
  ];
  for (const channel of channels) {
    const answers = [
      await answer(world, client, () => client.request({ type: "history", channel })),
      await answer(world, client, () => client.publish(channel, { text: "hi" })),
      await answer(world, client, () => client.subscribe(channel)),
    ];
    const name = channel.replace(`_parley/room/${ROOM_ID}/`, "");
    found[name] = answers.map((one) => SHORT[one] ?? one).join(" ");
  }
  return found;
}

/** History is answered with a frame of its own. */
const SHORT: Readonly<Record<string, string>> = {
  nothing: "yes",
  ack: "yes",
  action_not_permitted: "action",
  channel_not_authorized: "no",
};

describe("a seat", () => {
  test("of a participant: its own inbox, the inboxes of others to write to, the room to watch, the chat", async () => {
    const world = new RoomsWorld();
    expect(await tries(world, await world.enter("ann"))).toEqual({
      room: "yes action yes",
      chat: "yes yes yes",
      admin: "no no no",
      "in/ann": "yes yes yes",
      "in/ben": "action yes action",
      "wait/t1": "no no no",
      "wait/t2": "no no no",
      "_parley/room/other/room": "no no no",
      lobby: "no no no",
    });
  });

  test("of an admin: the queue of the lobby too", async () => {
    const world = new RoomsWorld();
    expect((await tries(world, await world.enter("ann", { isAdmin: true }))).admin).toBe("yes action yes");
  });

  test("of a visitor who waits: one channel to read, and nothing else", async () => {
    const world = new RoomsWorld();
    const waiting = await world.enter("t1", { kind: "wait" });
    expect(await tries(world, waiting)).toEqual({
      room: "no no no",
      chat: "no no no",
      admin: "no no no",
      "in/ann": "no no no",
      "in/ben": "no no no",
      "wait/t1": "yes action yes",
      "wait/t2": "no no no",
      "_parley/room/other/room": "no no no",
      lobby: "no no no",
    });
    await world.enter("ann");
    expect(await answer(world, waiting, () => waiting.send("ann", 1))).toBe("action_not_permitted");
    const state = { type: "state", channel: wait("t1"), state: { a: 1 } };
    expect(await answer(world, waiting, () => waiting.request(state))).toBe("action_not_permitted");
  });

  test("shows its holder in the room only, with what the service has stamped", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann", { isAdmin: true, isGuest: false, externalUserId: "u1" });
    for (const channel of [ROOM, CHAT, inbox("ann"), ADMIN]) ann.subscribe(channel);
    await world.pass(600);
    const ben = await world.enter("ben");
    for (const channel of [ROOM, CHAT]) ben.subscribe(channel);
    await world.pass(600);
    const rosters = ben.take().filter(({ type }) => type === "presence");
    const metadata = { name: "ann", isAdmin: true, isGuest: false, externalUserId: "u1" };
    expect(rosters.map(({ channel, joined }) => ({ channel, joined }))).toEqual([
      { channel: ROOM, joined: [{ peerId: "ann", metadata }] },
    ]);
    expect(await answer(world, ann, () => ann.subscribe(CHAT, { occupancy: true }))).toBe("action_not_permitted");
  });

  test("does not listen to the room without being shown in it", async () => {
    const world = new RoomsWorld();
    const [ann, ben] = [await world.enter("ann"), await world.enter("ben")];
    ann.subscribe(ROOM);
    await world.pass(600);
    ann.take();
    ben.subscribe(ROOM, { presence: false });
    await world.pass(600);
    expect(ann.take()).toMatchObject([{ type: "presence", joined: [{ peerId: "ben" }] }]);
  });

  test("sends no direct messages and gets none", async () => {
    const world = new RoomsWorld();
    const [ann] = [await world.enter("ann"), await world.enter("ben")];
    expect(await answer(world, ann, () => ann.send("ben", 1))).toBe("action_not_permitted");
    const peer = world.connect("peer");
    expect(await answer(world, peer, () => peer.send("ben", 1))).toBe("peer_not_found");
  });
});

describe("an application's own peers", () => {
  test("reach no channel of a room, whatever their key covers", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann");
    ann.subscribe(ROOM);
    await world.pass(100);
    ann.take();
    for (const key of [SECRET_KEY, PUBLISHABLE_KEY]) {
      const stranger = world.connect("ann", { key });
      for (const channel of [ROOM, CHAT, inbox("ann")]) {
        expect(await answer(world, stranger, () => stranger.subscribe(channel))).toBe("channel_reserved");
        expect(await answer(world, stranger, () => stranger.publish(channel, 1))).toBe("channel_reserved");
      }
    }
    // What REST publishes goes to the application's space, under every name.
    world.node.hub.delivery.publish(APP, ROOM, { from: "service", metadataJson: undefined, dataJson: "1" });
    await world.pass(100);
    expect(ann.newFrames()).toEqual([]);
  });

  test("and people in rooms may have the same peer id without meeting", async () => {
    const world = new RoomsWorld();
    const [inside, outside] = [await world.enter("ann"), world.connect("ann")];
    expect(world.node.hub.kicks.kickHere(APP, "ann")).toBe(1);
    expect([inside.closeCode, outside.closeCode]).toEqual([undefined, 4020]);
  });
});

describe("the hooks of rooms", () => {
  test("is notified of connections, subscribes and ends", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann");
    ann.subscribe(ROOM);
    ann.subscribe(ADMIN);
    await world.pass(30);
    ann.socket.close(1000, "");
    const ben = await world.enter("ben");
    ben.vanish();
    expect(world.hooks.take()).toEqual([
      "enter ann",
      "connected ann",
      "subscribed ann room",
      "goodbye ann",
      "enter ben",
      "connected ben",
      "lost ben",
    ]);
  });

  test("hears nothing of the application's own peers", async () => {
    const world = new RoomsWorld();
    const ann = await world.joined("ann");
    ann.publish("room/1", "bad");
    await world.pass(30);
    ann.vanish();
    expect([ann.newFrames(), world.hooks.take()]).toEqual([["ack r2"], []]);
  });

  test("decides about every message, also after one that it has allowed", async () => {
    const world = new RoomsWorld();
    const [ann, ben] = [await world.enter("ann"), await world.enter("ben")];
    for (const channel of [CHAT, inbox("ben")]) {
      ben.subscribe(channel);
      await world.pass(30);
      ben.take();
      for (const text of ["one", "bad", "two"]) ann.publish(channel, { text });
      await world.pass(30);
      expect(ben.newFrames()).toEqual(['message ann {"text":"one"}', 'message ann {"text":"two"}']);
    }
    const errors = ann.take().filter(({ type }) => type === "error");
    expect(errors.map(({ code, message }) => `${code}: ${message}`)).toEqual(
      Array(2).fill("malformed_message: This is bad."),
    );
  });

  test("decides about states", async () => {
    const world = new RoomsWorld();
    const [ann, ben] = [await world.enter("ann"), await world.enter("ben")];
    for (const client of [ann, ben]) client.subscribe(ROOM, { state: true });
    await world.pass(600);
    ben.take();
    const state =
      (state: unknown): (() => string) =>
      () =>
        ann.request({ type: "state", channel: ROOM, state });
    expect(await answer(world, ann, state({ audio: true }))).toBe("ack");
    expect(await answer(world, ann, state({ bad: true }))).toBe("malformed_message");
    await world.pass(600);
    const shown = ben.take().flatMap((frame) => JSON.stringify(frame));
    expect(shown.join()).toContain('"audio":true');
    expect(shown.join()).not.toContain("bad");
    expect(world.floor().members(APP, ROOM_ID)).toEqual([
      { peerId: "ann", state: { audio: true } },
      { peerId: "ben", state: undefined },
    ]);
  });
});

describe("a renewal", () => {
  test("takes the next token of the same stay, with the access of the one before", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann");
    const [long, renew] = [
      world.clock.wallMs() / 1000 + 80_000,
      (token: string) => () => ann.request({ type: "renew", token }),
    ];
    expect(await answer(world, ann, renew(world.roomToken("ann", { name: "Ann", exp: Math.floor(long) })))).toBe("ack");
    expect(world.hooks.take()).toContain("renewed ann to Ann");
    expect(await answer(world, ann, () => ann.publish(CHAT, { text: "still" }))).toBe("ack");
    await world.pass(1);
    world.advance(3_700_000);
    expect(ann.closeCode).toBeUndefined();
  });

  test("does not change the name of the stay, whatever its token says", async () => {
    const world = new RoomsWorld();
    const [ann, ben] = [await world.enter("ann"), await world.enter("ben")];
    for (const client of [ann, ben]) client.subscribe(ROOM);
    await world.pass(600);
    ben.take();
    expect(
      await answer(world, ann, () => ann.request({ type: "renew", token: world.roomToken("ann", { name: "Eve" }) })),
    ).toBe("ack");
    await world.pass(100);
    expect(ben.newFrames()).toEqual([]);
    expect(ann.connection.metadataJson).toContain('"name":"ann"');
  });

  test("with the token of another peer is refused, in both directions", async () => {
    const world = new RoomsWorld();
    const [ann, peer] = [await world.enter("ann"), world.connect("ann")];
    const own = world.keys.token("ann");
    const strangers = [
      world.roomToken("ben"),
      world.roomToken("ann", { room: "other" }),
      world.roomToken("ann", { kind: "wait" }),
      world.roomToken("ann", { app: anAppId("nowhere") }),
      `${world.roomToken("ann")}x`,
      own,
    ];
    for (const token of strangers) {
      world.advance(2000);
      expect(await answer(world, ann, () => ann.request({ type: "renew", token }))).toBe("invalid_token");
    }
    expect(await answer(world, peer, () => peer.request({ type: "renew", token: world.roomToken("ann") }))).toBe(
      "invalid_token",
    );
    expect([ann, peer].map(({ closeCode }) => closeCode)).toEqual([undefined, undefined]);
    expect(ann.connection.peer.space.id).toBe(roomSpaceOf(APP));
  });

  test("ends what the new access does not cover", async () => {
    const world = new RoomsWorld();
    const ann = await world.enter("ann", { isAdmin: true });
    ann.subscribe(ADMIN);
    await world.pass(30);
    ann.take();
    world.hooks.renewed = (seat) => {
      seat.access = stayAccess(ROOM_ID, "ann", { isAdmin: false, mayChat: false });
    };
    ann.request({ type: "renew", token: world.roomToken("ann") });
    await world.pass(1);
    expect(ann.take().map(inShort)).toEqual(["error channel_not_authorized", "ack r2"]);
    expect(await answer(world, ann, () => ann.publish(CHAT, { text: "x" }))).toBe("action_not_permitted");
  });
});

test("nothing is left of a room that all participants have left", async () => {
  const world = new RoomsWorld();
  const people = [await world.enter("ann"), await world.enter("ben"), await world.enter("t1", { kind: "wait" })];
  for (const client of people) for (const channel of [ROOM, CHAT, inbox("ann"), wait("t1")]) client.subscribe(channel);
  await world.pass(600);
  people[0]?.publish(CHAT, { text: "bye" });
  people[0]?.vanish();
  for (const client of people.slice(1)) client.socket.close(1000, "");
  await world.pass(40_000);
  expect(leftovers(world)).toEqual({});
});
