import { codeOf, holds, same } from "./check.ts";
import type { Scenario } from "./stage.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const connect: readonly Scenario[] = [
  {
    name: "a publishable key connects: a fresh peer id each time, no expiry, no metadata",
    run: async (stage) => {
      const [first, second] = [await stage.connected(), await stage.connected()];
      for (const { id, welcomes, parley, states } of [first, second]) {
        holds(UUID.test(id), "the peer id is no UUID");
        same(welcomes[0]?.expiresAt, null);
        same(welcomes[0]?.maxMessageSize, 65_536);
        holds(parley.metadata === undefined, "there is metadata");
        same(states, ["connected"]);
      }
      holds(first.id !== second.id, "two clients have the same peer id");
    },
  },
  {
    name: "a token connects as its peer; its metadata arrives unchanged",
    run: async (stage) => {
      const metadata = { iceServers: [{ urls: "stun:stun.example.com:3478" }], nested: { list: [1, null, "ä"] } };
      const alice = await stage.connected({ name: "alice", claims: { metadata } });
      same(alice.id, stage.id("alice"));
      same(alice.parley.metadata, metadata);
      const [welcome] = alice.welcomes;
      holds(Math.abs((welcome?.serverTime ?? 0) - Date.now() / 1000) < 60, "the server's time is far away");
      holds(typeof welcome?.expiresAt === "number", "there is no expiry");
    },
  },
  {
    name: "an invalid credential ends the client with the reason; a second token is asked for first",
    run: async (stage) => {
      const reasons: string[] = [];
      const token = ({ reason }: { readonly reason: string }): string => {
        reasons.push(reason);
        return "a.b.c";
      };
      const [stranger, forger] = [stage.enter({ key: `pk_live_${"0".repeat(32)}` }), stage.enter({ token })];
      const ended = codeOf(forger.parley.channel(stage.channel()).subscribe());
      await stage.until("they do not end", () =>
        [stranger, forger].every(({ parley }) => parley.status.state === "closed"),
      );
      same(stranger.states, ["closed unauthorized"]);
      same(forger.states, ["connecting invalid_token", "closed invalid_token"]);
      same(reasons, ["connect", "refused"]);
      same(await ended, "invalid_token");
    },
  },
];
