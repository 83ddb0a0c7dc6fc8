/** A cluster splits into two parts that both keep working, and heals. Nodes 0 and 1 use one NATS server, node 2 the other. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import type { NetworkProxy } from "../support/network-proxy.ts";
import { until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";
import { changesOf, Gathering, peersBeside } from "./support/gathering.ts";
import { LOAD, REPEAT, SETTLE_MS, SPLIT_MS, STORED } from "./support/load.ts";
import { NatsCluster } from "./support/nats.ts";
import { show } from "./support/show.ts";
import { judgeStored } from "./support/stored.ts";

setDefaultTimeout(180_000);

const THERE = 2;

let postgres: PostgresServer;
let nats: NatsCluster;
let between: NetworkProxy;
let cluster: Cluster;
beforeAll(async () => {
  [postgres, { nats, between }] = await Promise.all([PostgresServer.start(), NatsCluster.pair()]);
  cluster = await Cluster.start({ postgres, nats, reach: [[0], [0], [1]] });
});
afterAll(async () => {
  await cluster?.stop();
  await Promise.all([nats?.stop(), postgres?.stop()]);
});

/** Each side gets a third of the load, so that all three fleets together are the full load. */
const third = { clients: LOAD.clients / 3, rate: LOAD.rate / 3 };

for (let round = 1; round <= REPEAT; round++)
  test(`a partition and its healing${REPEAT === 1 ? "" : `, ${round} of ${REPEAT}`}: each side keeps working, then all nodes form one cluster`, async () => {
    const urls = cluster.urls;
    await using everyone = await cluster.fleet(third);
    await using here = await cluster.fleet({ ...third, urls: urls.slice(0, THERE) });
    await using there = await cluster.fleet({ ...third, urls: urls.slice(THERE) });
    await using stored = await cluster.fleet(STORED);
    using gathering = await Gathering.in(cluster, 6);
    const sides = [gathering.notOn(THERE), gathering.on(THERE)] as const;
    // Clients on both sides send before and after: messages during a split reach the other side late, or close its subscribers.
    await everyone.talkFor(0.5);
    expect((await everyone.settle(SETTLE_MS)).problems).toEqual([]);
    // With history they send all the time: the store still joins both sides.
    for (const side of [here, there, stored]) side.talk();
    between.cut();
    const splitMs = await until("the other side's members stay", () =>
      gathering.all.every(({ changes }) => changes.length > 0),
    );
    await Bun.sleep(Math.max(0, SPLIT_MS - splitMs));
    const [speaker] = gathering.on(0);
    expect(await speaker?.say("on one's own side")).toBe("");
    between.mend();
    const healedMs = await gathering.acquainted();
    for (const side of [here, there]) side.hush();
    await everyone.talkFor(1);
    for (const [name, fleet, judging] of [
      ["one side", here, {}],
      ["the other side", there, {}],
      ["both, before and after", everyone, { allowFlaps: true }],
    ] as const) {
      const { problems, figures } = await fleet.settle(SETTLE_MS, judging);
      show(name, { leftWithinMs: Math.round(splitMs), healedWithinMs: Math.round(healedMs), ...figures });
      expect(problems).toEqual([]);
      expect(figures.closes).toEqual({});
    }
    await judgeStored("partition", stored, { allowFlaps: true });
    for (const [at, side] of sides.entries())
      for (const one of side) {
        const others = peersBeside(one, sides[1 - at] ?? []);
        // Members of each node on the other side are checked separately.
        expect(
          changesOf(one)
            .flatMap(({ left }) => left)
            .toSorted(),
        ).toEqual(others);
        expect(
          changesOf(one)
            .flatMap(({ joined }) => joined)
            .toSorted(),
        ).toEqual(others);
        // On the other side it arrives when that finds its node again.
        expect(one.heard).toEqual(one !== speaker && one.channel === speaker?.channel ? ["on one's own side"] : []);
      }
  });
