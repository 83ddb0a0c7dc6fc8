/** What callers of one IPv6 site can take of a room, and what those whom the application vouches for have before them. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import type { Joined, JoinRequest } from "../contract/contract.ts";
import { LOBBY_ADDRESS_MAX, LOBBY_SITE_MAX } from "../contract/limits.ts";
import { callerAt, World, type WorldNode } from "../testing/world.ts";

let world: World;
let node: WorldNode & { readonly rooms: Rooms };
beforeEach(async () => {
  world = await World.open();
  node = world.node();
});
afterEach(async () => {
  expect(world.failures).toEqual([]);
  await world.close();
});

const join = async (address: string, site?: string, request: JoinRequest = {}): Promise<Joined> =>
  (await node.meetings.join(world.app, "standup", request, { ...callerAt(address), site })) as Joined;
const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app: world.app, generation: 1 }, request);
const refused = (code: string) => expect.objectContaining({ code });

test("a lobby has ten of one site, from whichever of its networks they come", async () => {
  await world.room(node.rooms, { privacy: "private" });
  for (let n = 0; n < LOBBY_SITE_MAX; n++)
    await join(`network ${Math.floor(n / LOBBY_ADDRESS_MAX)}`, "site", { name: `${n}` });
  await expect(join("another network", "site")).rejects.toEqual(refused("lobby_full"));
  expect(await join("far", "another site")).toMatchObject({ waiting: true });
  expect(await join("an IPv4 address")).toMatchObject({ waiting: true });
});

describe("a held place", () => {
  test("is one of two that guests of a site hold: for a third, the oldest is given up", async () => {
    await world.room(node.rooms, { maxParticipants: 3 });
    const flood: Joined[] = [];
    for (let n = 0; n < 6; n++) flood.push(await join(`network ${n}`, "site"));
    await world.take(node, await join("far", "another site"));
    await expect(world.take(node, flood[0] as Joined)).rejects.toEqual(refused("room_full"));
    await world.take(node, flood[5] as Joined);
  });

  test("of a guest is taken by an admin with an access token; a room full of stays is full", async () => {
    await world.room(node.rooms, { maxParticipants: 2 });
    const token = await mint({ roomName: "standup", isAdmin: true });
    const guests = [await join("one", "site"), await join("two", "another site")];
    await expect(join("three")).rejects.toEqual(refused("room_full"));
    await world.take(node, await join("four", undefined, { token }));
    await expect(world.take(node, guests[0] as Joined)).rejects.toEqual(refused("room_full"));
    await world.take(node, guests[1] as Joined);
    await expect(join("four", undefined, { token })).rejects.toEqual(refused("room_full"));
  });

  test("of a person with a token of another room is a guest's: one site holds two, and the host takes them", async () => {
    await world.room(node.rooms, { maxParticipants: 2 });
    await world.room(node.rooms, { roomName: "other" });
    const token = await mint({ roomName: "other", name: "Eve" });
    const another = await mint({ roomName: "other", name: "Eve too" });
    const ofSite = [await join("network 1", "site", { token }), await join("network 2", "site", { token: another })];
    await join("network 3", "site", { token });
    await expect(join("far", "another site", { token })).rejects.toEqual(refused("room_full"));
    const host = await join("host", undefined, { token: await mint({ roomName: "standup", isAdmin: true }) });
    await world.take(node, host);
    await expect(world.take(node, ofSite[0] as Joined)).rejects.toEqual(refused("room_full"));
  });

  test("of a person with an access token is kept, whatever guests of the same site do", async () => {
    await world.room(node.rooms, { maxParticipants: 3 });
    const ada = await join("network", "site", { token: await mint({ roomName: "standup", name: "Ada" }) });
    for (let n = 0; n < 6; n++) await join("network", "site");
    await expect(join("far")).rejects.toEqual(refused("room_full"));
    await world.take(node, ada);
  });

  test("is one of two of an access token at one site, too", async () => {
    await world.room(node.rooms, { maxParticipants: 3 });
    const token = await mint({ roomName: "standup", name: "Ada" });
    for (let n = 0; n < 6; n++) await join(`network ${n}`, "site", { token });
    await world.take(node, await join("far"));
  });

  test("of a visitor who was let in is taken from a guest, and by none", async () => {
    const room = await world.room(node.rooms, { privacy: "private", maxParticipants: 1 });
    const bob = await world.wait(node, room);
    await node.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "admitted");
    await world.store.meetings.reserve(room.app, room.id, "guest", 1, world.now + 15_000, world.now, {
      name: "guest",
      isVerified: false,
    });
    const joined = await join("bob", undefined, { ticket: bob.ticket });
    const token = await mint({ roomName: "standup", isAdmin: true });
    await expect(join("admin", undefined, { token })).rejects.toEqual(refused("room_full"));
    await world.take(node, joined);
  });
});

test("the relays of a guest are counted for its site, as its places are", async () => {
  await world.room(node.rooms);
  const counted: string[] = [];
  world.iceServers = (_claims, holder) => {
    counted.push(holder);
    return [];
  };
  await join("network 1", "site");
  await join("network 2", "site");
  await join("an IPv4 address");
  expect(counted).toEqual(["site", "site", "an IPv4 address"]);
});
