import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { DECLINED_MS, LOBBY_ADDRESS_MAX, LOBBY_GONE_MS, LOBBY_MAX, WAIT_MAX_SEC } from "../contract/limits.ts";
import { World } from "../testing/world.ts";
import { waitIdOf } from "./tickets.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms, { privacy: "private" });
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const queue = (): string[] | undefined => {
  const last = world.floors.on("/admin").at(-1);
  return (last?.queue as { readonly name: string }[] | undefined)?.map(({ name }) => name);
};
const shown = (names: readonly string[]): Promise<unknown> =>
  until(`the queue ${names.join()}`, () => Bun.deepEquals(queue(), names));
const answers = (waitId: string): JsonObject[] => world.floors.on(`/wait/${waitId}`);

describe("the queue", () => {
  test("is shown as a whole on each change, oldest first, with waitId, name and time only", async () => {
    const bob = await world.wait(node, room, "Bob");
    world.now += 5;
    await world.wait(other, room, "Eve");
    await shown(["Bob", "Eve"]);
    expect(world.floors.on("/admin").at(-1)).toEqual({
      notice: "waiting",
      queue: [
        { waitId: bob.id, name: "Bob", since: world.now - 5 },
        { waitId: expect.any(String), name: "Eve", since: world.now },
      ],
    });
  });

  test("has no ticket in it, nor has the store or what is published", async () => {
    const bob = await world.wait(node, room, "Bob");
    await shown(["Bob"]);
    expect(JSON.stringify(world.floors.published)).toContain(bob.id);
    expect(JSON.stringify(world.floors.published)).not.toContain(bob.ticket);
    const rows = await world.store.meetings.waiting(room.app, room.id);
    expect(rows.map(({ waitId }) => waitId)).toEqual([bob.id]);
    expect(JSON.stringify(rows)).not.toContain(bob.ticket);
  });

  test("is kept while no admin is there, and shown to one that subscribes", async () => {
    await world.wait(node, room, "Bob");
    await shown(["Bob"]);
    world.floors.published.length = 0;
    const admin = await world.enter(other, room, { isAdmin: true });
    other.meetings.subscribed(admin.seat, `_parley/room/${room.id}/admin`);
    await shown(["Bob"]);
  });

  test("comes with the lock of the meeting, which an admin that comes later did not see", async () => {
    const admin = await world.enter(node, room, { isAdmin: true });
    const subscribe = (): void => node.meetings.subscribed(admin.seat, `_parley/room/${room.id}/admin`);
    const locks = (): unknown[] => world.floors.on("/room").filter(({ notice }) => notice === "locked");
    subscribe();
    await shown([]);
    expect(locks()).toEqual([]);
    const { id = "" } = (await world.store.meetings.current(room.app, room.id)) ?? {};
    await world.store.meetings.lock(id, true);
    subscribe();
    await until("the notice", () => locks().length > 0);
    expect(locks()).toEqual([{ notice: "locked", on: true }]);
  });

  test("is that of one room", async () => {
    const second = await world.room(node.rooms, { roomName: "second", privacy: "private" });
    await world.wait(node, room, "Bob");
    await world.wait(node, second, "Eve");
    await until("both", () => world.floors.on("/admin").length >= 2);
    for (const { channel, data } of world.floors.published.filter((one) => one.channel.endsWith("/admin")))
      expect((data.queue as object[]).length).toBe(channel.includes(room.id) || channel.includes(second.id) ? 1 : 0);
  });

  test("converges where two nodes read and publish it in different orders", async () => {
    const publish = other.floor.publish.bind(other.floor);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    other.floor.publish = async (...args) => {
      await late;
      return publish(...args);
    };
    await world.wait(other, room, "Bob");
    world.now += 1;
    await world.wait(node, room, "Eve");
    await shown(["Bob", "Eve"]);
    // The other node has read only Bob, and publishes that now.
    resolve();
    await until("the older one", () => world.floors.on("/admin").length >= 2);
    await shown(["Bob", "Eve"]);
  });
});

describe("an answer", () => {
  test("lets in: the page asks again with its ticket, and is gone from the queue", async () => {
    const bob = await world.wait(node, room);
    await other.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "admitted");
    expect(answers(bob.id)).toEqual([{ notice: "admitted" }]);
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "admitted" });
    await shown([]);
  });

  test("that lets in is good for 30 seconds, whatever becomes of the connection", async () => {
    const bob = await world.wait(node, room);
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    world.now += LOBBY_GONE_MS - 1000;
    await other.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "admitted");
    const back = await world.connect(node.meetings, bob.seat.claims);
    node.meetings.disconnected(back.seat, back.connection, "goodbye");
    world.now += LOBBY_GONE_MS - 1000;
    await other.services.lobby.sweep();
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "admitted" });
    world.now += 2000;
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toBeUndefined();
  });

  test("declines: the ticket cannot join for a minute", async () => {
    const bob = await world.wait(node, room);
    await other.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "declined");
    expect(answers(bob.id)).toEqual([{ notice: "declined", retryAfterSec: DECLINED_MS / 1000 }]);
    world.now += 20_500;
    // The page has reloaded or lost its connection: what is left of the wait is rounded up.
    node.meetings.subscribed(bob.seat, `_parley/room/${room.id}/wait/${bob.id}`);
    await until("the answer again", () => answers(bob.id).length > 1);
    expect(answers(bob.id).at(-1)).toEqual({ notice: "declined", retryAfterSec: 40 });
    world.now += DECLINED_MS - 20_501;
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "declined" });
    await expect(node.meetings.enter(bob.seat)).rejects.toMatchObject({ code: "declined", retryAfterSeconds: 1 });
    world.now += 1;
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toBeUndefined();
  });

  test("is given once", async () => {
    const bob = await world.wait(node, room);
    const ref = { app: room.app, room: room.id };
    await node.services.lobby.decide(ref, bob.id, "admitted");
    await expect(other.services.lobby.decide(ref, bob.id, "declined")).rejects.toMatchObject({
      code: "ticket_not_found",
    });
    expect(answers(bob.id)).toEqual([{ notice: "admitted" }]);
  });

  test("is not given to a visitor of another room", async () => {
    const second = await world.room(node.rooms, { roomName: "second", privacy: "private" });
    const bob = await world.wait(node, room);
    await expect(
      node.services.lobby.decide({ app: second.app, room: second.id }, bob.id, "admitted"),
    ).rejects.toMatchObject({ code: "ticket_not_found" });
    expect(await node.services.lobby.placeOf(second, bob.ticket)).toBeUndefined();
    expect(answers(bob.id)).toEqual([]);
  });

  test("is given by waitId, which is no ticket; and a ticket is no waitId", async () => {
    const ref = { app: room.app, room: room.id };
    const bob = await world.wait(node, room);
    await expect(node.services.lobby.decide(ref, bob.ticket, "admitted")).rejects.toMatchObject({
      code: "ticket_not_found",
    });
    expect(await node.services.lobby.placeOf(room, bob.id)).toBeUndefined();
    await node.services.lobby.decide(ref, bob.id, "admitted");
    expect(await node.services.lobby.placeOf(room, bob.id)).toBeUndefined();
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "admitted" });
  });

  test("that came before the page listened is repeated when it does", async () => {
    const bob = await world.wait(node, room);
    await node.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "admitted");
    world.floors.published.length = 0;
    node.services.lobby.answerWanted(bob.seat.claims);
    await until("the answer", () => answers(bob.id).length > 0);
    expect(answers(bob.id)).toEqual([{ notice: "admitted" }]);
  });
});

describe("a place in the lobby", () => {
  test("is kept while its page is there, and ends 30 seconds after it", async () => {
    const bob = await world.wait(node, room);
    for (let passed = 0; passed < 3 * LOBBY_GONE_MS; passed += LOBBY_GONE_MS / 3) {
      world.now += LOBBY_GONE_MS / 3;
      await node.services.lobby.sweep();
      await other.services.lobby.sweep();
    }
    expect(await other.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "waiting" });
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    world.now += LOBBY_GONE_MS;
    expect(await other.services.lobby.placeOf(room, bob.ticket)).toBeUndefined();
    world.now += 1;
    await other.services.lobby.sweep();
    await shown([]);
    await expect(node.meetings.enter(bob.seat)).rejects.toMatchObject({ code: "token_expired" });
  });

  test("goes on when the page is back, on any node", async () => {
    const bob = await world.wait(node, room);
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    world.now += LOBBY_GONE_MS - 1000;
    await world.connect(other.meetings, bob.seat.claims);
    world.now += 5000;
    await node.services.lobby.sweep();
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "waiting" });
  });

  test("is not kept by asking whether it is there", async () => {
    const bob = await world.wait(node, room);
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    world.now += LOBBY_GONE_MS - 1000;
    await node.meetings.check(bob.seat);
    world.now += 2000;
    await node.services.lobby.sweep();
    await expect(node.meetings.check(bob.seat)).rejects.toMatchObject({ code: "token_expired" });
  });

  test("of a second tab with the same ticket ends with the last of them", async () => {
    const bob = await world.wait(node, room);
    const secondTab = await world.connect(node.meetings, bob.seat.claims);
    node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "waiting" });
    node.meetings.disconnected(secondTab.seat, secondTab.connection, "goodbye");
    await shown([]);
  });

  test("ends at once with a goodbye", async () => {
    const bob = await world.wait(node, room, "Bob");
    await shown(["Bob"]);
    node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    await shown([]);
  });

  test("whose page never came ends too, and so does one of a node that was killed", async () => {
    await node.services.lobby.ask(room, { name: "Bob", address: "1", generation: 1 });
    await world.wait(node, room, "Eve");
    world.now += LOBBY_GONE_MS + 1;
    world.kill(node);
    await other.services.lobby.sweep();
    expect(await world.store.meetings.waiting(room.app, room.id)).toEqual([]);
  });

  test("ends after 30 minutes, with a word why and a close", async () => {
    const bob = await world.wait(node, room);
    for (let passed = 0; passed < WAIT_MAX_SEC; passed += 15) {
      world.now += 15_000;
      await node.services.lobby.sweep();
    }
    expect(answers(bob.id)).toEqual([
      { notice: "declined", reason: "time", text: expect.stringContaining("30 minutes") },
    ]);
    expect(node.floor.closed).toEqual([{ peerId: bob.id, reason: "time" }]);
    node.meetings.disconnected(bob.seat, bob.connection, "goodbye");
    expect(await node.services.lobby.placeOf(room, bob.ticket)).toBeUndefined();
  });
});

describe("flooding", () => {
  const ask = (name: string, address: string): Promise<string> =>
    node.services.lobby.ask(room, { name, address, generation: 1 });

  test("from one address: three wait, and those that were declined count for their minute", async () => {
    const tickets: string[] = [];
    for (let n = 0; n < LOBBY_ADDRESS_MAX; n++) tickets.push(await ask(`${n}`, "one"));
    const refusal = { code: "lobby_full", message: expect.stringContaining("3 from one address") };
    await expect(ask("more", "one")).rejects.toMatchObject(refusal);
    await ask("another person", "two");
    for (const ticket of tickets)
      await node.services.lobby.decide({ app: room.app, room: room.id }, waitIdOf(ticket), "declined");
    await expect(ask("again", "one")).rejects.toMatchObject(refusal);
    world.now += DECLINED_MS + 1;
    await node.services.lobby.sweep();
    await ask("later", "one");
  });

  test("from many addresses: fifty wait, and an admin sees few notices", async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: LOBBY_MAX + 10 }, (_, n) => ask(`visitor ${n}`, `address ${n}`)),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(LOBBY_MAX);
    await until("all of them", () => queue()?.length === LOBBY_MAX);
    expect(world.floors.on("/admin").length).toBeLessThan(10);
  });

  test("of the queue's channel: many subscribes are one notice", async () => {
    const admin = await world.enter(node, room, { isAdmin: true });
    for (let n = 0; n < 200; n++) node.services.lobby.queueWanted(admin.seat.claims);
    await until("a notice", () => world.floors.on("/admin").length > 0);
    expect(world.floors.on("/admin").length).toBeLessThan(3);
  });
});

describe("a person who waits", () => {
  const hosts = (waitId: string): unknown[] =>
    answers(waitId)
      .filter(({ notice }) => notice === "hosts")
      .map(({ inside }) => inside);
  const knows = (waitId: string, inside: boolean): Promise<unknown> =>
    until(`a host is inside: ${inside}`, () => hosts(waitId).at(-1) === inside);
  const listens = async (on: typeof node, name: string): Promise<string> => {
    const one = await world.wait(on, room, name, name);
    on.meetings.subscribed(one.seat, `_parley/room/${room.id}/wait/${one.id}`);
    return one.id;
  };

  test("is shown whether a host is there, also when one comes or goes on another node", async () => {
    const bob = await listens(node, "Bob");
    await knows(bob, false);
    const host = await world.enter(other, room, { isAdmin: true });
    await knows(bob, true);
    const eve = await listens(node, "Eve");
    await knows(eve, true);
    expect(answers(eve)).toEqual([{ notice: "hosts", inside: true }]);
    other.meetings.disconnected(host.seat, host.connection, "goodbye");
    await Promise.all([knows(bob, false), knows(eve, false)]);
  });

  test("hears nothing of guests, and a second host who leaves changes nothing", async () => {
    const bob = await listens(node, "Bob");
    await knows(bob, false);
    const guest = await world.enter(node, room);
    const host = await world.enter(node, room, { isAdmin: true });
    const second = await world.enter(other, room, { isAdmin: true });
    await knows(bob, true);
    other.meetings.disconnected(second.seat, second.connection, "goodbye");
    node.meetings.disconnected(guest.seat, guest.connection, "goodbye");
    node.meetings.disconnected(host.seat, host.connection, "goodbye");
    await knows(bob, false);
    expect(hosts(bob).filter((inside, at, all) => inside !== all[at - 1])).toEqual([false, true, false]);
  });
});
