import { codeOf, same } from "./check.ts";
import type { Scenario } from "./stage.ts";

const ALICE = { name: "Alice", avatar: "https://example.com/a.png" };
const SAMPLES = [{ text: "héllo", list: [1, 2.5, null, true, { deep: [] }] }, "text", 0, null, false, [], {}];
const LARGEST_BYTES = 65_536;

export const messages: readonly Scenario[] = [
  {
    name: "a publish reaches the other subscribers, in order and unchanged; sender metadata only if requested",
    run: async (stage) => {
      const channel = stage.channel();
      const alice = (await stage.connected({ name: "alice", claims: { peerMetadata: ALICE } })).view(channel);
      const curious = (await stage.connected({ name: "curious" })).view(channel, { senderMetadata: true });
      const plain = (await stage.connected({ name: "plain" })).view(channel);
      const elsewhere = await stage.connected({ name: "elsewhere" });
      const other = elsewhere.view(stage.channel("other"));
      await Promise.all([alice, curious, plain, other].map((view) => view.channel.subscribed));
      await Promise.all(SAMPLES.map((data) => alice.channel.publish(data)));
      // Publishing needs no subscription, and this peer has no metadata to show.
      await elsewhere.parley.channel(channel).publish("from outside");
      const count = SAMPLES.length + 1;
      await stage.until("the messages have not arrived", () =>
        [curious, plain].every((view) => view.messages.length === count),
      );
      for (const view of [curious, plain]) same(view.data, [...SAMPLES, "from outside"]);
      same(
        curious.messages.map(({ from, fromMetadata }) => [from, fromMetadata]),
        [...SAMPLES.map(() => [alice.person.id, ALICE]), [elsewhere.id, undefined]],
      );
      same(
        plain.messages.map(({ fromMetadata }) => fromMetadata),
        Array(count).fill(undefined),
      );
      await stage.until("alice has not got the message from outside", () => alice.messages.length > 0);
      same(alice.data, ["from outside"]);
      same(other.data, []);
    },
  },
  {
    name: "without listeners the messages end",
    run: async (stage) => {
      const alice = await stage.connected({ name: "alice" });
      const bob = await stage.connected({ name: "bob" });
      const channel = bob.parley.channel(stage.channel());
      const heard: unknown[] = [];
      const off = channel.on("message", ({ data }) => heard.push(data));
      await channel.subscribed;
      await alice.parley.channel(stage.channel()).publish(1);
      await alice.parley.send(bob.id, "between");
      await stage.until("the message does not arrive", () => bob.directs.length === 1);
      off();
      // Frames of one connection are answered in their order: this one follows the unsubscribe.
      await Promise.resolve();
      await codeOf(bob.parley.send(stage.id("no one"), 1));
      await alice.parley.channel(stage.channel()).publish(2);
      await alice.parley.send(bob.id, "end");
      await stage.until("the last message does not arrive", () => bob.directs.length === 2);
      same(heard, [1]);
    },
  },
  {
    name: "a direct message reaches its peer only, with the sender's metadata if it has any",
    run: async (stage) => {
      const alice = await stage.connected({ name: "alice", claims: { peerMetadata: ALICE } });
      const bob = await stage.connected({ name: "bob" });
      const guest = await stage.connected();
      await Promise.all(SAMPLES.map((data) => alice.parley.send(bob.id, data)));
      await guest.parley.send(bob.id, "from a publishable key");
      await bob.parley.send(guest.id, "back");
      await stage.until(
        "the direct messages have not arrived",
        () => bob.directs.length === SAMPLES.length + 1 && guest.directs.length === 1,
      );
      same(
        bob.directs.map(({ from, fromMetadata, data }) => [from, fromMetadata, data]),
        [...SAMPLES.map((data) => [alice.id, ALICE, data]), [guest.id, undefined, "from a publishable key"]],
      );
      same(alice.directs, []);
      same(await codeOf(alice.parley.send(stage.id("stranger"), 1)), "peer_not_found");
    },
  },
  {
    name: "a refused request rejects with its code and leaves the connection open",
    run: async (stage) => {
      const claims = { channels: [stage.channel("mine")], permissions: ["subscribe"] };
      const { parley, states } = await stage.connected({ name: "alice", claims });
      same(await codeOf(parley.channel("_system/x").subscribe()), "channel_reserved");
      same(await codeOf(parley.channel(stage.channel("yours")).subscribe()), "channel_not_authorized");
      same(await codeOf(parley.channel(stage.channel("mine")).publish(1)), "action_not_permitted");
      same(await codeOf(parley.send(stage.id("bob"), 1)), "action_not_permitted");
      same(await codeOf(parley.channel(stage.channel("mine")).subscribe()), "resolved");
      same(states, ["connected"]);
    },
  },
  {
    name: "data that is too large is refused without a frame; the largest allowed data arrives",
    run: async (stage) => {
      const alice = await stage.connected({ name: "alice" });
      const bob = (await stage.connected({ name: "bob" })).view(stage.channel());
      await bob.channel.subscribed;
      const text = "x".repeat(LARGEST_BYTES - 2);
      const channel = alice.parley.channel(stage.channel());
      // The limit counts bytes, not characters.
      for (const data of [`${text}${"x".repeat(4000)}`, "ä".repeat(35_000)]) {
        same(await codeOf(channel.publish(data)), "message_too_large");
        same(await codeOf(alice.parley.send(bob.person.id, data)), "message_too_large");
      }
      await channel.publish(text);
      await stage.until("the largest does not arrive", () => bob.messages.length === 1);
      same(bob.data, [text]);
      for (const { states } of [alice, bob.person]) same(states, ["connected"]);
    },
  },
];
