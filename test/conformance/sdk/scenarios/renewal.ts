/** Reconnects that the other members do not see. */
import { deepEqual, equal } from "node:assert/strict";
import { freshName } from "../../../support/admin.ts";
import type { Scenario } from "../scenario.ts";

const SHORT_SECONDS = 2;

export const renewal: readonly Scenario[] = [
  {
    name: "a token expires and is renewed: the other members do not see that, and a direct message meanwhile arrives later",
    run: async (scene) => {
      const channel = scene.channel();
      const members = await scene.crowd(channel, 3);
      const short = await scene.token("renewing", { expiresInSec: SHORT_SECONDS });
      const long = await scene.token("renewing");
      let tokens = 0;
      const renewing = await scene.join(channel, {
        tokenProvider: () => (tokens++ === 0 ? short : long).tokenProvider(),
      });
      await scene.acquainted([...members, renewing]);
      await scene.until("the token does not expire", () => renewing.wire.lines[0]?.closeCode === 4002);
      await members[0]?.peer.sendTo(renewing.id, "for you");
      await scene.acquainted([...members, renewing]);
      await scene.joinLast(channel, [...members, renewing]);
      equal(tokens, 2);
      deepEqual(
        renewing.data.map(({ data }) => data),
        ["for you"],
      );
      for (const member of [...members, renewing]) {
        deepEqual(member.left, []);
        equal(member.joined.length, members.length + 1);
        deepEqual(member.errors, []);
      }
    },
  },
  {
    name: "in a channel with a grace, the others do not see that a member drops and comes back, but see its goodbye",
    needs: "admin",
    run: async (scene) => {
      const { admin } = scene.service;
      const app = await admin.createApp(freshName());
      await admin.must("PATCH", `/apps/${app._id}`, { channelRules: [{ pattern: "**", graceSec: 30 }] });
      const { credential } = await admin.createKey(app._id);
      const channel = scene.channel();
      const join = async (peerId: string) => {
        const { token } = await scene.service.mint({ peerId }, credential);
        return scene.join(channel, { tokenProvider: async () => token });
      };
      const [alice, bob] = [await join("alice"), await join("bob")];
      await scene.acquainted([alice, bob]);
      bob.wire.line.socket.terminate();
      await scene.until("it does not reconnect", () => bob.wire.lines.length === 2);
      await scene.acquainted([alice, bob]);
      // Presence of a channel comes in order: a leave of Bob would have come before this join.
      const carol = await join("carol");
      await scene.acquainted([alice, bob, carol]);
      for (const { left } of [alice, bob]) equal(left.length, 0);
      await bob.close();
      await scene.until("the goodbye is not seen", () => alice.left.length === 1);
      equal(alice.left[0]?.id, "bob");
      equal(alice.joined.length, 2);
    },
  },
];
