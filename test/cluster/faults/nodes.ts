/** Nodes that die, sleep, or have the same name. */
import { expect, test } from "bun:test";
import { flowing } from "../../support/flowing.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "../support/cluster.ts";
import { changesOf, Gathering, peersBeside } from "../support/gathering.ts";
import { ASLEEP_MS, IS_FULL, LEAVE_WITHIN_MS, LOAD, SETTLE_MS, STORED } from "../support/load.ts";
import { show } from "../support/show.ts";
import { judgeStored } from "../support/stored.ts";

const VICTIM = 2;
/** Longer than NATS waits for a client that does not read (10 s), and than the store for one that holds locks (10 s). */
const LONG_SLEEPS_MS = [12_000, 30_000];

export function nodeFaults(cluster: () => Cluster): void {
  test("kill -9 of a node: its members leave everywhere in time, in one batch per channel, and no other member flaps", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    using gathering = await Gathering.in(cluster(), LOAD.channels);
    for (const one of [fleet, stored]) one.talk();
    await flowing(fleet, stored);
    const [ghosts, witnesses] = [gathering.on(VICTIM), gathering.notOn(VICTIM)];
    const killedMs = performance.now();
    await cluster().node(VICTIM).kill();
    await until("its members have not left", () => witnesses.every(({ changes }) => changes.length > 0));
    const lastMs = Math.max(...witnesses.map(({ changes }) => changes[0]?.atMs ?? 0)) - killedMs;
    await cluster().begin(VICTIM);
    await cluster().whole();
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS);
    show("kill -9", { leftWithinMs: Math.round(lastMs), ...figures });
    for (const witness of witnesses)
      expect(changesOf(witness)).toEqual([{ joined: [], left: peersBeside(witness, ghosts) }]);
    expect(lastMs).toBeLessThan(LEAVE_WITHIN_MS);
    expect(problems).toEqual([]);
    expect(figures.reconnects).toBe(Math.floor(LOAD.clients / 3));
    expect((await judgeStored("kill -9", stored)).recoveries).toBe(Math.floor(STORED.clients / 3));
  });

  test("a node that is paused and resumed announces no leaves", async () => {
    await using fleet = await cluster().fleet();
    await using stored = await cluster().fleet(STORED);
    using gathering = await Gathering.in(cluster(), LOAD.channels);
    for (const one of [fleet, stored]) one.talk();
    await flowing(fleet, stored);
    cluster().node(VICTIM).signal("SIGSTOP");
    await Bun.sleep(ASLEEP_MS);
    cluster().node(VICTIM).signal("SIGCONT");
    const sleepers = gathering.on(VICTIM);
    const returned = (one: (typeof sleepers)[number]): boolean =>
      changesOf(one).some(({ joined }) => joined.length > 0);
    await until("those on it do not come back", () => gathering.notOn(VICTIM).every(returned));
    await cluster().whole();
    fleet.hush();
    const { problems, figures } = await fleet.settle(SETTLE_MS, { allowFlaps: true });
    show("SIGSTOP", figures);
    // Clients of the paused node saw no change and kept their connections; the others saw them leave and join again.
    for (const sleeper of sleepers) expect([changesOf(sleeper), sleeper.closeCode]).toEqual([[], undefined]);
    for (const witness of gathering.notOn(VICTIM)) {
      const peers = peersBeside(witness, sleepers);
      expect(changesOf(witness)).toEqual([
        { joined: [], left: peers },
        { joined: peers, left: [] },
      ]);
    }
    expect(problems).toEqual([]);
    expect(figures.closes).toEqual({});
    await judgeStored("SIGSTOP", stored, { allowFlaps: true });
  });

  test.if(IS_FULL).each(LONG_SLEEPS_MS)(
    "a node that is paused for %i ms under load: nothing acked is lost, and rosters are true",
    async (sleepMs) => {
      await using fleet = await cluster().fleet({ directs: false });
      await using stored = await cluster().fleet({ ...STORED, directs: false });
      using gathering = await Gathering.in(cluster(), LOAD.channels);
      for (const one of [fleet, stored]) one.talk();
      await flowing(fleet, stored);
      cluster().node(VICTIM).signal("SIGSTOP");
      await Bun.sleep(sleepMs);
      cluster().node(VICTIM).signal("SIGCONT");
      await cluster().whole();
      await gathering.acquainted();
      fleet.hush();
      const { problems, figures } = await fleet.settle(SETTLE_MS, { allowFlaps: true });
      show(`SIGSTOP for ${sleepMs} ms`, figures);
      expect(problems).toEqual([]);
      await judgeStored(`SIGSTOP for ${sleepMs} ms`, stored, { allowFlaps: true });
      const sleepers = gathering.on(VICTIM);
      // It judges no one by its own clock: those on other nodes never left in its view, unless its clients were closed and know.
      for (const { changes, closeCode } of sleepers)
        expect(closeCode ?? changes.flatMap(({ left }) => left)).toEqual(closeCode ?? []);
      for (const witness of gathering.notOn(VICTIM)) {
        const others = peersBeside(witness, gathering.notOn(VICTIM));
        expect(changesOf(witness).flatMap(({ left }) => left.filter((peer) => others.includes(peer)))).toEqual([]);
        expect(witness.closeCode).toBeUndefined();
      }
    },
  );

  test("two processes with the same node id are two nodes", async () => {
    const twin = await cluster().add("node-0");
    try {
      await cluster().whole();
      await using fleet = await cluster().fleet();
      using gathering = await Gathering.in(cluster(), 4, [0, twin]);
      fleet.talk();
      await flowing(fleet);
      await cluster().node(twin).kill();
      const [witnesses, ghosts] = [gathering.on(0), gathering.on(1)];
      await until("its members have not left", () => witnesses.every(({ changes }) => changes.length > 0));
      fleet.hush();
      const { problems, figures } = await fleet.settle(SETTLE_MS);
      show("the same node id", figures);
      for (const one of witnesses) expect(changesOf(one)).toEqual([{ joined: [], left: peersBeside(one, ghosts) }]);
      expect(problems).toEqual([]);
    } finally {
      await cluster().remove(twin);
      await cluster().whole();
    }
  });
}
