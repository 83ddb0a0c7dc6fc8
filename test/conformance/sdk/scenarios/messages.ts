import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { Scenario } from "../scenario.ts";

const ALICE = { name: "Alice", avatar: "https://example.com/a.png" };
const SAMPLES = [{ text: "héllo", list: [1, 2.5, null, true, { deep: [] }] }, "text", 0, null, false, [], {}];

export const messages: readonly Scenario[] = [
  {
    name: "a publish reaches the other subscribers, in order and unchanged; sender metadata only if requested",
    run: async (scene) => {
      const channel = scene.channel();
      const alice = await scene.connect(await scene.token("alice", { peerMetadata: ALICE }));
      const curious = await scene.connect(await scene.token("curious"));
      const plain = await scene.connect(await scene.token("plain"));
      const elsewhere = await scene.connect(await scene.token("elsewhere"));
      await alice.client.subscribe(channel, { includeSenderMetadata: true });
      await curious.client.subscribe(channel, { includeSenderMetadata: true });
      await plain.client.subscribe(channel);
      await elsewhere.client.subscribe(scene.channel("other"));
      await Promise.all(SAMPLES.map((data) => alice.client.publish(channel, data)));
      // Publishing needs no subscription, and this peer has no metadata to show.
      await elsewhere.client.publish(channel, "from outside");
      const count = SAMPLES.length + 1;
      await scene.until("the messages have not arrived", () =>
        [curious, plain].every(({ messages }) => messages.length === count),
      );
      const from = (fields: object): object[] => SAMPLES.map((data) => ({ channel, from: alice.id, data, ...fields }));
      const outside = { channel, from: elsewhere.id, data: "from outside" };
      deepEqual(curious.messages, [...from({ fromMetadata: ALICE }), outside]);
      deepEqual(plain.messages, [...from({}), outside]);
      await scene.until("alice has not got the message from outside", () => alice.messages.length > 0);
      deepEqual(alice.messages, [outside]);
      deepEqual(elsewhere.messages, []);
    },
  },
  {
    name: "a repeated subscribe changes whether sender metadata is sent, an unsubscribe ends the messages",
    run: async (scene) => {
      const channel = scene.channel();
      const alice = await scene.connect(await scene.token("alice", { peerMetadata: ALICE }));
      const bob = await scene.connect(await scene.token("bob"));
      for (const [said, options] of [{}, { includeSenderMetadata: true }, {}].entries()) {
        await bob.client.subscribe(channel, options);
        await alice.client.publish(channel, options);
        // Acked means accepted: the message may still be on its way.
        await scene.until("alice's message has not arrived", () => bob.messages.length > said);
      }
      await bob.client.unsubscribe(channel);
      await alice.client.publish(channel, "unheard");
      // Messages to bob arrive in order: once this one is there, the filtered one will not come.
      await alice.client.send(bob.id, "end");
      await scene.until("the last message has not arrived", () => bob.directs.length === 1);
      deepEqual(
        bob.messages.map(({ fromMetadata }) => fromMetadata),
        [undefined, ALICE, undefined],
      );
    },
  },
  {
    name: "a direct message reaches its peer only, with the sender's metadata if it has any",
    run: async (scene) => {
      const alice = await scene.connect(await scene.token("alice", { peerMetadata: ALICE }));
      const bob = await scene.connect(await scene.token("bob"));
      const guest = await scene.connect({ apiKey: scene.service.publishableKey });
      await Promise.all(SAMPLES.map((data) => alice.client.send(bob.id, data)));
      await guest.client.send(bob.id, "from a publishable key");
      await bob.client.send(guest.id, "back");
      await scene.until(
        "the direct messages have not arrived",
        () => bob.directs.length === SAMPLES.length + 1 && guest.directs.length === 1,
      );
      deepEqual(bob.directs, [
        ...SAMPLES.map((data) => ({ from: alice.id, fromMetadata: ALICE, data })),
        { from: guest.id, data: "from a publishable key" },
      ]);
      deepEqual(guest.directs, [{ from: bob.id, data: "back" }]);
      deepEqual(alice.directs, []);
      await rejects(alice.client.send(scene.id("stranger"), 1), { name: "peer_not_found" });
    },
  },
  {
    name: "MeteredPeers broadcast and send; broadcasts carry sender metadata only to peers that joined with it",
    run: async (scene) => {
      const channel = scene.channel();
      const alice = await scene.join(channel, await scene.token("alice", { peerMetadata: ALICE }));
      const curious = await scene.join(channel, await scene.token("curious"), { includeSenderMetadata: true });
      const plain = await scene.join(channel, await scene.token("plain"));
      await scene.acquainted([alice, curious, plain]);
      await alice.peer.send({ to: "all" });
      await alice.peer.sendTo(plain.id, { to: "plain" });
      await alice.peer.remotePeers.find(({ id }) => id === curious.id)?.send({ to: "curious" });
      await scene.until("the data has not arrived", () => curious.data.length === 2 && plain.data.length === 2);
      const broadcast = { senderPeerId: alice.id, data: { to: "all" }, kind: "broadcast" };
      const direct = { senderPeerId: alice.id, kind: "direct", senderMetadata: ALICE };
      deepEqual(curious.data, [
        { ...broadcast, senderMetadata: ALICE },
        { ...direct, data: { to: "curious" } },
      ]);
      deepEqual(plain.data, [broadcast, { ...direct, data: { to: "plain" } }]);
      equal(alice.data.length, 0);
    },
  },
  {
    name: "a peer that sends right after its join, before its roster, is known to the receivers",
    run: async (scene) => {
      const channel = scene.channel();
      const listener = await scene.join(channel, await scene.token("listener"));
      await scene.until("the listener has no roster", () => listener.wire.line.presenceOf(channel).rosters === 1);
      // Each message is the first of its sender. A MeteredPeer drops messages from peers that it does not know.
      const whisper = await scene.join(channel, await scene.token("whisper"));
      await whisper.peer.sendTo(listener.id, "first message");
      const shout = await scene.join(channel, await scene.token("shout"));
      await shout.peer.send("first message");
      await scene.until("the first messages do not arrive", () => listener.data.length === 2);
      const { frames } = listener.wire.line;
      for (const { id } of [whisper, shout]) {
        const known = frames.findIndex(({ joined = [] }) => joined.some(({ peerId }) => peerId === id));
        const spoke = frames.findIndex(({ from }) => from === id);
        ok(known >= 0 && known < spoke, `${id} spoke before it was announced`);
      }
    },
  },
  {
    name: "a refused request rejects with its code and leaves the connection open",
    run: async (scene) => {
      const { client, wire } = await scene.connect(
        await scene.token("alice", { channels: [scene.channel("mine")], permissions: ["subscribe"] }),
      );
      await rejects(client.subscribe("_system/x"), { name: "channel_reserved" });
      await rejects(client.subscribe(scene.channel("yours")), { name: "channel_not_authorized" });
      await rejects(client.publish(scene.channel("mine"), 1), { name: "action_not_permitted" });
      await rejects(client.send(scene.id("bob"), 1), { name: "action_not_permitted" });
      await client.subscribe(scene.channel("mine"));
      equal(wire.lines.length, 1);
      ok(wire.line.closeCode === undefined);
    },
  },
];
