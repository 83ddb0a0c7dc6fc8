import { deepEqual, equal } from "node:assert/strict";
import { idsOf, neverCut, others, sameIds, sawEachOnce } from "../check.ts";
import type { Scenario } from "../scenario.ts";
import type { OpenSocket, Socket } from "../wire.ts";

const JOINERS = 30;
/** Every tenth of them is slow. */
const STALLS_EVERY = 10;
const STALL_MS = 50;

const joinsPresent = (count: number): Scenario => ({
  name: `a peer that joins a channel of ${count} sees each member exactly once, and is seen once by each`,
  run: async (scene) => {
    const channel = scene.channel();
    const present = await scene.crowd(channel, count, { peerMetadata: { name: "was here" } });
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

export const join: readonly Scenario[] = [
  joinsPresent(0),
  joinsPresent(1),
  joinsPresent(50),
  {
    name: `${JOINERS} join at the same moment, some with a stalled event loop: each sees every other exactly once`,
    run: async (scene) => {
      const channel = scene.channel();
      const roles = await Promise.all(Array.from({ length: JOINERS }, (_, at) => scene.token(`peer${at}`)));
      const members = await Promise.all(
        roles.map((role, at) =>
          scene.join(channel, at % STALLS_EVERY === 0 ? { ...role, open: stalling(scene.open) } : role),
        ),
      );
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
