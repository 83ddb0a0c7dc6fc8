import { holds, same } from "./check.ts";
import { crowd } from "./members.ts";
import type { Scenario } from "./stage.ts";

const CROWD = 20;

export const reconnect: readonly Scenario[] = [
  {
    name: `one of ${CROWD} drops and reconnects: for itself no one has left or joined`,
    run: async (stage) => {
      const channel = stage.channel();
      const rest = await crowd(stage, channel, CROWD - 1);
      const line = await stage.line();
      const dropped = (await stage.connected({ name: "dropped", url: line.url })).view(channel);
      await stage.acquainted([...rest, dropped]);
      const before = dropped.channel.presence.members;
      await line.cut();
      await stage.until("the drop is not noticed", () => dropped.person.states.length === 2);
      await line.mend();
      await stage.until("it does not come back", () => dropped.subscriptions.length === 2);
      await stage.acquainted([...rest, dropped]);
      const last = await stage.joinLast(channel, [...rest, dropped]);
      same(dropped.joined, [...before.map(({ peerId }) => peerId), last.id]);
      same(dropped.left, []);
      same(dropped.person.states.at(0), "connected");
      same(dropped.person.states.at(-1), "connected");
      for (const { left, person } of rest) {
        holds(
          left.every((id) => id === dropped.person.id),
          "someone else has left",
        );
        same(person.states, ["connected"]);
      }
    },
  },
  {
    name: "all subscriptions come back after a drop, each with its options",
    run: async (stage) => {
      const name = { name: "Alice" };
      const alice = await stage.connected({ name: "alice", claims: { peerMetadata: name } });
      const line = await stage.line();
      const bob = await stage.connected({ name: "bob", url: line.url });
      const views = ["one", "two", "three"].map((one, at) =>
        bob.view(stage.channel(one), { senderMetadata: at === 1 }),
      );
      const givenUp = bob.parley.channel(stage.channel("given up"));
      await givenUp.subscribe();
      givenUp.unsubscribe();
      await Promise.all(views.map((view) => view.channel.subscribed));
      await line.cut();
      await line.mend();
      await stage.until("the subscriptions do not come back", () =>
        views.every((view) => view.subscriptions.length === 2),
      );
      same(
        bob.welcomes.map(({ peerId }) => peerId),
        [bob.id, bob.id],
      );
      let unheard = 0;
      givenUp.on("error", () => unheard++);
      for (const one of ["given up", "one", "two", "three"])
        await alice.parley.channel(stage.channel(one)).publish(one);
      await stage.until("the messages do not arrive", () => views.every((view) => view.messages.length === 1));
      same(
        views.map(({ messages: [message] }) => message?.fromMetadata),
        [undefined, name, undefined],
      );
      same(unheard, 0);
    },
  },
  {
    name: "a peer of a publishable key reconnects as a new peer, to the same channel",
    run: async (stage) => {
      const channel = stage.channel();
      const views = await crowd(stage, channel, 2);
      const line = await stage.line();
      const guest = (await stage.connected({ url: line.url })).view(channel);
      await stage.acquainted([...views, guest]);
      const before = guest.person.id;
      await line.cut();
      await line.mend();
      await stage.until("it does not reconnect", () => guest.person.id !== before);
      await stage.acquainted([...views, guest]);
      for (const { left } of views) same(left, [before]);
      same(guest.left, []);
    },
  },
  {
    name: `a restart of the service: all ${CROWD} reconnect, and no one sees anyone leave or join`,
    run: async (stage) => {
      const channel = stage.channel();
      const views = await crowd(stage, channel, CROWD);
      await stage.ask("restart");
      await stage.until("a member does not come back", () => views.every((view) => view.subscriptions.length === 2));
      await stage.acquainted(views);
      const last = await stage.joinLast(channel, views);
      for (const { joined, left, person } of views) {
        same(left, []);
        same(joined.length, CROWD);
        same(joined.at(-1), last.id);
        same(person.errors, []);
      }
      await views[0]?.channel.publish("after the restart");
      await stage.until("messages are not delivered after the restart", () =>
        views.slice(1).every(({ messages }) => messages.length === 1),
      );
    },
  },
];
