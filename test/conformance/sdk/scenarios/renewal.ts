import { deepEqual, equal } from "node:assert/strict";
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
];
