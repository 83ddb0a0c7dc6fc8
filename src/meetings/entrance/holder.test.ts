/** What an access token makes of its holder: at the door, and inside. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type AccessTokenRequest, AccessTokens } from "../../rooms/access-token.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Joined, JoinRequest, Waiting } from "../contract/contract.ts";
import { APP, callerAt, NO_LIMITS, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let app: AppRow;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
});
afterEach(() => world.close());

const mint = (request: AccessTokenRequest): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app, generation: 1 }, request);
const join = (request: JoinRequest): Promise<Joined | Waiting> =>
  node.meetings.join(app, "standup", request, callerAt());
const seconds = (): number => Math.floor(world.now / 1000);

describe("an access token", () => {
  test("makes its holder a host, and no guest, also without a name", async () => {
    await world.room(node.rooms);
    const token = await mint({ roomName: "standup", isAdmin: true });
    expect(await join({ token, name: "Ada" })).toMatchObject({ name: "Ada", isAdmin: true, isGuest: false });
    expect(await join({ token })).toMatchObject({ name: "Host", isAdmin: true, isGuest: false });
    expect(await join({})).toMatchObject({ name: "Guest", isAdmin: false, isGuest: true });
  });

  test("shown at the door says how its holder would enter, or why not", async () => {
    await world.room(node.rooms, { privacy: "private" });
    await world.room(node.rooms, { roomName: "open" });
    const door = async (roomName: string, data: AccessTokenRequest) =>
      (await node.meetings.door(app, roomName, NO_LIMITS, await mint(data))).you;
    const named = { roomName: "standup", name: "Ada\u202e", isAdmin: true };
    expect(await door("standup", named)).toEqual({ name: "Ada", isAdmin: true, isInvited: true });
    expect(await door("standup", { roomName: "standup" })).toEqual({ isAdmin: false, isInvited: true });
    // As a join: the name counts in a public room, and nothing does in a private one.
    expect(await door("open", named)).toEqual({ name: "Ada", isAdmin: false, isInvited: false });
    expect(await door("standup", { roomName: "open", name: "Ada" })).toEqual({ isAdmin: false, isInvited: false });
    expect((await node.meetings.door(app, "standup", NO_LIMITS)).you).toBeUndefined();
    const token = await mint({ roomName: "standup", expireUnixSec: seconds() + 60 });
    world.now += 60_000;
    const expired = { code: "room_over", more: { fields: { over: "token" } } };
    await expect(node.meetings.door(app, "standup", NO_LIMITS, token)).rejects.toMatchObject(expired);
    await expect(join({ token })).rejects.toMatchObject(expired);
    await expect(node.meetings.door(app, "standup", NO_LIMITS, "x.y.z")).rejects.toMatchObject({
      code: "invalid_access_token",
    });
  });
});
