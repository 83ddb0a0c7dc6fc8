/** Notices while nothing can be published, as during an outage of NATS: everyone gets what is true after it. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../../test/support/wait.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { adminChannel, waitChannel } from "../../protocol/room-channels.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { StayAct } from "../acts/acts.ts";
import { LOBBY_SWEEP_EVERY_MS, MISSED_MAX, MISSED_REPEATED_AT_ONCE, QUEUE_SETTLES_MS } from "../contract/limits.ts";
import { APP, type Someone, World } from "../testing/world.ts";
import { type Missed, MissedNotices } from "./missed.ts";

describe("what was missed", () => {
  const about = (room: number, app = APP): Missed => ({ room: { app, room: String(room) }, subject: "locked" });
  const failed = (error: unknown): void => {
    throw error;
  };

  test("is bounded, and kept once per subject", () => {
    const missed = new MissedNotices();
    for (let room = 0; room < MISSED_MAX + 5; room++) missed.add(about(room));
    missed.add(about(MISSED_MAX));
    expect(missed.size).toBe(MISSED_MAX);
  });

  test("of an application that has very many does not push out that of another, nor keep it waiting", async () => {
    const missed = new MissedNotices();
    missed.add(about(-1, anAppId("early")));
    for (let room = 0; room < MISSED_MAX + 5; room++) missed.add(about(room));
    missed.add(about(-2, anAppId("late")));
    const published: string[] = [];
    const publish = ({ room }: Missed): void => void published.push(room.room);
    await missed.repeat(publish, failed);
    // The one that was tried first shows that notices can be published again.
    expect(published).toEqual(["-1"]);
    await missed.repeat(publish, failed);
    expect([published.length, published.slice(0, 4)]).toEqual([1 + MISSED_REPEATED_AT_ONCE, ["-1", "7", "-2", "8"]]);
  });

  test("is tried one at a time while it fails, and each in its turn", async () => {
    const missed = new MissedNotices();
    const tried: string[] = [];
    let isAway = true;
    const publish = (one: Missed): void => {
      tried.push(one.room.room);
      if (isAway) missed.add(one);
    };
    for (let room = 0; room < MISSED_REPEATED_AT_ONCE + 3; room++) missed.add(about(room));
    for (let time = 0; time < 3; time++) await missed.repeat(publish, failed);
    expect(tried).toEqual(["0", "1", "2"]);
    isAway = false;
    await missed.repeat(publish, failed);
    expect(missed.size).toBe(MISSED_REPEATED_AT_ONCE + 2);
    await missed.repeat(publish, failed);
    expect(missed.size).toBe(2);
  });

  test("is kept if the store cannot be read", async () => {
    const missed = new MissedNotices();
    missed.add(about(1));
    const errors: unknown[] = [];
    const away = new Error("away");
    await missed.repeat(
      () => Promise.reject(away),
      (error) => errors.push(error),
    );
    expect([missed.size, errors]).toEqual([1, [away]]);
  });
});

describe("after an outage", () => {
  let world: World;
  let node: ReturnType<World["node"]>;
  let other: ReturnType<World["node"]>;
  let room: RoomRow;
  let admin: Someone;
  beforeEach(async () => {
    world = await World.open();
    node = world.node();
    other = world.node();
    room = await world.room(node.rooms, { privacy: "private", enableRequestToJoin: true, enableRecording: true });
    admin = await world.enter(node, room, { isAdmin: true, name: "Admin" });
  });
  afterEach(async () => {
    await Promise.all([node.services.stop(), other.services.stop()]);
    for (const error of world.failures) expect(error instanceof Problem && error.code).toBe("backend_error");
    await world.close();
  });

  const act = (request: StayAct): Promise<void> => node.services.acts.act(APP, "standup", admin.token, request);
  const all = (notice: string): object[] =>
    world.floors.published.map(({ data }) => data).filter((data) => data.notice === notice);
  /** NATS is unavailable, and with it the way between nodes. */
  const goAway = (isAway: boolean): void => {
    world.floors.isMute = isAway;
    world.floors.isCut = isAway;
  };
  /** A notice fails; then it is tried in vain once more. */
  const failing = async (): Promise<void> => {
    await until("the failure", () => world.failures.length > 0);
    await node.services.repeatMissed();
  };
  const repeated = (what: string, isTrue: () => boolean): Promise<unknown> =>
    until(what, async () => {
      for (const { services } of [node, other]) await services.repeatMissed();
      return isTrue();
    });

  test("those inside get to know that the recording was stopped, or started", async () => {
    await act({ do: "record" });
    await until("the notice", () => all("recording").length === 1);
    goAway(true);
    await act({ do: "stopRecord" });
    await failing();
    expect(all("recording")).toHaveLength(1);
    goAway(false);
    await repeated("the stop", () => all("recording").length > 1);
    expect(all("recording").at(-1)).toMatchObject({ on: false });
    goAway(true);
    const before = world.failures.length;
    await act({ do: "record" });
    await until("the failure", () => world.failures.length > before);
    goAway(false);
    await repeated("the start", () => all("recording").length > 2);
    expect(all("recording").at(-1)).toMatchObject({ on: true, by: "Admin" });
  });

  test("also if the node that has stopped it is gone", async () => {
    await world.enter(other, room);
    await act({ do: "record" });
    await until("the notice", () => all("recording").length === 1);
    goAway(true);
    await act({ do: "stopRecord" });
    await act({ do: "lock" });
    world.kill(node);
    goAway(false);
    for (let second = 0; second < 12; second++) {
      world.now += 1000;
      await other.services.tick();
    }
    await until("the notice", () => all("recording").length > 1);
    expect(all("recording").at(-1)).toMatchObject({ on: false });
    expect(all("locked")).toEqual([{ notice: "locked", on: true }]);
  });

  test("they get to know what the room allows, and that it is locked or not", async () => {
    goAway(true);
    await act({ do: "lock" });
    await act({ do: "unlock" });
    await node.rooms.update(APP, "standup", { enableChat: false });
    await until("three failures", () => world.failures.length >= 3);
    goAway(false);
    await repeated("both", () => all("locked").length > 0 && all("flags").length > 0);
    expect(all("locked").at(-1)).toMatchObject({ on: false });
    expect(all("flags").at(-1)).toMatchObject({ room: { enableChat: false } });
  });

  test("admins get the queue, and visitors get to know that a host is inside", async () => {
    goAway(true);
    const bob = await world.wait(other, room, "Bob");
    other.meetings.subscribed(bob.seat, waitChannel(room.id, bob.id));
    node.meetings.subscribed(admin.seat, adminChannel(room.id));
    await failing();
    // Each of them is read again a moment later: until then it would be published without this.
    await Bun.sleep(4 * QUEUE_SETTLES_MS);
    goAway(false);
    await repeated("both", () => all("waiting").length > 0 && all("hosts").length > 0);
    expect(all("waiting").at(-1)).toMatchObject({ queue: [{ name: "Bob" }] });
    expect(all("hosts").at(-1)).toMatchObject({ inside: true });
  });

  test.each([
    ["admitted", 60],
    ["declined", 20],
  ] as const)("a visitor who was %s in it gets the answer; its connection is kept for that", async (state, seconds) => {
    for (const at of [node, other]) {
      const bob = await world.wait(at, room, "Bob");
      goAway(true);
      await node.services.lobby.decide({ app: APP, room: room.id }, bob.id, state);
      for (let ms = 0; ms < seconds * 1000; ms += LOBBY_SWEEP_EVERY_MS) {
        world.now += LOBBY_SWEEP_EVERY_MS;
        for (const { services } of [other, node]) await services.lobby.sweep();
      }
      expect(at.floor.closed.filter(({ peerId }) => peerId === bob.id)).toEqual([]);
      goAway(false);
      await repeated("the answer", () => world.floors.on(`/wait/${bob.id}`).some(({ notice }) => notice === state));
      expect((await world.store.meetings.waitingOne(bob.id))?.state).toBe(state);
      // Now it is closed as always.
      world.now += 30_000;
      await at.services.lobby.sweep();
      await at.services.lobby.sweep();
      expect(at.floor.closed.filter(({ peerId }) => peerId === bob.id)).toEqual([{ peerId: bob.id, reason: "ended" }]);
    }
  });

  test("people are warned that their time ends", async () => {
    await node.rooms.update(APP, "standup", { ejectAtRoomExp: true, expireUnixSec: Math.floor(world.now / 1000) + 70 });
    await until("the change", () => all("flags").length > 0);
    goAway(true);
    world.now += 20_000;
    await node.services.tick();
    goAway(false);
    world.now += 1000;
    await node.services.tick();
    await node.services.tick();
    expect(all("ending")).toEqual([{ notice: "ending", inSec: 49 }]);
    goAway(true);
    await node.rooms.update(APP, "standup", { ejectAtRoomExp: false });
    await until("the change", () => node.meetings.present.room(room.id)?.row.fields.ejectAtRoomExp === false);
    await node.services.tick();
    goAway(false);
    await node.services.tick();
    await node.services.tick();
    expect(all("continues")).toHaveLength(1);
  });

  test("a person on another node is shown under its new name", async () => {
    const ada = await world.enter(other, room, { isGuest: true });
    goAway(true);
    await act({ do: "rename", participantSession: ada.id, name: "Ada L." });
    goAway(false);
    for (let second = 0; second < 12; second++) {
      world.now += 1000;
      await other.services.tick();
    }
    expect(other.floor.renamed).toEqual([{ peerId: ada.id, name: "Ada L." }]);
  });

  test("a mute that reached no one was refused", async () => {
    const ada = await world.enter(other, room);
    goAway(true);
    await expect(act({ do: "mute", participantSession: ada.id })).rejects.toMatchObject({ code: "backend_error" });
  });
});
