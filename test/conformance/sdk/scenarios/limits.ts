import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { MeteredPeerOversizedError, OversizedPayloadError } from "@metered-ca/realtime";
import { neverCut } from "../check.ts";
import type { Scenario } from "../scenario.ts";

const LARGEST_BYTES = 65_536;
/** A string of that many bytes as JSON, quotes included. */
const text = (bytes: number): string => "x".repeat(bytes - 2);

const INACTIVITY_MS = 3000;

export const limits: readonly Scenario[] = [
  {
    name: "the SDK refuses data that is too large and keeps its socket; the largest allowed data arrives",
    run: async (scene) => {
      const channel = scene.channel();
      const alice = await scene.connect(await scene.token("alice"));
      const bob = await scene.connect(await scene.token("bob"));
      await bob.client.subscribe(channel);
      await rejects(alice.client.publish(channel, text(LARGEST_BYTES + 1)), OversizedPayloadError);
      await rejects(alice.client.send(bob.id, text(LARGEST_BYTES + 1)), OversizedPayloadError);
      // The limit counts bytes, not characters.
      await rejects(alice.client.send(bob.id, "ä".repeat(LARGEST_BYTES / 2)), OversizedPayloadError);
      await alice.client.publish(channel, text(LARGEST_BYTES));
      await alice.client.send(bob.id, text(LARGEST_BYTES));
      await scene.until("the largest do not arrive", () => bob.messages.length === 1 && bob.directs.length === 1);
      equal(bob.messages[0]?.data, text(LARGEST_BYTES));
      equal(bob.directs[0]?.data, text(LARGEST_BYTES));
      [alice, bob].forEach(neverCut);
    },
  },
  {
    name: "a MeteredPeer refuses data that is too large and stays joined",
    run: async (scene) => {
      const [alice, bob] = await scene.crowd(scene.channel(), 2);
      if (!alice || !bob) throw new Error("two have joined");
      await rejects(alice.peer.send(text(LARGEST_BYTES + 1)), MeteredPeerOversizedError);
      await rejects(alice.peer.sendTo(bob.id, text(LARGEST_BYTES + 1)), MeteredPeerOversizedError);
      await alice.peer.send(text(LARGEST_BYTES));
      await scene.until("the largest does not arrive", () => bob.data.length === 1);
      [alice, bob].forEach(neverCut);
    },
  },
  {
    name: "past the SDK's inactivity limit its own pings are answered, and the connection stays",
    run: async (scene) => {
      const idle = await scene.connect({ ...(await scene.token("idle")), inactivityTimeoutMs: INACTIVITY_MS });
      const started = performance.now();
      // A third of the limit between pings: four of them exceed it, and the clock confirms it.
      await scene.until("its pings are not answered", () => idle.wire.line.count("pong") === 4);
      ok(performance.now() - started > INACTIVITY_MS);
      deepEqual(
        idle.wire.line.frames.map(({ type }) => type),
        ["welcome", ...Array(4).fill("pong")],
      );
      neverCut(idle);
      equal(idle.disconnects.length, 0);
    },
  },
];
