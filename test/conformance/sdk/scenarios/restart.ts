import { deepEqual, equal } from "node:assert/strict";
import { others, sameIds } from "../check.ts";
import type { Scenario } from "../scenario.ts";

const CROWD = 20;

export const restart: readonly Scenario[] = [
  {
    name: `a restart of the service: all ${CROWD} reconnect, each with the right roster`,
    needs: "restart",
    run: async (scene) => {
      const channel = scene.channel();
      const members = await scene.crowd(channel, CROWD, { peerMetadata: { seat: 7 } });
      await scene.service.restart();
      await scene.until("a member does not reconnect", () => members.every(({ wire }) => wire.lines.length > 1));
      await scene.acquainted(members);
      const last = await scene.joinLast(channel, members);
      for (const member of members) {
        equal(member.wire.lines[0]?.closeCode, 1001);
        sameIds(
          member.wire.line.presenceOf(channel).joined,
          [...others(members, member), last.id],
          `announced to ${member.id}`,
        );
        deepEqual(member.wire.line.presenceOf(channel).left, []);
        deepEqual(member.errors, []);
        // The application sees nothing of the restart.
        deepEqual(member.left, []);
        equal(member.joined.length, CROWD);
        for (const remote of member.peer.remotePeers)
          if (remote.id !== last.id) deepEqual(remote.metadata, { seat: 7 });
      }
      await members[0]?.peer.send("after the restart");
      await scene.until("messages are not delivered after the restart", () =>
        members.slice(1).every(({ data }) => data.length === 1),
      );
    },
  },
  {
    name: "1001 does not end the SDK: it is notified of the drain, and reconnects after the restart",
    needs: "restart",
    run: async (scene) => {
      const alice = await scene.connect(await scene.token("alice"));
      const guest = await scene.connect({ apiKey: scene.service.publishableKey });
      for (const { client } of [alice, guest]) await client.subscribe(scene.channel());
      await scene.service.restart();
      for (const one of [alice, guest]) {
        await scene.until("it does not reconnect", () => one.connects.length === 2 && one.wire.line.count("ack") === 1);
        equal(one.goingAway.length, 1);
        equal(one.disconnects[0]?.code, 1001);
        for (const { willReconnect } of one.disconnects) equal(willReconnect, true);
        equal(one.connects[1]?.isReconnect, true);
      }
      await alice.client.publish(scene.channel(), "still here");
      await scene.until("the subscription is not restored", () => guest.messages.length === 1);
    },
  },
];
