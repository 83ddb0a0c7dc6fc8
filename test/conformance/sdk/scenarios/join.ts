import { deepEqual, equal } from "node:assert/strict";
import { idsOf, neverCut, others, sameIds, sawEachOnce } from "../check.ts";
import type { Member } from "../clients.ts";
import type { Scenario } from "../scenario.ts";
import type { Scene } from "../scene.ts";
import type { OpenSocket, Socket } from "../wire.ts";

const JOINERS = 30;
/** Every tenth of them is slow. */
const STALLS_EVERY = 10;
const STALL_MS = 50;
/** The service waits 500 ms for a pong before it writes a roster: a client that stands still for longer may read both in one go. */
const STILL_MAX_MS = 400;
const TRIES = 5;
const TICK_MS = 20;

const joinsPresent = (count: number): Scenario => ({
  name: `a peer that joins a channel of ${count} sees each member exactly once, and is seen once by each`,
  run: async (scene) => {
    // In smaller groups with each try: on a slow machine all at once are enough work to make this process stand still.
    const { channel, members: present } = await undisturbed(scene, (one, tries) =>
      scene.gather(one, count, { peerMetadata: { name: "was here" } }, Math.ceil(count / tries ** 2)),
    );
    await scene.acquainted(present);
    const newcomer = await scene.join(channel, await scene.token("newcomer", { peerMetadata: { name: "new" } }));
    await scene.until("the newcomer has no roster", () => newcomer.wire.line.presenceOf(channel).rosters === 1);
    await scene.acquainted([...present, newcomer]);
    const members = [...present, newcomer];
    const last = await scene.joinLast(channel, members);
    sawEachOnce(newcomer, channel, idsOf([...present, last]));
    equal(newcomer.wire.line.presenceOf(channel).rosters, 1);
    for (const member of present) sawEachOnce(member, channel, [...others(members, member), last.id]);
    for (const remote of newcomer.joined.slice(0, count)) deepEqual(remote.metadata, { name: "was here" });
    for (const { joined } of present) deepEqual(joined.find(({ id }) => id === newcomer.id)?.metadata, { name: "new" });
    members.forEach(neverCut);
  },
});

/**
 * Right after its subscribe is sent, this client's event loop blocks, as when a page renders. What the service sends meanwhile is
 * then read in one go: a roster among it would reach the SDK before its join() has continued, and be lost.
 */
const stalling =
  (open: OpenSocket): OpenSocket =>
  (url) => {
    const socket: Socket = open(url);
    const send = socket.send.bind(socket);
    socket.send = (frame) => {
      send(frame);
      if (!frame.includes('"type":"subscribe"')) return;
      const until = performance.now() + STALL_MS;
      while (performance.now() < until);
    };
    return socket;
  };

/** How long this process has stood still at most, its own stalls and those of a busy machine. */
function watchStandstill(): { readonly longestMs: number; stop(): void } {
  let [last, longestMs] = [performance.now(), 0];
  const look = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last - TICK_MS);
    last = now;
  };
  const timer = setInterval(look, TICK_MS);
  return {
    get longestMs() {
      look();
      return longestMs;
    },
    stop: () => clearInterval(timer),
  };
}

/** Repeats a join of many, on another channel, if this process stood still longer than the service waits: the SDK may have lost a roster. */
async function undisturbed(
  scene: Scene,
  join: (channel: string, tries: number) => Promise<Member[]>,
): Promise<{ channel: string; members: Member[] }> {
  for (let tries = 1; ; tries++) {
    const standstill = watchStandstill();
    const channel = scene.channel();
    const members = await join(channel, tries);
    await scene.until("a member has no roster", () =>
      members.every(({ wire }) => wire.line.presenceOf(channel).rosters === 1),
    );
    standstill.stop();
    if (standstill.longestMs < STILL_MAX_MS || tries === TRIES) return { channel, members };
    await Promise.all(members.map((member) => member.close()));
  }
}

async function joinAtOnce(scene: Scene, channel: string, names: readonly string[]): Promise<Member[]> {
  const roles = await Promise.all(names.map((name) => scene.token(name)));
  return Promise.all(
    roles.map((role, at) =>
      scene.join(channel, at % STALLS_EVERY === 0 ? { ...role, open: stalling(scene.open) } : role),
    ),
  );
}

export const join: readonly Scenario[] = [
  joinsPresent(0),
  joinsPresent(1),
  joinsPresent(50),
  {
    name: `${JOINERS} join at the same moment, some with a stalled event loop: each sees every other exactly once`,
    run: async (scene) => {
      const { channel, members } = await undisturbed(scene, (one, tries) => {
        const names = Array.from({ length: JOINERS }, (_, at) => `peer${tries}-${at}`);
        return joinAtOnce(scene, one, names);
      });
      await scene.acquainted(members);
      const last = await scene.joinLast(channel, members);
      for (const member of members) {
        sawEachOnce(member, channel, [...others(members, member), last.id]);
        neverCut(member);
      }
    },
  },
  {
    name: "a peer that closes is seen leaving once, and a peer that returns is seen joining once more",
    run: async (scene) => {
      const channel = scene.channel();
      const members = await scene.crowd(channel, 3);
      const leaver = await scene.join(channel, await scene.token("leaver"));
      await scene.acquainted([...members, leaver]);
      await leaver.close();
      await scene.acquainted(members);
      const returned = await scene.join(channel, await scene.token("leaver"));
      await scene.acquainted([...members, returned]);
      const last = await scene.joinLast(channel, members);
      for (const member of members) {
        const { joined, left } = member.wire.line.presenceOf(channel);
        sameIds(joined, [...others(members, member), leaver.id, returned.id, last.id], `announced to ${member.id}`);
        deepEqual(left, [leaver.id]);
        equal(member.left.length, 1);
      }
    },
  },
];
