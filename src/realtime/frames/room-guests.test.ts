/** Guests of rooms together have at most half of what the plan of an application gives it. */
import { describe, expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { guestsOf } from "../../base/ids.ts";
import type { Engine, EngineCallbacks } from "../../engine/engine.ts";
import { chatChannel, inboxChannel, roomChannel } from "../../protocol/room-channels.ts";
import { APP, type Client, PUBLISHABLE_KEY } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";
import type { SocketData } from "./socket-handlers.ts";

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
    const letIn = await inside(world, "ben", LET_IN);
    expect(await sends(world, eve, 3, inboxChannel(ROOM_ID, "eve"), { bye: true })).toBe(3);
    expect(await sends(world, mallory, 4, CHAT, { text: "hi" })).toBe(2);
    expect(await sends(world, eve, 1, inboxChannel(ROOM_ID, "eve"), { bye: true })).toBe(0);
    const { usage } = world.node;
    expect([usage.messagesUsed(APP), usage.usedByGuests(APP)]).toEqual([5, 5]);
    expect(await sends(world, ann, 2, CHAT, { text: "hi" })).toBe(2);
    expect(await sends(world, letIn, 1, inboxChannel(ROOM_ID, "ann"), { bye: true })).toBe(1);
    const own = world.connect("own");
    own.take();
    for (let n = 0; n < 3; n++) own.publish("orders", n);
    expect(own.newFrames()).toEqual(["ack r1", "ack r2", "error over_message_quota r3"]);
    expect([usage.messagesUsed(APP), usage.usedByGuests(APP)]).toEqual([10, 5]);
  });

  test("the error of a guest says whose share is used up", async () => {
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

describe("connections", () => {
  /** Whether there is capacity for one more on that node. */
  async function fits(world: RoomsWorld, query: string, node = 0): Promise<boolean> {
    const upgraded: SocketData[] = [];
    const upgrade = (data: SocketData): boolean => upgraded.push(data) > 0;
    const attempt = { query, origin: null, version: "13", client: [127, 0, 0, 1], wantsWebSocket: true, upgrade };
    await world.nodeAt(node).gateway.connect(attempt);
    const pending = upgraded[0] as { isOverCap?: boolean; claim?: { end(): void } };
    pending.claim?.end();
    return pending.isOverCap !== true;
  }
  const fitsInRoom = (world: RoomsWorld, claims: Partial<RoomClaims>, node = 0): Promise<boolean> =>
    fits(world, `token=${world.roomToken("new", claims)}`, node);

  test("guests and visitors who wait take half of them together, on all nodes; invited people and own clients all", async () => {
    const world = new RoomsWorld({ nodes: 2 });
    world.keys.editApp({ maxConcurrentConnections: 5 });
    const eve = await world.enter("eve");
    await world.enter("visitor", { kind: "wait", node: 1 });
    await world.enter("ann", INVITED);
    expect(await fitsInRoom(world, {})).toBe(true);
    await world.enter("mallory", { node: 1 });
    for (const node of [0, 1]) {
      expect(await fitsInRoom(world, {}, node)).toBe(false);
      expect(await fitsInRoom(world, { kind: "wait" }, node)).toBe(false);
      expect(await fitsInRoom(world, INVITED, node)).toBe(true);
      expect(await fitsInRoom(world, LET_IN, node)).toBe(true);
      expect(await fits(world, `key=${PUBLISHABLE_KEY}`, node)).toBe(true);
    }
    await world.enter("ben", LET_IN);
    expect([await fits(world, `key=${PUBLISHABLE_KEY}`), await fitsInRoom(world, INVITED)]).toEqual([false, false]);
    eve.vanish();
    expect([await fitsInRoom(world, {}), await fits(world, `key=${PUBLISHABLE_KEY}`)]).toEqual([true, true]);
  });

  test("a guest that is refused under the cap of the application leaves nothing of the share taken", async () => {
    const world = new RoomsWorld();
    world.keys.editApp({ maxConcurrentConnections: 2 });
    const own = [world.connect("own"), world.connect("other")];
    for (let n = 0; n < 3; n++) expect(await fitsInRoom(world, {})).toBe(false);
    own[0]?.vanish();
    expect(await fitsInRoom(world, {})).toBe(true);
  });

  test("a guest counts as one until its connection ends, whatever its token becomes; usage knows applications only", async () => {
    const attached: EngineCallbacks[] = [];
    const engine = (one: Engine): Engine => {
      const real = one.attach.bind(one);
      const attach = (node: EngineCallbacks): void => {
        attached.push(node);
        real(node);
      };
      return Object.assign(one, { attach });
    };
    const world = new RoomsWorld({ nodes: 2, engine });
    const [eve] = [await world.enter("eve"), await world.enter("ben", { node: 1 })];
    eve.request({ type: "renew", token: world.roomToken("eve", INVITED) });
    const guests = (node: number): number => world.nodeAt(node).hub.occupancy.localConnections(guestsOf(APP));
    expect([guests(0), guests(1)]).toEqual([1, 1]);
    // As a report of another node does. A row of usage under an id that no application has could not be stored.
    attached[0]?.connectionsChanged(guestsOf(APP));
    expect(world.node.usage.of(guestsOf(APP)).peak).toBe(0);
    eve.vanish();
    expect([guests(0), guests(1), world.node.hub.occupancy.connectionsOf(guestsOf(APP))]).toEqual([0, 1, 1]);
  });
});
