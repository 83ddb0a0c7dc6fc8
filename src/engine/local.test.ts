import { describe, expect, test } from "bun:test";
import { Exchange } from "./local.ts";
import type { Cluster } from "./testing/cluster.ts";
import { engineContract } from "./testing/engine.suite.ts";
import { TestNode } from "./testing/test-node.ts";
import { atOnce, delayed, shuffled, type Traffic } from "./testing/traffic.ts";

/** Lets promises that are decided go on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function cluster(nodes: number, traffic: Traffic): Promise<Cluster> {
  const exchange = new Exchange(traffic.carry);
  return {
    engines: Array.from({ length: nodes }, () => exchange.engine()),
    step: async () => traffic.step(),
    settle: async () => {
      do {
        while (traffic.underWay > 0) traffic.step();
        await turn();
      } while (traffic.underWay > 0);
    },
    stop: async () => {},
  };
}

engineContract("the exchange, at once", (nodes) => cluster(nodes, atOnce()));
for (const steps of [1, 4])
  engineContract(`the exchange, ${steps} steps late`, (nodes) => cluster(nodes, delayed(steps)));
engineContract("the exchange, lanes at random", (nodes, seed) => cluster(nodes, shuffled(seed)));

describe("the exchange", () => {
  test("remembers nothing of nodes and channels that are gone", async () => {
    const exchange = new Exchange();
    const nodes = ["a", "b"].map((id) => new TestNode(id, exchange.engine()));
    for (const node of nodes) {
      node.engine.attach(node);
      await node.watch("c");
      await node.watch("d");
      node.unwatch("d");
    }
    for (const node of nodes) await node.engine.close();
    // The exchange lives as long as the process: what it kept would stay for ever.
    const kept = ["nodes", "watchers"].map((field) => (Reflect.get(exchange, field) as Map<string, unknown>).size);
    expect(kept).toEqual([0, 0]);
  });
});

describe("traffic of the suite", () => {
  test("at random, lanes overtake each other and each stays in order", () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 50; seed++) {
      const traffic = shuffled(seed);
      const came: string[] = [];
      for (const one of ["a1", "b1", "a2", "b2"]) traffic.carry(one[0] as string, () => came.push(one));
      while (traffic.underWay > 0) traffic.step();
      for (const lane of ["a", "b"])
        expect(came.filter((one) => one.startsWith(lane))).toEqual([`${lane}1`, `${lane}2`]);
      seen.add(came.join(" "));
    }
    // All six ways to interleave two lanes of two.
    expect(seen.size).toBe(6);
  });

  test("late, things come after exactly so many steps", () => {
    const traffic = delayed(3);
    let came = 0;
    traffic.carry("a", () => came++);
    traffic.step();
    traffic.carry("a", () => came++);
    const seen = [1, 2, 3, 4].map(() => {
      traffic.step();
      return came;
    });
    expect(seen).toEqual([0, 1, 2, 2]);
  });
});
