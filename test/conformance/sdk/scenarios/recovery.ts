/** The unmodified SDK with examples/sdk-recovery, on channels with history. */
import { deepEqual, equal } from "node:assert/strict";
import { recovering } from "../../../../examples/sdk-recovery/recovering.mjs";
import { freshName } from "../../../support/admin.ts";
import type { Caller } from "../clients.ts";
import type { Scenario } from "../scenario.ts";
import type { Scene } from "../scene.ts";

interface Pair {
  readonly alice: Caller;
  readonly bob: Caller;
  readonly channel: string;
  /** Channels of which Bob was notified that messages are missing. */
  readonly gaps: readonly string[];
}

/** Alice publishes, and Bob subscribes with recovery, in an application of their own. */
async function subscribed(scene: Scene, messages: number): Promise<Pair> {
  const { admin } = scene.service;
  const app = await admin.createApp(freshName());
  const channelRules = [{ pattern: "**", history: { messages, seconds: 3600 } }];
  await admin.must("PATCH", `/apps/${app._id}`, { channelRules });
  const { credential } = await admin.createKey(app._id);
  const role = async (peerId: string) => {
    const { token } = await scene.service.mint({ peerId }, credential);
    return { tokenProvider: async () => token };
  };
  const gaps: string[] = [];
  const alice = await scene.connect(await role("alice"));
  const bob = await scene.connect({
    ...(await role("bob")),
    open: recovering({ open: scene.open, onGap: (gap) => gaps.push(gap) }),
  });
  const channel = scene.channel();
  await bob.client.subscribe(channel);
  return { alice, bob, channel, gaps };
}

const datas = ({ messages }: Caller): unknown[] => messages.map(({ data }) => data);

/** Bob's connection ends, the messages are published, and he is back and subscribed again. */
async function publishedWhileAway(scene: Scene, { alice, bob, channel }: Pair, messages: readonly number[]) {
  const connections = bob.wire.lines.length;
  bob.wire.line.socket.terminate();
  await scene.until("the drop is not noticed", () => bob.disconnects.length === connections);
  // In one go: on a busy machine he could be back before the last one.
  await Promise.all(messages.map((message) => alice.client.publish(channel, message)));
  await scene.until(
    "it does not come back",
    () => bob.wire.lines.length > connections && bob.wire.line.count("ack") > 0,
  );
}

export const recovery: readonly Scenario[] = [
  {
    name: "with recovery, what is published while a client is away arrives once and in order, over several drops",
    needs: "admin",
    run: async (scene) => {
      const pair = await subscribed(scene, 100);
      const { alice, bob, channel, gaps } = pair;
      for (const message of [1, 2, 3]) await alice.client.publish(channel, message);
      await publishedWhileAway(scene, pair, [4, 5, 6]);
      // Its own messages are not replayed to it, also not by a later connection.
      await bob.client.publish(channel, "mine");
      await publishedWhileAway(scene, pair, [7]);
      await publishedWhileAway(scene, pair, []);
      await bob.client.publish(channel, "mine too");
      await publishedWhileAway(scene, pair, []);
      await publishedWhileAway(scene, pair, [8]);
      await alice.client.publish(channel, 9);
      await scene.until("the last message does not arrive", () => datas(bob).includes(9));
      deepEqual(datas(bob), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
      deepEqual(gaps, []);
    },
  },
  {
    name: "with recovery, a client that was away for too long is notified, and goes on with new messages",
    needs: "admin",
    run: async (scene) => {
      const pair = await subscribed(scene, 2);
      const { alice, bob, channel, gaps } = pair;
      await alice.client.publish(channel, 1);
      await scene.until("the first message does not arrive", () => datas(bob).includes(1));
      await publishedWhileAway(scene, pair, [2, 3, 4, 5]);
      deepEqual(gaps, [channel]);
      await alice.client.publish(channel, 6);
      await scene.until("the new message does not arrive", () => datas(bob).includes(6));
      deepEqual(datas(bob), [1, 6]);
      // The gap is over: the next drop is recovered.
      await publishedWhileAway(scene, pair, [7]);
      await scene.until("the missed message does not arrive", () => datas(bob).includes(7));
      equal(gaps.length, 1);
      deepEqual(datas(bob), [1, 6, 7]);
    },
  },
  {
    name: "with recovery, a channel without history works as without",
    run: async (scene) => {
      const alice = await scene.connect(await scene.token("alice"));
      const bob = await scene.connect({ ...(await scene.token("bob")), open: recovering({ open: scene.open }) });
      const channel = scene.channel();
      await bob.client.subscribe(channel);
      const pair = { alice, bob, channel, gaps: [] };
      await publishedWhileAway(scene, pair, [1]);
      await alice.client.publish(channel, 2);
      await scene.until("the message does not arrive", () => bob.messages.length > 0);
      deepEqual(datas(bob), [2]);
    },
  },
];
