import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { SignallingConnectError } from "@metered-ca/realtime";
import type { Scenario } from "../scenario.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const ICE_SERVERS = [
  { urls: "stun:stun.example.com:3478" },
  { urls: ["turn:turn.example.com:3478", "turns:turn.example.com:5349"], username: "u", credential: "c" },
];

export const connect: readonly Scenario[] = [
  {
    name: "a publishable key connects: a fresh peer id each time, no expiry, no metadata",
    run: async (scene) => {
      const role = { apiKey: scene.service.publishableKey };
      const first = await scene.connect(role);
      const second = await scene.connect(role);
      for (const { id, connects, wire } of [first, second]) {
        match(id, UUID);
        equal(connects[0]?.expiresAt, null);
        equal(connects[0]?.isReconnect, false);
        equal(connects[0]?.maxMessageSize, 65_536);
        equal(connects[0]?.iceServers, undefined);
        equal(wire.line.count("welcome"), 1);
        ok(!("metadata" in (wire.line.frames[0] ?? {})));
      }
      notEqual(first.id, second.id);
    },
  },
  {
    name: "a token connects as its peer; welcome has its metadata unchanged, its ice servers and its expiry",
    run: async (scene) => {
      const metadata = { iceServers: ICE_SERVERS, plan: "gold", nested: { list: [1, null, "ä"] } };
      const { token, expiresAt } = await scene.service.mint({ peerId: scene.id("alice"), metadata });
      const alice = await scene.connect({ tokenProvider: async () => token });
      const [welcome] = alice.connects;
      equal(welcome?.peerId, scene.id("alice"));
      equal(welcome?.expiresAt, expiresAt);
      deepEqual(welcome?.iceServers, ICE_SERVERS);
      ok(Math.abs((welcome?.serverTime ?? 0) - Date.now() / 1000) < 60);
      deepEqual(alice.wire.line.frames[0]?.metadata, metadata);
    },
  },
  {
    name: "a MeteredPeer passes the ice servers of its token to its peer connections",
    run: async (scene) => {
      const role = await scene.token("alice", { metadata: { iceServers: ICE_SERVERS } });
      const alice = await scene.join(scene.channel(), role);
      await scene.joinLast(scene.channel(), [alice]);
      deepEqual(alice.rtcConfigurations, [{ iceServers: ICE_SERVERS }]);
    },
  },
  {
    name: "an invalid credential is refused at the first connect, and the SDK does not retry",
    run: async (scene) => {
      for (const role of [{ apiKey: `pk_live_${"0".repeat(32)}` }, { tokenProvider: async () => "a.b.c" }]) {
        const caller = scene.caller(role);
        await rejects(caller.client.connect(), SignallingConnectError);
        equal(caller.client.state, "closed");
        equal(caller.disconnects[0]?.willReconnect, false);
        equal(caller.wire.lines.length, 1);
      }
    },
  },
];
