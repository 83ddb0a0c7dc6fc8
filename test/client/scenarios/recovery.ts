import { same } from "./check.ts";
import type { Line, Scenario, Stage, View } from "./stage.ts";

interface Pair {
  readonly alice: View;
  readonly bob: View;
  readonly line: Line;
}

/** Alice publishes, and Bob subscribes, in an application whose channels keep that many messages. */
async function pair(stage: Stage, messages: number, rewind?: number): Promise<Pair> {
  const channelRules = [{ pattern: "**", history: { messages, seconds: 3600 } }];
  const { credential } = await stage.ask<{ credential: string }>("app", { channelRules });
  const line = await stage.line();
  const alice = (await stage.connected({ name: "alice", credential })).view(stage.channel());
  await alice.channel.subscribed;
  const bob = (await stage.connected({ name: "bob", credential, url: line.url })).view(
    stage.channel(),
    rewind === undefined ? {} : { rewind },
  );
  await bob.channel.subscribed;
  return { alice, bob, line };
}

/** Bob's connection ends, the messages are published, and he is back and subscribed again. */
async function publishedWhileAway(stage: Stage, { alice, bob, line }: Pair, ...messages: unknown[]): Promise<void> {
  const before = bob.subscriptions.length;
  await line.cut();
  await stage.until("the drop is not noticed", () => !bob.person.parley.isConnected);
  for (const message of messages) await alice.channel.publish(message);
  await line.mend();
  await stage.until("it does not come back", () => bob.subscriptions.length > before);
}

const arrives = (stage: Stage, { messages }: View, data: unknown): Promise<void> =>
  stage.until(`${data} does not arrive`, () => messages.some((message) => message.data === data));

export const recovery: readonly Scenario[] = [
  {
    name: "what is published while a client is away arrives once and in order, over several drops; own messages do not",
    run: async (stage) => {
      const all = await pair(stage, 100);
      const { alice, bob } = all;
      for (const message of [1, 2, 3]) await alice.channel.publish(message);
      await publishedWhileAway(stage, all, 4, 5, 6);
      await bob.channel.publish("mine");
      await publishedWhileAway(stage, all, 7);
      await publishedWhileAway(stage, all);
      await bob.channel.publish("mine too");
      await publishedWhileAway(stage, all);
      await publishedWhileAway(stage, all, 8);
      await alice.channel.publish(9);
      await arrives(stage, bob, 9);
      same(bob.data, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
      same(bob.gaps, []);
      await arrives(stage, alice, "mine too");
      same(alice.data, ["mine", "mine too"]);
    },
  },
  {
    name: "a client that was away for too long is notified once, and goes on with new messages",
    run: async (stage) => {
      const all = await pair(stage, 2);
      const { alice, bob } = all;
      await alice.channel.publish(1);
      await arrives(stage, bob, 1);
      await publishedWhileAway(stage, all, 2, 3, 4, 5);
      same(bob.gaps, ["not_recovered"]);
      await alice.channel.publish(6);
      await arrives(stage, bob, 6);
      same(bob.data, [1, 6]);
      // The gap is over: the next drop is recovered.
      await publishedWhileAway(stage, all, 7);
      await arrives(stage, bob, 7);
      same(bob.gaps.length, 1);
      same(bob.data, [1, 6, 7]);
    },
  },
  {
    name: "a first subscription rewinds, and a reconnect does not",
    run: async (stage) => {
      const { alice, bob: first, line } = await pair(stage, 100);
      for (const message of [1, 2, 3]) await alice.channel.publish(message);
      await arrives(stage, first, 3);
      const late = first.person.parley.channel(stage.channel("late"), { rewind: 2 });
      const channel = alice.person.parley.channel(stage.channel("late"));
      for (const message of [1, 2, 3]) await channel.publish(message);
      const view = first.person.view(late.name);
      await arrives(stage, view, 3);
      await publishedWhileAway(stage, { alice, bob: view, line });
      await channel.publish(4);
      await arrives(stage, view, 4);
      same(view.data, [2, 3, 4]);
      same(
        view.messages.map(({ replay }) => replay ?? false),
        [true, true, false],
      );
    },
  },
  {
    name: "a channel without history reports a gap after each drop",
    run: async (stage) => {
      const line = await stage.line();
      const alice = (await stage.connected({ name: "alice" })).view(stage.channel());
      const bob = (await stage.connected({ name: "bob", url: line.url })).view(stage.channel());
      await Promise.all([alice, bob].map((view) => view.channel.subscribed));
      await publishedWhileAway(stage, { alice, bob, line }, 1);
      await publishedWhileAway(stage, { alice, bob, line });
      await alice.channel.publish(2);
      await arrives(stage, bob, 2);
      same(bob.data, [2]);
      same(bob.gaps, ["no_history", "no_history"]);
    },
  },
];
