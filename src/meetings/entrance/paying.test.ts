import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { JoinRequest } from "../contract/contract.ts";
import { APP, callerAt, NO_LIMITS, World } from "../testing/world.ts";

test("a guest pays before its name is read, also with a ticket that is none", async () => {
  const world = await World.open();
  const { rooms, meetings } = world.node();
  const app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
  await world.room(rooms);
  await world.room(rooms, { roomName: "private", privacy: "private" });
  const paid = new Error("paid");
  const guest = (): never => {
    throw paid;
  };
  for (const room of ["standup", "private"]) {
    const request = { name: "x".repeat(65), ticket: "none" };
    await expect(meetings.join(app, room, request, callerAt("a", { ...NO_LIMITS, guest }))).rejects.toBe(paid);
  }
  await world.close();
});

describe("an access token that lets no one into the room", () => {
  let world: World;
  let node: ReturnType<World["node"]>;
  beforeEach(async () => {
    world = await World.open();
    node = world.node();
    await world.room(node.rooms);
    await world.room(node.rooms, { roomName: "private", privacy: "private" });
    await world.room(node.rooms, { roomName: "other" });
  });
  afterEach(() => world.close());

  const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
    new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app: world.app, generation: 1 }, request);

  /** Who has paid for a join. */
  let joins = 0;
  const payers = async (room: string, request: JoinRequest): Promise<string[]> => {
    const paid: string[] = [];
    const guestOf = (): (() => void) => {
      paid.push("room");
      return () => undefined;
    };
    const budget = { ...NO_LIMITS, guest: () => void paid.push("address"), guestOf };
    await node.meetings.join(world.app, room, request, callerAt(`address ${++joins}`, budget));
    return paid;
  };

  test.each(["standup", "private"])(
    "is paid for by the address too, before the guests of the room: %s",
    async (room) => {
      const expireUnixSec = Math.floor(world.now / 1000) + 60;
      const tokens = [await mint({ roomName: "other" }), await mint({ roomName: "other", expireUnixSec })];
      world.now += 61_000;
      for (const token of tokens)
        for (const ticket of [undefined, "none"])
          expect(await payers(room, { token, ticket })).toEqual(["address", "room"]);
      await node.rooms.archive(APP, "other");
      expect(await payers(room, { token: tokens[0] })).toEqual(["address", "room"]);
    },
  );

  test.each(["standup", "private"])("is not one of the room, which no guest pays for: %s", async (room) => {
    expect(await payers(room, { token: await mint({ roomName: room }) })).toEqual([]);
    expect(await payers(room, { token: await mint({ roomName: room }), ticket: "none" })).toEqual([]);
  });
});
