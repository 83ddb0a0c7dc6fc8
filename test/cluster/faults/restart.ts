/** A rolling restart, as seen by the public SDK. */
import { expect, test } from "bun:test";
import { Checker } from "../../../src/verify/checker.ts";
import { flowing } from "../../support/flowing.ts";
import { RoundRobin } from "../../support/round-robin.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "../support/cluster.ts";
import { BACK_WITHIN_MS, LOAD, SETTLE_MS, STORED } from "../support/load.ts";
import { SdkPeer } from "../support/sdk.ts";
import { show } from "../support/show.ts";
import { judgeStored } from "../support/stored.ts";

/** How much of a node's output to show if it did not end well. */
const OUTPUT_SHOWN = 4000;
const JOINING_AT_ONCE = 20;
const PACE_MS = 10;

export function rollingRestart(cluster: () => Cluster): void {
  test("a rolling restart: no acked message is lost to a subscriber, and every SDK client reconnects in time", async () => {
    const ports = (): number[] => cluster().nodes.map(({ url }) => Number(new URL(url).port));
    await using balancer = await RoundRobin.over(...ports());
    const address = balancer.url.replace(/^http/, "ws");
    await using stored = await cluster().fleet({ ...STORED, urls: [address] });
    const checker = new Checker(() => performance.now());
    const peers = Array.from({ length: LOAD.clients }, (_, at) => {
      const channel = `rolling/${at % LOAD.channels}`;
      return new SdkPeer(address, cluster().key, `sdk-${at}`, channel, checker);
    });
    let turn = 0;
    const perPace = (LOAD.rate * PACE_MS) / 1000;
    let pace: Timer | undefined;
    try {
      for (let at = 0; at < peers.length; at += JOINING_AT_ONCE)
        await Promise.all(peers.slice(at, at + JOINING_AT_ONCE).map((peer) => peer.join()));
      pace = setInterval(() => {
        for (let said = 0; said < perPace; said++) peers[turn++ % peers.length]?.publish();
      }, PACE_MS);
      stored.talk();
      await flowing({ checker }, stored);
      for (const [at, node] of cluster().nodes.entries()) {
        // As a balancer's health check does: a draining node gets no new connections.
        balancer.use(...ports().filter((_, other) => other !== at));
        const code = await node.kill("SIGTERM");
        if (code !== 0) console.log(node.output.slice(-OUTPUT_SHOWN));
        expect(code).toBe(0);
        // All of them: one that is only welcome when the next node stops has reconnected, but not recovered.
        const clients = [...peers, ...stored.clients];
        await until("a client has not reconnected", () => clients.every(({ isListening }) => isListening));
        await cluster().begin(at);
        await cluster().whole();
        balancer.use(...ports());
      }
      await flowing({ checker }, stored);
      clearInterval(pace);
      const problems = (): readonly unknown[] => checker.verdict();
      await until("something is missing", () => problems().length === 0, SETTLE_MS).catch(() => undefined);
      const absences = peers.flatMap(({ absencesMs }) => absencesMs);
      const acked = peers.reduce((sum, peer) => sum + peer.acked, 0);
      show("rolling restart", {
        acked,
        deliveries: checker.deliveries,
        reconnects: absences.length,
        longestAbsenceMs: Math.round(Math.max(...absences)),
      });
      expect(problems()).toEqual([]);
      expect(new Set(peers.flatMap(({ closes }) => closes))).toEqual(new Set([1001]));
      expect(absences.length).toBeGreaterThanOrEqual(LOAD.clients);
      expect(Math.max(...absences)).toBeLessThan(BACK_WITHIN_MS);
      const figures = await judgeStored("rolling restart", stored);
      expect(figures.recoveries).toBeGreaterThanOrEqual(STORED.clients);
    } finally {
      clearInterval(pace);
      await Promise.all(peers.map((peer) => peer.close()));
    }
  });
}
