/** What a person can use up who leaves and joins again and again: each join makes another participantSession. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { inboxChannel } from "../../protocol/room-channels.ts";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import type { Joined, JoinRequest } from "../contract/contract.ts";
import { ROOM_SIGNALS_BYTES_PER_MINUTE, SENDER_SIGNALS_BYTES_PER_MINUTE } from "../contract/limits.ts";
import { callerAt, type Someone, World, type WorldNode } from "../testing/world.ts";

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

const enter = async (address: string, request: JoinRequest = {}): Promise<Someone> =>
  world.take(node, (await node.meetings.join(world.app, "standup", request, callerAt(address))) as Joined);
const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app: world.app, generation: 1 }, request);

const candidate = (bytes: number): string => JSON.stringify({ candidate: { candidate: "x".repeat(bytes) } });
const JOINS = (2 * ROOM_SIGNALS_BYTES_PER_MINUTE) / SENDER_SIGNALS_BYTES_PER_MINUTE;

test("a guest, and an invited person, leave the others what they need for their signals", async () => {
  const room = await world.room(node.rooms);
  const signal = async (from: Someone, to: Someone, bytes = 10_000): Promise<string | undefined> =>
    (await node.meetings.refusalOfMessage(from.seat, inboxChannel(room.id, to.id), candidate(bytes)))?.code;
  const host = await enter("office", { token: await mint({ roomName: "standup", isAdmin: true }) });
  const bob = await enter("home");
  for (const request of [{}, { token: await mint({ roomName: "standup", name: "Eve" }) }]) {
    world.now += 60_000;
    for (let nr = 0; nr < JOINS; nr++) {
      // Also from the host's own address.
      const eve = await enter("office", request);
      while ((await signal(eve, eve, 30_000)) === undefined);
      node.meetings.disconnected(eve.seat, eve.connection, "goodbye");
    }
    expect([await signal(host, bob), await signal(bob, host)]).toEqual([undefined, undefined]);
    const last = await enter("office", request);
    expect(await signal(last, bob, 30_000)).toBe("rate_limited");
    node.meetings.disconnected(last.seat, last.connection, "goodbye");
  }
});
