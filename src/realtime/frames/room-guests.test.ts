/** Guests of rooms together have at most half of what the plan of an application gives it. */
import { describe, expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { chatChannel, inboxChannel, roomChannel } from "../../protocol/room-channels.ts";
import { APP, type Client } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";

const CHAT = chatChannel(ROOM_ID);
const INVITED: Partial<RoomClaims> = { opens: {} };
const LET_IN: Partial<RoomClaims> = { isLetIn: true };

async function inside(world: RoomsWorld, id: string, more: Parameters<RoomsWorld["enter"]>[1] = {}): Promise<Client> {
  const client = await world.enter(id, more);
  client.subscribe(roomChannel(ROOM_ID));
  await world.pass(600);
  client.take();
  return client;
}

/** How many of its messages are accepted. */
async function sends(world: RoomsWorld, who: Client, count: number, channel: string, data: object): Promise<number> {
  for (let n = 0; n < count; n++) {
    who.publish(channel, data);
    await world.pass(50);
  }
  const answers = who.newFrames().filter((frame) => /^(ack|error)/.test(frame));
  expect(answers.filter((frame) => frame.startsWith("error")).every((frame) => /over_message_quota/.test(frame))).toBe(
    true,
  );
  return answers.filter((frame) => frame.startsWith("ack")).length;
}

describe("messages of a period", () => {
  test("guests together use half of them, in chats and inboxes; the application and people it invited go on", async () => {
    const world = new RoomsWorld();
    world.keys.editApp({ maxMessagesPerPeriod: 10 });
    const [eve, mallory] = [await inside(world, "eve"), await inside(world, "mallory")];
    const ann = await inside(world, "ann", INVITED);
    const let_in = await inside(world, "ben", LET_IN);
    expect(await sends(world, eve, 3, inboxChannel(ROOM_ID, "eve"), { bye: true })).toBe(3);
    expect(await sends(world, mallory, 4, CHAT, { text: "hi" })).toBe(2);
    expect(await sends(world, eve, 1, inboxChannel(ROOM_ID, "eve"), { bye: true })).toBe(0);
    const { usage } = world.node;
    expect([usage.messagesUsed(APP), usage.usedByGuests(APP)]).toEqual([5, 5]);
    expect(await sends(world, ann, 2, CHAT, { text: "hi" })).toBe(2);
    expect(await sends(world, let_in, 1, inboxChannel(ROOM_ID, "ann"), { bye: true })).toBe(1);
    const own = world.connect("own");
    own.take();
    for (let n = 0; n < 3; n++) own.publish("orders", n);
    expect(own.newFrames()).toEqual(["ack r1", "ack r2", "error over_message_quota r3"]);
    expect([usage.messagesUsed(APP), usage.usedByGuests(APP)]).toEqual([10, 5]);
  });

  test("a guest that is refused is told whose share is used up", async () => {
    const world = new RoomsWorld();
    world.keys.editApp({ maxMessagesPerPeriod: 2 });
    const eve = await inside(world, "eve");
    expect(await sends(world, eve, 1, CHAT, { text: "hi" })).toBe(1);
    eve.publish(CHAT, { text: "more" });
    await world.pass(50);
    expect(eve.take()).toMatchObject([{ code: "over_message_quota", message: expect.stringContaining("guests") }]);
  });

  test("what a guest sent still counts for guests if it is stored late, after its connection has ended", async () => {
    const world = new RoomsWorld();
    const eve = await inside(world, "eve");
    // It is stored, and the store never says so.
    world.history.beforeAnswer = (call) => (call === "append" ? new Promise(() => undefined) : undefined);
    eve.publish(CHAT, { text: "late" });
    await world.pass(100);
    eve.vanish();
    await world.pass(10_000);
    const { usage } = world.node;
    expect([usage.messagesUsed(APP), usage.usedByGuests(APP)]).toEqual([1, 1]);
  });
});
