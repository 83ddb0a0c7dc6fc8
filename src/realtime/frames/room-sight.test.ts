/** Participants of a room see each other: no one listens there without being shown. */
import { describe, expect, test } from "bun:test";
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { adminChannel, chatChannel, inboxChannel, roomChannel, waitChannel } from "../../protocol/room-channels.ts";
import { SHOWN_AFTER_MS, UNSEEN_MS, UNSEEN_TIMES_BURST } from "../subscriptions/limits.ts";
import type { Client } from "../testing/kit.ts";
import { ROOM_ID, RoomsWorld } from "../testing/rooms.ts";

const ROOM = roomChannel(ROOM_ID);
const CHAT = chatChannel(ROOM_ID);
const ADMIN = adminChannel(ROOM_ID);
const INBOX = inboxChannel(ROOM_ID, "eve");
const EVE: Partial<RoomClaims> = { holder: "eve's address" };

class Trial extends RoomsWorld {
  /** "ack", or the code of its error; a page of history is "yes". */
  async answer(client: Client, send: () => string): Promise<string> {
    const id = send();
    await this.pass(30);
    const frame = client.received.find(({ requestId }) => requestId === id);
    return frame?.code ?? frame?.type ?? "nothing";
  }

  subscribes(client: Client, ...channels: readonly string[]): Promise<string[]> {
    return this.each(channels, (channel) => this.answer(client, () => client.subscribe(channel)));
  }

  publishes(client: Client, channel: string): Promise<string> {
    return this.answer(client, () => client.publish(channel, { text: "hello" }));
  }

  reads(client: Client, channel: string): Promise<string> {
    return this.answer(client, () => client.request({ type: "history", channel }));
  }

  private async each<T>(items: readonly string[], work: (item: string) => Promise<T>): Promise<T[]> {
    const done: T[] = [];
    for (const item of items) done.push(await work(item));
    return done;
  }
}

/** The channels whose subscriptions the service has ended since the last look. */
const ended = (client: Client): unknown[] =>
  client
    .take()
    .filter(({ type, code }) => type === "error" && code === "channel_not_authorized")
    .map(({ channel }) => channel);

const heard = (client: Client): number => client.take().filter(({ type }) => type === "message").length;

test.each([
  ["room first", [ROOM, CHAT, ADMIN, INBOX]],
  ["room last", [INBOX, ADMIN, CHAT, ROOM]],
])("a client subscribes in any order: %s", async (_order, channels) => {
  const world = new Trial();
  const eve = await world.enter("eve", { isAdmin: true });
  expect(await world.subscribes(eve, ...channels)).toEqual(["ack", "ack", "ack", "ack"]);
  await world.pass(2 * UNSEEN_MS);
  expect(ended(eve)).toEqual([]);
  const ann = await world.enter("ann");
  await world.subscribes(ann, ROOM);
  expect(await world.publishes(ann, CHAT)).toBe("ack");
  expect(heard(eve)).toBe(1);
});

test("who subscribes to the chat and is never shown loses it, and reads and writes nothing any more until it is shown", async () => {
  const world = new Trial();
  const [ann, eve] = [await world.enter("ann"), await world.enter("eve", EVE)];
  await world.subscribes(ann, ROOM, CHAT);
  expect(await world.subscribes(eve, CHAT, INBOX)).toEqual(["ack", "ack"]);
  await world.pass(UNSEEN_MS - 1000);
  expect(ended(eve)).toEqual([]);
  await world.pass(1000);
  expect(ended(eve)).toEqual([CHAT, INBOX]);
  await world.publishes(ann, CHAT);
  expect(heard(eve)).toBe(0);
  const refused = "action_not_permitted";
  expect([await world.subscribes(eve, CHAT), await world.reads(eve, CHAT)]).toEqual([[refused], refused]);
  expect([await world.publishes(eve, inboxChannel(ROOM_ID, "ann")), await world.publishes(eve, CHAT)]).toEqual([
    refused,
    refused,
  ]);
  expect(eve.received.at(-1)?.message).toBe(
    `Subscribe to ${ROOM} first, so that the room's participants see each other.`,
  );
  expect(await world.subscribes(eve, ROOM, CHAT)).toEqual(["ack", "ack"]);
  expect(await world.publishes(eve, CHAT)).toBe("ack");
});

test("who leaves the channel of the room loses the others at once", async () => {
  const world = new Trial();
  const [ann, eve] = [await world.enter("ann"), await world.enter("eve", { ...EVE, isAdmin: true })];
  await world.subscribes(ann, ROOM, CHAT);
  await world.subscribes(eve, ROOM, CHAT, ADMIN, INBOX);
  await world.answer(eve, () => eve.unsubscribe(CHAT));
  await world.subscribes(eve, CHAT);
  expect(ended(eve)).toEqual([]);
  expect(await world.answer(eve, () => eve.unsubscribe(ROOM))).toBe("ack");
  expect(ended(eve).sort()).toEqual([ADMIN, CHAT, INBOX]);
  await world.publishes(ann, CHAT);
  expect(heard(eve)).toBe(0);
  expect(await world.subscribes(eve, CHAT, ROOM, CHAT)).toEqual(["action_not_permitted", "ack", "ack"]);
});

test("pages of the history of the chat, and messages, are for a moment only too", async () => {
  const world = new Trial();
  for (const acts of [
    (client: Client) => world.reads(client, CHAT),
    (client: Client) => world.publishes(client, CHAT),
  ]) {
    const eve = await world.enter("eve");
    expect(await acts(eve)).not.toBe("action_not_permitted");
    await world.pass(UNSEEN_MS);
    expect(await acts(eve)).toBe("action_not_permitted");
    eve.vanish();
  }
});

describe("a holder of places that connects again and again without being shown", () => {
  const lurk = async (world: Trial, nr: number): Promise<string[]> => {
    const eve = await world.enter(`eve${nr}`, EVE);
    const answers = await world.subscribes(eve, CHAT);
    eve.vanish();
    return answers;
  };

  test("has a few tries, and is then refused until it is shown", async () => {
    const world = new Trial();
    const answers: string[] = [];
    for (let nr = 0; nr <= UNSEEN_TIMES_BURST; nr++) answers.push(...(await lurk(world, nr)));
    expect(answers).toEqual([...new Array(UNSEEN_TIMES_BURST).fill("ack"), "action_not_permitted"]);
    const eve = await world.enter("eve", EVE);
    expect(await world.subscribes(eve, INBOX, CHAT, ROOM, CHAT)).toEqual(["ack", "action_not_permitted", "ack", "ack"]);
    const silent = await world.enter("eve again", EVE);
    silent.publish(CHAT, { text: "." });
    expect(silent.newFrames().at(-1)).toContain("action_not_permitted");
    const ben = await world.enter("ben", { holder: "another address" });
    expect(await world.subscribes(ben, CHAT)).toEqual(["ack"]);
  });

  test("has no more tries with connections that are open at the same time", async () => {
    const world = new Trial();
    const answers: string[] = [];
    for (let nr = 0; nr < UNSEEN_TIMES_BURST + 3; nr++)
      answers.push(...(await world.subscribes(await world.enter(`eve${nr}`, EVE), CHAT)));
    const refused = new Array(3).fill("action_not_permitted");
    expect(answers).toEqual([...new Array(UNSEEN_TIMES_BURST).fill("ack"), ...refused]);
    // Each visit is charged once: its end costs nothing more.
    await world.pass(UNSEEN_MS + 30_000);
    expect(await world.subscribes(await world.enter("eve", EVE), CHAT)).toEqual(["ack"]);
  });

  test("is not one that was shown in time", async () => {
    const world = new Trial();
    for (let nr = 0; nr < 3 * UNSEEN_TIMES_BURST; nr++) {
      const eve = await world.enter("eve", EVE);
      expect(await world.subscribes(eve, CHAT, ROOM)).toEqual(["ack", "ack"]);
      await world.pass(SHOWN_AFTER_MS);
      eve.vanish();
      await world.pass(100);
    }
  });

  test("is one that asks for the channel of the room and is gone before it is shown", async () => {
    const world = new Trial();
    const answers: string[] = [];
    for (let nr = 0; nr <= UNSEEN_TIMES_BURST; nr++) {
      const eve = await world.enter(`eve${nr}`, EVE);
      answers.push(...(await world.subscribes(eve, CHAT)));
      eve.subscribe(ROOM);
      eve.vanish();
    }
    expect(answers).toEqual([...new Array(UNSEEN_TIMES_BURST).fill("ack"), "action_not_permitted"]);
  });
});

test("a visitor in the lobby is in no room: it waits for as long as it likes", async () => {
  const world = new Trial();
  const bob = await world.enter("bob", { kind: "wait" });
  expect(await world.subscribes(bob, waitChannel(ROOM_ID, "bob"))).toEqual(["ack"]);
  await world.pass(3 * UNSEEN_MS);
  expect(ended(bob)).toEqual([]);
});
