/** What meetings does in a room: notices, closes, another access, and what the nodes ask each other. */
import { describe, expect, test } from "bun:test";
import { stayAccess } from "../../access/tokens/room-access.ts";
import { guestsOf, roomSpaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { adminChannel, chatChannel, inboxChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import { positionOf } from "../streams/testing/streams-world.ts";
import { APP, type Client } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";

const ROOM = roomChannel(ROOM_ID);
const CHAT = chatChannel(ROOM_ID);

async function inside(world: RoomsWorld, id: string, more: Parameters<RoomsWorld["enter"]>[1] = {}): Promise<Client> {
  const client = await world.enter(id, more);
  for (const channel of [ROOM, CHAT]) client.subscribe(channel);
  await world.pass(600);
  client.take();
  return client;
}

describe("publish", () => {
  test("reaches the room on every node, from the service; the chat keeps it for those who come later", async () => {
    const world = new RoomsWorld({ nodes: 2 });
    const [ann, ben] = [await inside(world, "ann"), await inside(world, "ben", { node: 1 })];
    for (const client of [ann, ben]) client.take();
    await world.floor().publish(APP, ROOM, { notice: "locked", on: true });
    const sent = world.floor().publish(APP, CHAT, { text: "hello", server: true });
    await world.pass(100);
    await sent;
    for (const client of [ann, ben])
      expect(client.newFrames()).toEqual([
        'message service {"notice":"locked","on":true}',
        'message service {"text":"hello","server":true}',
      ]);
    const late = await world.enter("cat", { node: 1 });
    late.request({ type: "history", channel: CHAT });
    await world.pass(50);
    expect(late.take()).toMatchObject([{ type: "history", messages: [{ from: "service", data: { text: "hello" } }] }]);
  });

  test("rejects when the store of the chat is unavailable", async () => {
    const world = new RoomsWorld();
    world.history.fate = () => "fail";
    const outcome = world
      .floor()
      .publish(APP, CHAT, { text: "hello" })
      .then(
        () => "sent",
        (error) => error,
      );
    await world.pass(3000);
    const error = await outcome;
    expect(error instanceof Problem && error.code).toBe("backend_error");
  });

  test("counts a line of the application's server, as what people write; its own notices are neither counted nor refused", async () => {
    const world = new RoomsWorld();
    const ann = await inside(world, "ann");
    ann.publish(CHAT, { text: "hi" });
    await world.floor().publish(APP, ROOM, { notice: "locked" });
    const line = world.floor().publish(APP, CHAT, { text: "hello", server: true });
    await world.pass(50);
    await line;
    const { usage, metrics } = world.node;
    expect(usage.messagesUsed(APP)).toBe(2);
    expect([usage.of(APP).connections, usage.messagesUsed(anAppId(roomSpaceOf(APP)))]).toEqual([1, 0]);
    expect(metrics.traffic.of(APP).messages).toBe(3);
    expect(world.node.hub.occupancy.connectionsOf(APP)).toBe(1);
    expect([...world.node.hub.occupancy.localCounts()]).toEqual([
      [APP, 1],
      [guestsOf(APP), 1],
    ]);
    world.keys.editApp({ maxMessagesPerPeriod: 2 });
    ann.publish(CHAT, { text: "more" });
    await world.pass(50);
    expect(ann.newFrames()).toContain("error over_message_quota r4");
    await expect(world.floor().publish(APP, CHAT, { text: "more", server: true })).rejects.toMatchObject({
      code: "over_message_quota",
    });
    await world.floor().publish(APP, ROOM, { notice: "recording", on: true });
    expect(ann.newFrames()).toContain('message service {"notice":"recording","on":true}');
    for (const channel of [adminChannel(ROOM_ID), waitChannel(ROOM_ID, "visitor")])
      await world.floor().publish(APP, channel, { notice: "hosts" });
    expect(usage.messagesUsed(APP)).toBe(2);
  });
});

describe("close", () => {
  test("puts a stay out with its reason; the others see it leave at once, also if its connection was lost before", async () => {
    for (const reason of ["time", "ended", "removed"] as const) {
      const world = new RoomsWorld();
      const [ann, ben, cat] = [await inside(world, "ann"), await inside(world, "ben"), await inside(world, "cat")];
      await world.pass(600);
      for (const client of [ann, ben, cat]) client.take();
      cat.vanish();
      await world.pass(600);
      expect(ann.newFrames()).toEqual([]);
      expect([world.floor().close(APP, "ben", reason), world.floor().close(APP, "cat", reason)]).toEqual([1, 0]);
      await world.pass(600);
      expect(ben.socket.closed).toEqual({ code: 4021, reason });
      expect(ann.newFrames().join()).toMatch(/left: ben.* cat/);
      expect(world.hooks.take()).toContain("goodbye ben");
    }
  });

  test("of a stay that has ended while it was connected shows it to no one any more; after `lost` its page joins again", async () => {
    const closings = { left: { code: 4021, reason: "replaced" }, lost: { code: 1001, reason: "stay lost" } };
    for (const reason of ["left", "lost"] as const) {
      const world = new RoomsWorld();
      const [ann, ben] = [await inside(world, "ann"), await inside(world, "ben")];
      ann.take();
      expect(world.floor().close(APP, "ben", reason)).toBe(1);
      await world.pass(600);
      expect(ben.socket.closed).toEqual(closings[reason]);
      expect(ann.newFrames().join()).toMatch(/left: ben/);
    }
  });

  test("replaces older connections of a stay, and its participant is not seen to leave", async () => {
    const world = new RoomsWorld();
    const [ann, old] = [await inside(world, "ann"), await inside(world, "ben")];
    await world.pass(600);
    ann.take();
    const newest = await world.enter("ben");
    expect(world.floor().close(APP, "ben", "replaced", newest.connection.id)).toBe(1);
    expect(old.socket.closed).toEqual({ code: 4021, reason: "replaced" });
    await world.pass(5000);
    newest.subscribe(ROOM);
    await world.pass(2000);
    expect(newest.closeCode).toBeUndefined();
    expect(world.hooks.take()).toContain("lost ben");
    expect(ann.newFrames()).toEqual([]);
  });

  test("closes only the connections of its own node and application", async () => {
    const world = new RoomsWorld({ nodes: 2 });
    const ben = await inside(world, "ben", { node: 1 });
    const here = world.floor(0);
    expect([here.close(APP, "ben", "ended"), here.close(anAppId("other"), "ben", "ended")]).toEqual([0, 0]);
    expect(ben.closeCode).toBeUndefined();
  });
});

test("another access counts at once: the chat is closed and opened, the queue of the lobby ends", async () => {
  const world = new RoomsWorld();
  const ann = await inside(world, "ann", { isAdmin: true });
  ann.subscribe(adminChannel(ROOM_ID));
  await world.pass(50);
  ann.take();
  const set = (isAdmin: boolean, mayChat: boolean): void =>
    world.floor().setAccess(APP, "ann", stayAccess(ROOM_ID, "ann", { isAdmin, mayChat }));
  const chat = async (): Promise<string[]> => {
    ann.publish(CHAT, { text: "x" });
    await world.pass(50);
    return ann.newFrames();
  };
  expect(await chat()).toEqual(["ack r4"]);
  set(false, false);
  expect(await chat()).toEqual(["error channel_not_authorized", "error action_not_permitted r5"]);
  set(false, true);
  expect(await chat()).toEqual(["ack r6"]);
  expect(ann.connection.subscriptions.map(({ channel }) => channel.name)).toEqual([ROOM, CHAT]);
});

test("members are those of all nodes, with what they say about themselves", async () => {
  const world = new RoomsWorld({ nodes: 2 });
  const ann = await inside(world, "ann");
  const ben = await inside(world, "ben", { node: 1 });
  ben.request({ type: "state", channel: ROOM, state: { audio: true } });
  await world.pass(600);
  for (const node of [0, 1])
    expect([...world.floor(node).members(APP, ROOM_ID)].sort((a, b) => (a.peerId < b.peerId ? -1 : 1))).toEqual([
      { peerId: "ann", state: undefined },
      { peerId: "ben", state: { audio: true } },
    ]);
  expect(ann.closeCode).toBeUndefined();
  expect(world.floor().members(APP, "other")).toEqual([]);
});

test("signals wait in an inbox while its owner is away for a moment", async () => {
  const world = new RoomsWorld();
  const own = inboxChannel(ROOM_ID, "ben");
  const [ann, ben] = [await inside(world, "ann"), await inside(world, "ben")];
  ben.subscribe(own);
  await world.pass(50);
  const pos = positionOf(ben);
  ben.vanish();
  ann.publish(own, { candidate: null });
  await world.pass(50);
  const returned = await world.enter("ben");
  returned.subscribe(own, { recover: pos });
  await world.pass(50);
  expect(returned.newFrames().join()).toContain('message ann {"candidate":null}');
});

test("forgets the chat", async () => {
  const world = new RoomsWorld();
  await world.floor().publish(APP, CHAT, { text: "old" });
  await world.floor().forget(APP, CHAT);
  const ann = await world.enter("ann");
  ann.request({ type: "history", channel: CHAT });
  await world.pass(50);
  expect(ann.take()).toMatchObject([{ type: "history", messages: [] }]);
});

test("asks every node, this one too; an answer may be nothing", async () => {
  const world = new RoomsWorld({ nodes: 3 });
  const heard: string[] = [];
  for (const node of [0, 1, 2])
    world.floor(node).on("close", (payload) => {
      heard.push(`${node} ${JSON.stringify(payload)}`);
      return node === 1 ? undefined : node;
    });
  const asked = world.floor(0).ask("close", { id: "ann" });
  await world.pass(50);
  expect(await asked).toEqual([0, null, 2]);
  expect(heard.sort()).toEqual(['0 {"id":"ann"}', '1 {"id":"ann"}', '2 {"id":"ann"}']);
});

test("a deleted application's rooms end: all participants are put out", async () => {
  const world = new RoomsWorld();
  const people = [await inside(world, "ann"), await inside(world, "ben")];
  world.keys.editApp({ deleted: 1 });
  expect(people.map(({ socket }) => socket.closed)).toEqual(Array(2).fill({ code: 4021, reason: "ended" }));
  expect(() => world.roomGrant("ann")).toThrow("does not exist");
});

test("rename shows a participant under another name, on every node", async () => {
  const world = new RoomsWorld({ nodes: 2 });
  const [ann, ben] = [await inside(world, "ann"), await inside(world, "ben", { node: 1 })];
  for (const client of [ann, ben]) client.take();
  world.floor().rename(APP, "ann", "Grace");
  world.floor(1).rename(APP, "ann", "Grace");
  await world.pass(100);
  const joined = ben.take().flatMap((frame) => frame.joined ?? []);
  expect(joined).toMatchObject([{ peerId: "ann", metadata: { name: "Grace", isGuest: true } }]);
  ann.publish(CHAT, { text: "hi" });
  await world.pass(100);
  const late = await world.enter("cat", { node: 1 });
  late.request({ type: "history", channel: CHAT });
  await world.pass(50);
  expect(late.take()).toMatchObject([{ messages: [{ from: "ann", fromMetadata: { name: "Grace" } }] }]);
});
