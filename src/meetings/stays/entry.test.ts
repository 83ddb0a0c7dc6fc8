/** Between a join and its connect the room may change: it lets in whom it would let join now. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { RoomEdits } from "../../rooms/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Joined, JoinRequest, Waiting } from "../contract/contract.ts";
import { APP, callerAt, World } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let app: AppRow;
let addresses = 0;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  app = (await world.store.apps()).find(({ id }) => id === APP) as AppRow;
});
afterEach(() => world.close());

const mint = (request: Parameters<AccessTokens["mint"]>[1]): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint({ app, generation: 1 }, request);
const seconds = (): number => Math.floor(world.now / 1000);

const answer = (request: JoinRequest): Promise<Joined | Waiting> =>
  node.meetings.join(app, "standup", request, callerAt(`a${++addresses}`));

async function join(request: JoinRequest = {}): Promise<Joined> {
  const joined = await answer(request);
  if ("waiting" in joined) throw new Error("waits in the lobby");
  return joined;
}

/** "in", or the code of the refusal; the check over HTTP says the same. */
async function outcome(joined: Joined): Promise<string> {
  const claims = world.tokens.verify(joined.connect.token, world.now);
  if (claims === undefined || claims === "expired") throw new Error("the connect token is not valid");
  const codeOf = (error: { readonly code: string }): string => error.code;
  const seat = { claims, name: claims.name, access: undefined as never };
  const checked = await node.meetings.check(seat).then(() => "in", codeOf);
  const entered = await world.take(node, joined).then(() => "in", codeOf);
  expect(checked).toBe(entered);
  return entered;
}

/** Who comes with which right, each with a place. */
async function everyone(): Promise<Record<string, Joined>> {
  const inSec = (sec: number): number => seconds() + sec;
  return {
    guest: await join(),
    token: await join({ token: await mint({ roomName: "standup" }) }),
    ownTimes: await join({
      token: await mint({ roomName: "standup", notBeforeUnixSec: 1, expireUnixSec: inSec(3600) }),
    }),
    global: await join({ token: await mint({ globalToken: true }) }),
    otherRoom: await join({ token: await mint({ roomName: "other", name: "Eve" }) }),
  };
}

async function outcomes(people: Record<string, Joined>): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [who, joined] of Object.entries(people)) found[who] = await outcome(joined);
  return found;
}

describe("a place that is held while the room", () => {
  beforeEach(async () => {
    await world.room(node.rooms);
    await world.room(node.rooms, { roomName: "other" });
  });
  const change = (edits: RoomEdits): Promise<unknown> => node.rooms.update(APP, "standup", edits);

  test("does not change is entered", async () => {
    const all = { guest: "in", token: "in", ownTimes: "in", global: "in", otherRoom: "in" };
    expect(await outcomes(await everyone())).toEqual(all);
  });

  test("ends is lost, except with a token that has its own end", async () => {
    const people = await everyone();
    await change({ expireUnixSec: seconds() - 1 });
    const over = { guest: "room_over", token: "room_over", global: "room_over", otherRoom: "room_over" };
    expect(await outcomes(people)).toEqual({ ...over, ownTimes: "in" });
  });

  test("is put off is lost, except with a token that has its own beginning", async () => {
    const people = await everyone();
    await change({ notBeforeUnixSec: seconds() + 3600 });
    const early = { guest: "room_not_open", token: "room_not_open", global: "room_not_open" };
    expect(await outcomes(people)).toEqual({ ...early, otherRoom: "room_not_open", ownTimes: "in" });
  });

  test("becomes private is lost, except with a token for it", async () => {
    const people = await everyone();
    await change({ privacy: "private" });
    const refused = { guest: "token_required", otherRoom: "token_required" };
    expect(await outcomes(people)).toEqual({ ...refused, token: "in", ownTimes: "in", global: "in" });
  });

  test("is archived is lost for everyone", async () => {
    const people = await everyone();
    await node.rooms.archive(APP, "standup");
    expect(new Set(Object.values(await outcomes(people)))).toEqual(new Set(["room_not_found"]));
  });

  test("is locked is lost, except for an admin", async () => {
    const host = await join({ token: await mint({ roomName: "standup", isAdmin: true }) });
    await world.take(node, host);
    const people = { guest: await join(), token: await join({ token: await mint({ roomName: "standup" }) }) };
    const admin = await join({ token: await mint({ roomName: "standup", isAdmin: true, name: "Second" }) });
    await node.services.acts.act(APP, "standup", host.connect.token, { do: "lock" });
    expect(await outcomes({ ...people, admin })).toEqual({ guest: "room_locked", token: "room_locked", admin: "in" });
  });

  test("gets a lower cap is lost where the cap is reached", async () => {
    await world.take(node, await join());
    const late = await join();
    await change({ maxParticipants: 1 });
    expect(await outcome(late)).toBe("room_full");
  });

  test("gets a time per person that is over for its token is lost", async () => {
    const token = await mint({ roomName: "standup", expireUnixSec: seconds() + 3600 });
    await world.take(node, await join({ token }));
    const second = await join({ token });
    world.now += 10_000;
    await change({ ejectAfterElapsedTimeInSec: 5 });
    expect(await outcome(second)).toBe("room_over");
  });
});

test("a token that expires between join and connect does not open the room any more", async () => {
  await world.room(node.rooms, { privacy: "private" });
  const joined = await join({ token: await mint({ roomName: "standup", expireUnixSec: seconds() + 5 }) });
  world.now += 5000;
  await expect(world.take(node, joined)).rejects.toMatchObject({
    code: "room_over",
    message: "The access token has expired.",
  });
});

test("a visitor who was let in enters a private room, and one that is over by then does not", async () => {
  const room = await world.room(node.rooms, { privacy: "private" });
  const letIn = async (): Promise<Joined> => {
    const visitor = await world.wait(node, room, "Bob", `address ${++addresses}`);
    await node.services.lobby.decide({ app: APP, room: room.id }, visitor.id, "admitted");
    return join({ ticket: visitor.ticket });
  };
  const [first, second] = [await letIn(), await letIn()];
  await node.rooms.update(APP, "standup", { enableRequestToJoin: false });
  expect(await outcome(first)).toBe("in");
  await node.rooms.update(APP, "standup", { expireUnixSec: seconds() - 1 });
  expect(await outcome(second)).toBe("room_over");
});

test("a room can be entered after meetings that were held before and after the clock was set back", async () => {
  await world.room(node.rooms);
  for (const backMs of [0, 3_600_000, 0]) {
    world.now -= backMs;
    expect(await outcome(await join())).toBe("in");
    expect(await node.services.acts.end(APP, "standup")).toBe(1);
  }
  expect((await world.store.meetings.meetings(APP, { limit: 9 }))?.total).toBe(3);
});

test.each([true, false])(
  "the check says that a place was taken by others who only hold theirs; a meeting: %s",
  async (isOn) => {
    await world.room(node.rooms, { maxParticipants: isOn ? 2 : 1 });
    if (isOn) await world.take(node, await join());
    const guest = await join();
    const host = await join({ token: await mint({ roomName: "standup", isAdmin: true }) });
    expect(await outcome(guest)).toBe("room_full");
    expect(await outcome(host)).toBe("in");
  },
);
