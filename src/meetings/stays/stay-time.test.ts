/** A stay whose time is over, and that no node puts out: it has no connection, or its node cannot write. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { seatOf } from "../../access/tokens/room-token.ts";
import { AccessTokens } from "../../rooms/access-token.ts";
import type { Joined } from "../contract/contract.ts";
import { APP, callerAt, type Someone, World } from "../testing/world.ts";
import { StayRecorders } from "./recorders.ts";

const LIMIT = { ejectAfterElapsedTimeInSec: 60 };
const OVER = { code: "room_over", more: { fields: { over: "stay" } } };
const NOT_PERMITTED = { code: "action_not_permitted" };

let world: World;
let node: ReturnType<World["node"]>;
let accessToken: string;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  await world.room(node.rooms, { enableRecording: true });
  accessToken = await new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint(
    { app: world.app, generation: 1 },
    { roomName: "standup", isAdmin: true, ...LIMIT },
  );
});
afterEach(async () => {
  await node.meetings.stop();
  expect(world.failures).toEqual([]);
  await world.close();
});

async function join(request: { token?: string; resume?: string } = {}): Promise<Joined> {
  const joined = await node.meetings.join(world.app, "standup", request, callerAt());
  if ("waiting" in joined) throw new Error("waits in the lobby");
  return joined;
}

/** Enters, and loses its connection. */
async function lost(token?: string): Promise<Someone> {
  const one = await world.take(node, await join(token === undefined ? {} : { token }));
  node.meetings.disconnected(one.seat, one.connection, "lost");
  await node.meetings.stop();
  return one;
}

const lock = ({ token }: Someone): Promise<void> => node.services.acts.act(APP, "standup", token, { do: "lock" });

function beginUpload({ token }: Someone, startedMsAgo: number): Promise<unknown> {
  const recorders = new StayRecorders({
    store: world.store.meetings,
    stayTokens: node.services.stayTokens,
    nowMs: world.nowMs,
    uploads: { keptMs: 1_800_000, begin: async () => ({ id: "upload" }), sentAll: async () => undefined },
  });
  return recorders.begin(APP, "standup", { token, address: "a" }, { source: "camera", startedMsAgo });
}

describe("a stay without a connection whose time is over", () => {
  test("does not act", async () => {
    const ada = await lost(accessToken);
    world.now += 59_999;
    await lock(ada);
    world.now += 1;
    for (const request of ["lock", "end", "record"] as const)
      await expect(node.services.acts.act(APP, "standup", ada.token, { do: request })).rejects.toMatchObject(
        NOT_PERMITTED,
      );
  });

  test("does not come back", async () => {
    const ada = await lost(accessToken);
    const seat = seatOf(ada.seat.claims);
    world.now += 59_999;
    await node.meetings.check(seat);
    world.now += 1;
    await expect(node.meetings.check(seat)).rejects.toMatchObject(OVER);
    await expect(node.meetings.enter(seat)).rejects.toMatchObject(OVER);
    await expect(world.connect(world.node().meetings, ada.seat.claims)).rejects.toMatchObject(OVER);
  });

  test("does not go on with a join, which is one like any other", async () => {
    const ada = await lost(accessToken);
    world.now += 59_999;
    expect(await join({ token: accessToken, resume: ada.token })).toMatchObject({ participantSession: ada.id });
    world.now += 1;
    await expect(join({ token: accessToken, resume: ada.token })).rejects.toMatchObject(OVER);
    const guest = await join({ resume: ada.token });
    expect(guest).toMatchObject({ isAdmin: false, isGuest: true });
    expect(guest.participantSession).not.toBe(ada.id);
  });

  test("begins no upload of what was recorded after that", async () => {
    const ada = await lost(accessToken);
    await node.services.acts.record(APP, "standup", true);
    world.now += 59_999;
    await beginUpload(ada, 0);
    world.now += 10_000;
    await expect(beginUpload(ada, 0)).rejects.toMatchObject(NOT_PERMITTED);
    await expect(beginUpload(ada, 9998)).rejects.toMatchObject(NOT_PERMITTED);
    await beginUpload(ada, 9999);
  });
});

test("the time of an access token counts from its first entry, whichever of its stays comes", async () => {
  await lost(accessToken);
  world.now += 30_000;
  const second = await lost(accessToken);
  world.now += 30_000;
  await expect(lock(second)).rejects.toMatchObject(NOT_PERMITTED);
  await expect(node.meetings.enter(seatOf(second.seat.claims))).rejects.toMatchObject(OVER);
});

test("the room as it is now decides, and not as it was when the stay came in", async () => {
  await node.rooms.update(APP, "standup", LIMIT);
  const ada = await world.take(node, await join());
  const rename = (name: string): Promise<void> =>
    node.services.acts.act(APP, "standup", ada.token, { do: "rename", name });
  await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: 120 });
  world.now += 60_000;
  await rename("Ann");
  const { participantSession, ejectAt } = await join({ resume: ada.token });
  expect([participantSession, ejectAt]).toEqual([ada.id, world.now / 1000 + 60]);
  await node.rooms.update(APP, "standup", LIMIT);
  await expect(rename("Bea")).rejects.toMatchObject(NOT_PERMITTED);
  await node.rooms.update(APP, "standup", { ejectAfterElapsedTimeInSec: null });
  await rename("Bea");
});
