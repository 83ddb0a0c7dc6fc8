import { deepEqual, equal, notEqual } from "node:assert/strict";
import { neverCut, others, sameIds } from "../check.ts";
import type { Member } from "../clients.ts";
import { Lossy } from "../lossy.ts";
import type { Scenario } from "../scenario.ts";
import type { Scene } from "../scene.ts";

const CROWD = 20;

interface Crowd {
  readonly channel: string;
  readonly dropped: Member;
  readonly rest: readonly Member[];
  /** How many frames each of the others had before the drop. */
  readonly marks: readonly number[];
}

async function gather(scene: Scene, open = scene.open): Promise<Crowd> {
  const channel = scene.channel();
  const rest = await scene.crowd(channel, CROWD - 1);
  const dropped = await scene.join(channel, { ...(await scene.token("dropped")), open });
  await scene.acquainted([...rest, dropped]);
  return { channel, dropped, rest, marks: rest.map((member) => member.wire.line.frames.length) };
}

/** Resolves when it has reconnected; checks that it lost no member, and that its subscription works both ways. */
async function dropAndReturn(scene: Scene, { dropped, rest }: Crowd, drop: () => void): Promise<void> {
  const before = new Map(dropped.peer.remotePeers.map((remote) => [remote.id, remote]));
  drop();
  await scene.until("it does not reconnect", () => dropped.wire.lines.length === 2);
  await scene.acquainted([...rest, dropped]);
  equal(dropped.joined.length, CROWD - 1, "a known peer was announced to it again");
  deepEqual(dropped.left, []);
  deepEqual(dropped.errors, []);
  for (const remote of dropped.peer.remotePeers) equal(remote, before.get(remote.id), "a RemotePeer was replaced");
  await rest[0]?.peer.send("are you back?");
  await dropped.peer.send("I am");
  const heard = (member: Member, text: string): boolean => member.data.some(({ data }) => data === text);
  await scene.until(
    "messages are not delivered after the reconnect",
    () => heard(dropped, "are you back?") && rest.every((member) => heard(member, "I am")),
  );
}

export const reconnect: readonly Scenario[] = [
  {
    name: `one of ${CROWD} drops and reconnects: it keeps its RemotePeers, the others see only its own leave and join`,
    run: async (scene) => {
      const crowd = await gather(scene);
      const { channel, dropped, rest, marks } = crowd;
      await dropAndReturn(scene, crowd, () => dropped.wire.line.socket.terminate());
      const last = await scene.joinLast(channel, [...rest, dropped]);
      const { joined, rosters } = dropped.wire.line.presenceOf(channel);
      sameIds(joined, [...others(rest, dropped), last.id], "announced to the peer that reconnected");
      equal(rosters, 1);
      for (const [at, member] of rest.entries()) {
        const seen = member.wire.line.presenceOf(channel, marks[at]);
        // On a very busy machine the leave and the join can fall into one tick and cancel out.
        const own = seen.left.length === 0 ? [] : [dropped.id];
        deepEqual(seen.left, own);
        sameIds(seen.joined, [...own, last.id], `announced to ${member.id}`);
        neverCut(member);
      }
    },
  },
  {
    name: `one of ${CROWD} reconnects before its old connection is noticed as dead: the others see no change`,
    run: async (scene) => {
      const { open, sockets } = Lossy.opener(scene.open);
      const crowd = await gather(scene, open);
      const { channel, dropped, rest, marks } = crowd;
      const [lost] = sockets;
      await dropAndReturn(scene, crowd, () => lost?.lose());
      // Now the service notices. A clean close is answered, which shows when it has.
      lost?.close(1000, "");
      await scene.until("the old connection does not end", () => dropped.wire.lines[0]?.closeCode === 1000);
      const last = await scene.joinLast(channel, [...rest, dropped]);
      for (const [at, member] of rest.entries()) {
        const seen = member.wire.line.presenceOf(channel, marks[at]);
        deepEqual(seen.left, []);
        deepEqual(seen.joined, [last.id], `announced to ${member.id}`);
        neverCut(member);
      }
      sameIds(
        dropped.wire.line.presenceOf(channel).joined,
        [...others(rest, dropped), last.id],
        "announced to the peer that reconnected",
      );
    },
  },
  {
    name: "all subscriptions are replayed after a drop, each with its options",
    run: async (scene) => {
      const name = { name: "Alice" };
      const alice = await scene.connect(await scene.token("alice", { peerMetadata: name }));
      const bob = await scene.connect(await scene.token("bob"));
      const channels = ["one", "two", "three"].map((one) => scene.channel(one));
      for (const [at, channel] of channels.entries())
        await bob.client.subscribe(channel, { includeSenderMetadata: at === 1 });
      await bob.client.subscribe(scene.channel("given up"));
      await bob.client.unsubscribe(scene.channel("given up"));
      bob.wire.line.socket.terminate();
      await scene.until(
        "the subscriptions do not come back",
        () => bob.wire.lines.length === 2 && bob.wire.line.count("ack") === channels.length,
      );
      deepEqual(
        bob.connects.map(({ peerId, isReconnect }) => [peerId, isReconnect]),
        [
          [bob.id, false],
          [bob.id, true],
        ],
      );
      equal(bob.disconnects.length, 1);
      equal(bob.disconnects[0]?.willReconnect, true);
      for (const channel of [scene.channel("given up"), ...channels]) await alice.client.publish(channel, 1);
      await scene.until("the messages do not arrive", () => bob.messages.length === channels.length);
      deepEqual(
        bob.messages.map(({ channel, fromMetadata }) => [channel, fromMetadata]),
        channels.map((channel, at) => [channel, at === 1 ? name : undefined]),
      );
    },
  },
  {
    name: "a peer of a publishable key reconnects as a new peer, to the same channel",
    run: async (scene) => {
      const channel = scene.channel();
      const members = await scene.crowd(channel, 2);
      const guest = await scene.join(channel, { apiKey: scene.service.publishableKey });
      await scene.acquainted([...members, guest]);
      const before = guest.id;
      guest.wire.line.socket.terminate();
      await scene.until("it does not reconnect", () => guest.id !== before);
      await scene.acquainted([...members, guest]);
      notEqual(guest.id, before);
      for (const { left } of members)
        deepEqual(
          left.map(({ id }) => id),
          [before],
        );
    },
  },
];
