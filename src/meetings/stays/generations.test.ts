/** The secret key of the application is rotated while people are inside, on their way in, or in the lobby. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type AccessTokenRequest, AccessTokens } from "../../rooms/access-token.ts";
import type { Joined, JoinRequest, Waiting } from "../contract/contract.ts";
import { APP, callerAt, type Someone, World } from "../testing/world.ts";
import { StayRecorders } from "./recorders.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
beforeEach(async () => {
  world = await World.open();
  node = world.node();
  other = world.node();
});
afterEach(async () => {
  await Promise.all([node.services.stop(), other.services.stop()]);
  expect(world.failures).toEqual([]);
  await world.close();
});

const mint = (request: AccessTokenRequest = { roomName: "standup", isAdmin: true }): Promise<string> =>
  new AccessTokens(world.store.rooms, world.vault, world.nowMs).mint(
    { app: world.app, generation: world.app.secretSeq },
    request,
  );
const join = (request: JoinRequest): Promise<Joined | Waiting> =>
  node.meetings.join(world.app, "standup", request, callerAt());
const enter = async (request: JoinRequest, on = node): Promise<Someone> =>
  world.take(on, (await join(request)) as Joined);
const tick = async (): Promise<void> => {
  await node.services.tick();
  await other.services.tick();
};

describe("a rotation", () => {
  test("without grace ends every stay, of guests too, on the node of its connection", async () => {
    const room = await world.room(node.rooms);
    const host = await enter({ token: await mint() });
    const guest = await enter({ name: "Eve" }, other);
    await tick();
    expect([node.floor.closed, other.floor.closed]).toEqual([[], []]);
    world.rotate();
    await other.services.tick();
    expect(other.floor.closed).toEqual([{ peerId: guest.id, reason: "ended" }]);
    await node.services.tick();
    expect(node.floor.closed).toContainEqual({ peerId: host.id, reason: "ended" });
    for (const { id } of [host, guest])
      expect(await world.store.meetings.stay(id)).toMatchObject({ why: "ended", ended: world.now });
    expect(world.floors.on(`${room.id}/room`)).toContainEqual({
      notice: "ending",
      participantSession: guest.id,
      inSec: 0,
    });
  });

  test("closes the connections also while no node can reach the store", async () => {
    await world.room(node.rooms);
    const host = await enter({ token: await mint() });
    const { meetings } = world.store;
    const end = meetings.end.bind(meetings);
    meetings.end = () => Promise.reject(new Error("away"));
    world.rotate();
    await node.services.tick();
    expect(node.floor.closed).toContainEqual({ peerId: host.id, reason: "ended" });
    meetings.end = end;
    await node.meetings.stop();
    expect(world.failures.splice(0)).not.toEqual([]);
    await node.meetings.upkeep.run(node.meetings.stays);
    await node.meetings.stop();
    expect(await meetings.stay(host.id)).toMatchObject({ why: "ended", ended: world.now });
  });

  test("with grace ends them when that is over, and none that began after it", async () => {
    await world.room(node.rooms);
    const before = await enter({ token: await mint() });
    world.rotate(60);
    const after = await enter({ token: await mint() });
    world.now += 59_999;
    await tick();
    expect(node.floor.closed).toEqual([]);
    world.now += 1;
    await tick();
    expect(node.floor.closed).toEqual([{ peerId: before.id, reason: "ended" }]);
    expect(await world.store.meetings.stay(after.id)).toMatchObject({ ended: null });
  });

  test("in the grace of the secret that its access token was made with, a stay ends with that, not later", async () => {
    await world.room(node.rooms);
    const token = await mint();
    world.rotate(60);
    const late = await enter({ token });
    world.now += 60_000;
    await tick();
    expect(node.floor.closed).toEqual([{ peerId: late.id, reason: "ended" }]);
  });
});

describe("what a stay can do after its secret key has ended", () => {
  test("is nothing: it neither acts nor records, and its token does not go on with it", async () => {
    await world.room(node.rooms, { enableRecording: true });
    const host = await enter({ token: await mint() });
    const uploads = { keptMs: 60_000, begin: async () => ({ id: "upload" }), sentAll: async () => undefined };
    const recorders = new StayRecorders({
      store: world.store.meetings,
      stayTokens: node.services.stayTokens,
      uploads,
      nowMs: world.nowMs,
    });
    await node.services.acts.act(APP, "standup", host.token, { do: "record" });
    expect(await recorders.begin(APP, "standup", { token: host.token, address: "a" }, { source: "camera" })).toEqual({
      id: "upload",
      generation: 1,
    });
    expect(await join({ resume: host.token })).toMatchObject({ participantSession: host.id, isAdmin: true });
    world.rotate();
    const gone = { code: "token_expired" };
    await expect(node.services.acts.act(APP, "standup", host.token, { do: "end" })).rejects.toMatchObject(gone);
    await expect(
      recorders.begin(APP, "standup", { token: host.token, address: "a" }, { source: "camera" }),
    ).rejects.toMatchObject(gone);
    await expect(recorders.sentAll(APP, "standup", host.token, "upload")).rejects.toMatchObject(gone);
    const asGuest = (await join({ resume: host.token, name: "Eve" })) as Joined;
    expect(asGuest).toMatchObject({ isAdmin: false, isGuest: true, name: "Eve" });
    expect(asGuest.participantSession).not.toBe(host.id);
  });

  test("leaves a place that a join has held to no one", async () => {
    await world.room(node.rooms);
    const { participantSession, connect } = (await join({ name: "Eve" })) as Joined;
    expect(await join({ resume: connect.token })).toMatchObject({ participantSession });
    world.rotate();
    expect(((await join({ resume: connect.token })) as Joined).participantSession).not.toBe(participantSession);
  });

  test("does not make someone who was removed unknown", async () => {
    await world.room(node.rooms);
    const host = await enter({ token: await mint() });
    const eve = await enter({ name: "Eve" });
    await node.services.acts.act(APP, "standup", host.token, { do: "remove", participantSession: eve.id });
    world.rotate();
    await expect(join({ resume: eve.token })).rejects.toMatchObject({ code: "removed" });
  });
});

describe("a ticket of the lobby", () => {
  test("that an admin of the old secret let in opens nothing after it", async () => {
    const room = await world.room(node.rooms, { privacy: "private" });
    const eve = await world.wait(node, room, "Eve");
    await node.services.lobby.decide({ app: APP, room: room.id }, eve.id, "admitted");
    expect(await join({ ticket: eve.ticket })).toMatchObject({ name: "Eve", isGuest: true });
    world.rotate();
    const asked = (await join({ ticket: eve.ticket, name: "Eve" })) as Waiting;
    expect(asked.waiting).toBeTrue();
    expect(asked.ticket).not.toBe(eve.ticket);
  });

  test("ends with its connection, and leaves the queue", async () => {
    const room = await world.room(node.rooms, { privacy: "private" });
    const eve = await world.wait(node, room, "Eve");
    world.rotate();
    const bob = await world.wait(node, room, "Bob");
    await node.services.lobby.sweep();
    expect(node.floor.closed).toEqual([{ peerId: eve.id, reason: "ended" }]);
    expect((await world.store.meetings.waiting(APP, room.id)).map(({ waitId }) => waitId)).toEqual([bob.id]);
  });

  test("gives a stay that ends with the ticket's own generation", async () => {
    const room = await world.room(node.rooms, { privacy: "private" });
    const eve = await world.wait(node, room, "Eve");
    await node.services.lobby.decide({ app: APP, room: room.id }, eve.id, "admitted");
    world.rotate(60);
    const inside = await enter({ ticket: eve.ticket });
    expect(inside.seat.claims.gen).toBe(1);
  });
});
