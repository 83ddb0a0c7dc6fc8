import { codeOf, same } from "./check.ts";
import { crowd } from "./members.ts";
import type { Scenario } from "./stage.ts";

const SAY_EVERY_MS = 100;

/** More than the service takes at once, which is 500. */
const FLOOD = 900;
/** Two thirds of it pass before a renewal: the last third is for a busy machine. */
const SHORT_SECONDS = 9;

export const endings: readonly Scenario[] = [
  {
    name: "a token that ends is renewed: no reconnect, and the other members see nothing",
    run: async (stage) => {
      const channel = stage.channel();
      const views = await crowd(stage, channel, 3);
      const reasons: string[] = [];
      const renewing = stage
        .enter({
          token: ({ reason }) => {
            reasons.push(reason);
            return stage.mint("renewing", { expiresInSec: SHORT_SECONDS });
          },
        })
        .view(channel);
      await renewing.channel.subscribed;
      await stage.acquainted([...views, renewing]);
      const lists = views.map((view) => view.lists.length);
      // The times at which it is renewed are its own: messages of the others make the stage look.
      for (let said = 0; reasons.length < 3; said++) {
        await views[0]?.channel.publish(said);
        await stage.until(
          () => `the message does not arrive: ${renewing.person.states.join(", ")}; tokens for ${reasons.join(", ")}`,
          () => renewing.messages.length > said,
        );
        await new Promise((resolve) => setTimeout(resolve, SAY_EVERY_MS));
      }
      same(reasons.slice(0, 3), ["connect", "renew", "renew"]);
      same(renewing.person.states, ["connected"]);
      same(
        views.map((view) => view.lists.length),
        lists,
      );
    },
  },
  {
    name: "4020 ends the client: a kicked peer leaves and does not come back",
    run: async (stage) => {
      const channel = stage.channel();
      const [bystander] = await crowd(stage, channel, 1);
      const kicked = (await stage.connected({ name: "kicked" })).view(channel);
      await stage.until("the bystander does not know it", () => bystander?.members.length === 1);
      await stage.ask("kick", { peerId: stage.id("kicked") });
      await stage.until("it does not end", () => kicked.person.parley.status.state === "closed");
      same(kicked.person.states, ["connected", "closed kicked"]);
      same(kicked.errors, ["kicked"]);
      same(await codeOf(kicked.channel.publish(1)), "kicked");
      await stage.until("the bystander still knows it", () => bystander?.members.length === 0);
      same(bystander?.left, [stage.id("kicked")]);
      same(bystander?.person.states, ["connected"]);
    },
  },
  {
    name: "4001 ends the client: the connections of a revoked key close, with and without a token",
    run: async (stage) => {
      const app = await stage.ask<{ keyId: string; credential: string; publishableKey: string }>("app", {});
      const { credential, keyId, publishableKey } = app;
      const people = [
        { keyId: publishableKey, person: stage.enter({ key: publishableKey }) },
        { keyId, person: stage.person({ name: "alice", credential }) },
      ];
      for (const { keyId: revoked, person } of people) {
        await stage.until("it does not connect", () => person.parley.isConnected);
        await stage.ask("revoke", { keyId: revoked });
        await stage.until("it does not end", () => person.parley.status.state === "closed");
        same(person.states, ["connected", "closed key_revoked"]);
      }
    },
  },
  {
    name: "4011 does not end the client: one that floods learns why it was closed, and comes back with its subscriptions",
    run: async (stage) => {
      const flooder = (await stage.connected({ name: "flooder" })).view(stage.channel());
      await flooder.channel.subscribed;
      const flood = Array.from({ length: FLOOD }, (_, at) =>
        codeOf(flooder.person.parley.send(stage.id("no one"), at)),
      );
      await stage.until("it does not come back", () => flooder.subscriptions.length === 2);
      const codes = new Set(await Promise.all(flood));
      codes.delete("peer_not_found");
      same([...codes], ["connection_lost"]);
      same(flooder.person.states, ["connected", "reconnecting rate_limited", "connected"]);
      const bob = await stage.connected({ name: "bob" });
      await bob.parley.channel(stage.channel()).publish("calm down");
      await stage.until("the subscription is not restored", () => flooder.messages.length === 1);
    },
  },
  {
    name: "4010 does not end the client: it learns that the plan's connections are used up, and connects when one is free",
    run: async (stage) => {
      const plan = { maxConcurrentConnections: 1 };
      const { publishableKey } = await stage.ask<{ publishableKey: string }>("app", { plan });
      const first = stage.enter({ key: publishableKey });
      await stage.until("it does not connect", () => first.parley.isConnected);
      const second = stage.enter({ key: publishableKey });
      await stage.until("it is not refused", () => second.states.length > 0);
      first.parley.close();
      await stage.until("it does not connect", () => second.parley.isConnected);
      same(new Set(second.states).size, 2);
      same(second.states.at(0), "connecting over_connection_limit");
      same(second.states.at(-1), "connected");
    },
  },
  {
    name: "in a channel with a grace, the others do not see that a member drops and comes back, but see its goodbye",
    run: async (stage) => {
      const { credential } = await stage.ask<{ credential: string }>("app", {
        channelRules: [{ pattern: "**", graceSec: 30 }],
      });
      const channel = stage.channel();
      const line = await stage.line();
      const alice = (await stage.connected({ name: "alice", credential })).view(channel);
      const bob = (await stage.connected({ name: "bob", credential, url: line.url })).view(channel);
      await stage.acquainted([alice, bob]);
      await line.cut();
      await line.mend();
      await stage.until("it does not come back", () => bob.subscriptions.length === 2);
      await stage.acquainted([alice, bob]);
      // Presence of a channel comes in order: a leave of Bob would have come before this join.
      const carol = (await stage.connected({ name: "carol", credential })).view(channel);
      await stage.acquainted([alice, bob, carol]);
      for (const { left } of [alice, bob]) same(left, []);
      bob.person.parley.close();
      await stage.until("the goodbye is not seen", () => alice.left.length === 1);
      same(alice.left, [bob.person.id]);
      same(alice.joined.length, 2);
    },
  },
];
