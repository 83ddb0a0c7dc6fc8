/** NATS servers that die, one or all, and links to them that stall, delay or break. */
import { expect, test } from "bun:test";
import { flowing } from "../../support/flowing.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "../support/cluster.ts";
import { changesOf, Gathering } from "../support/gathering.ts";
import { IS_FULL, LOAD, OUTAGE_MS, ROSTERS_WITHIN_MS, SETTLE_MS, STORED } from "../support/load.ts";
import type { NatsCluster } from "../support/nats.ts";
import { show } from "../support/show.ts";
import { judgeStored } from "../support/stored.ts";

const UNDER_FAULT_MS = IS_FULL ? 10_000 : 1500;
const SLOW_MS = 150;

export function natsFaults(cluster: () => Cluster, nats: () => NatsCluster): void {
  test("a NATS server killed under load: nothing is lost, no connection is closed, no member flaps", async () => {
    await using fleet = await cluster().fleet();
    fleet.talk();
    await flowing(fleet);
    const victim = cluster().serverOf(0);
    await nats().kill(victim);
    await until("node 0 finds no other server", () => cluster().serverOf(0) >= 0 && cluster().serverOf(0) !== victim);
    await Bun.sleep(UNDER_FAULT_MS);
    await nats().begin(victim);
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("one NATS server", figures);
    expect(problems).toEqual([]);
    expect(figures.closes).toEqual({});
    await cluster().whole();
  });

  test("all NATS servers stopped and restarted: connections stay, sends get backend_error, rosters are soon right", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    using gathering = await Gathering.in(cluster(), LOAD.channels);
    const [speaker, leaver, host] = [gathering.on(0)[0]!, gathering.on(1)[0]!, gathering.on(2)[1]!];
    for (const one of [fleet, stored]) one.talk();
    await flowing(fleet, stored);
    await nats().killAll();
    await until("no publish is refused", async () => (await speaker.say("lost")) === "backend_error");
    leaver.leave();
    const late = await gathering.join(host, 1);
    await Bun.sleep(OUTAGE_MS);
    expect(await speaker.say("lost")).toBe("backend_error");
    const everyone = [...gathering.all, late];
    expect(everyone.filter(({ closeCode }) => closeCode !== undefined).map(({ peer }) => peer)).toEqual([leaver.peer]);
    await nats().beginAll();
    const tookMs = await gathering.acquainted(everyone);
    await cluster().whole();
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("all of NATS", { rostersWithinMs: Math.round(tookMs), ...figures });
    late.leave();
    expect(tookMs).toBeLessThan(ROSTERS_WITHIN_MS);
    // Only changes of those two were announced.
    for (const one of gathering.all)
      expect(changesOf(one)).toEqual([
        ...(one.channel === leaver.channel && one !== leaver ? [{ joined: [], left: [leaver.peer] }] : []),
        ...(one.channel === host.channel ? [{ joined: [late.peer], left: [] }] : []),
      ]);
    expect(problems).toEqual([]);
    expect(figures.closes).toEqual({});
    expect(figures.errors.backend_error).toBeGreaterThan(0);
    // The store is there: what one node accepts, the others read.
    await judgeStored("all of NATS", stored);
  });

  test.if(IS_FULL)("a link to NATS that stalls: the node uses another server, and nothing is lost", async () => {
    await using fleet = await cluster().fleet();
    fleet.talk();
    await flowing(fleet);
    const at = cluster().serverOf(0);
    const link = cluster().links(0)[at]!;
    link.stall();
    const movedMs = await until("node 0 stays on it", () =>
      cluster()
        .links(0)
        .some(({ open }, other) => other !== at && open > 0),
    );
    await Bun.sleep(UNDER_FAULT_MS);
    link.mend();
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("a stalled link", { movedWithinMs: Math.round(movedMs), ...figures });
    expect(problems).toEqual([]);
    expect(figures.closes).toEqual({});
    await cluster().whole();
  });

  test.if(IS_FULL)(
    "links to NATS that are cut repeatedly, and slow ones: nothing is lost, no member flaps",
    async () => {
      await using fleet = await cluster().fleet();
      await using stored = await cluster().fleet(STORED);
      for (const link of cluster().links(1)) link.delay(SLOW_MS);
      for (const one of [fleet, stored]) one.talk();
      for (let cuts = 0; cuts < 10; cuts++) {
        const at = cluster().serverOf(0);
        cluster().links(0)[at]?.cut();
        await until("node 0 finds no other way", () => cluster().serverOf(0) >= 0);
        cluster().links(0)[at]?.mend();
        await Bun.sleep(UNDER_FAULT_MS / 5);
      }
      for (const link of cluster().links(1)) link.mend();
      fleet.hush();
      const { problems, figures } = await fleet.settle(SETTLE_MS);
      show("cut and slow links", figures);
      expect(problems).toEqual([]);
      expect(figures.closes).toEqual({});
      await judgeStored("cut and slow links", stored);
      await cluster().whole();
    },
  );
}
