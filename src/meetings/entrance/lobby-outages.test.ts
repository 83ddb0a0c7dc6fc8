/** Visitors of a lobby while the store is unreachable, for all nodes or for theirs: it cannot be noted meanwhile that they are connected. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { nextTurn } from "../../../test/support/wait.ts";
import type { WaitingRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import { LOBBY_GONE_MS, LOBBY_SWEEP_EVERY_MS, SWEEP_ROWS } from "../contract/limits.ts";
import { World, type WorldNode } from "../testing/world.ts";

let world: World;
let node: ReturnType<World["node"]>;
let other: ReturnType<World["node"]>;
let room: RoomRow;
let isStoreUnavailable = false;
beforeEach(async () => {
  isStoreUnavailable = false;
  world = await World.open();
  node = world.node();
  other = world.node();
  room = await world.room(node.rooms, { privacy: "private" });
  const { meetings } = world.store;
  for (const name of ["setSeen", "waitingOne", "forgetWaiting", "unseen", "forgetUnseen"] as const) {
    const call = meetings[name].bind(meetings) as (...args: unknown[]) => Promise<never>;
    spyOn(meetings, name).mockImplementation(async (...args: unknown[]) => {
      if (isStoreUnavailable) throw new StoreUnreachable("unreachable for this test");
      return call(...args);
    });
  }
});
afterEach(() => world.close());

/** Both nodes sweep every two seconds; the one without the visitor first. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOBBY_SWEEP_EVERY_MS) {
    world.now += LOBBY_SWEEP_EVERY_MS;
    for (const one of [other, node]) await sweep(one);
  }
}

const sweep = ({ services }: WorldNode): Promise<void> =>
  services.lobby.sweep().catch((error: unknown) => expect(error).toBeInstanceOf(StoreUnreachable));

/** As `pass`, but the node with the visitor cannot reach the store. */
async function passWithout(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOBBY_SWEEP_EVERY_MS) {
    world.now += LOBBY_SWEEP_EVERY_MS;
    await sweep(other);
    isStoreUnavailable = true;
    await sweep(node);
    isStoreUnavailable = false;
  }
}

const waiting = async (): Promise<string[]> =>
  (await world.store.meetings.waiting(room.app, room.id)).map(({ waitId }) => waitId);

describe("an outage of the store", () => {
  test.each([10, 26, 30, 40, 300])("of %i s: a visitor whose page is connected keeps its place", async (seconds) => {
    const bob = await world.wait(node, room, "Bob");
    await pass(14_000);
    isStoreUnavailable = true;
    await pass(seconds * 1000);
    isStoreUnavailable = false;
    await pass(2 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([bob.id]);
    expect(node.floor.closed).toEqual([]);
  });

  test("a visitor whose page is gone is forgotten after it", async () => {
    const bob = await world.wait(node, room, "Bob");
    isStoreUnavailable = true;
    await pass(LOBBY_GONE_MS);
    isStoreUnavailable = false;
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    await pass(LOBBY_GONE_MS - LOBBY_SWEEP_EVERY_MS);
    expect(await waiting()).toEqual([bob.id]);
    await pass(2 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([]);
  });

  test("a visitor whose secret key ends meanwhile is disconnected, and its place is gone", async () => {
    const bob = await world.wait(node, room, "Bob");
    world.rotate(10);
    isStoreUnavailable = true;
    await pass(14_000);
    expect(node.floor.closed.map(({ peerId }) => peerId)).toEqual([bob.id]);
    isStoreUnavailable = false;
    await pass(3 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([]);
  });
});

describe("one node that cannot reach the store", () => {
  // Long enough after the start: no node is patient any more.
  beforeEach(() => pass(2 * LOBBY_GONE_MS));

  test("its visitors keep their places, and can be let in by another one", async () => {
    const bob = await world.wait(node, room, "Bob");
    await passWithout(5 * LOBBY_GONE_MS);
    expect(await waiting()).toEqual([bob.id]);
    await other.services.lobby.decide({ app: room.app, room: room.id }, bob.id, "admitted");
    expect(await other.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "admitted" });
  });

  test("after it, a visitor who has waited meanwhile stays connected", async () => {
    const bob = await world.wait(node, room, "Bob");
    await passWithout(2 * LOBBY_GONE_MS);
    await pass(3 * LOBBY_GONE_MS);
    expect(node.floor.closed).toEqual([]);
    expect(await waiting()).toEqual([bob.id]);
  });

  test("one whose page was not noted for too long may come back by another node before the next sweep", async () => {
    const bob = await world.wait(node, room, "Bob");
    world.now += LOBBY_GONE_MS + 1;
    expect(await other.services.lobby.placeOf(room, bob.ticket)).toMatchObject({ state: "waiting" });
    await expect(other.services.lobby.check(bob.seat.claims)).resolves.toMatchObject({ waitId: bob.id });
  });

  test("a visitor whose page is gone from it, and one whose node is gone too, are forgotten", async () => {
    const [bob, eve] = [await world.wait(node, room, "Bob", "a"), await world.wait(node, room, "Eve", "b")];
    isStoreUnavailable = true;
    node.meetings.disconnected(bob.seat, bob.connection, "lost");
    await nextTurn();
    isStoreUnavailable = false;
    await passWithout(LOBBY_GONE_MS + LOBBY_SWEEP_EVERY_MS);
    expect(await waiting()).toEqual([eve.id]);
    world.kill(node);
    await passWithout(LOBBY_GONE_MS + LOBBY_SWEEP_EVERY_MS);
    expect(await waiting()).toEqual([]);
    expect(await other.services.lobby.placeOf(room, eve.ticket)).toBeUndefined();
  });

  test("all of very many who are gone are forgotten in one sweep, and none who is there", async () => {
    const bob = await world.wait(node, room, "Bob");
    const { meetings } = world.store;
    const row = (await meetings.waitingOne(bob.id)) as WaitingRow;
    const limits = { max: 1000, perAddress: 1000, perSite: 1000 };
    for (let n = 0; n < SWEEP_ROWS + 1; n++) await meetings.wait({ ...row, waitId: `gone-${n}` }, limits);
    world.now += LOBBY_GONE_MS + 1;
    await sweep(other);
    expect(await waiting()).toEqual([bob.id]);
  });
});
