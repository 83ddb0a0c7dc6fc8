import { describe, expect, test } from "bun:test";
import { Exchange } from "./local.ts";
import type { Cluster } from "./testing/cluster.ts";
import { engineSuite } from "./testing/engine.suite.ts";
import { TestNode } from "./testing/test-node.ts";
import { atOnce, delayed, shuffled, type Traffic } from "./testing/traffic.ts";

/** Lets resolved promises continue. */
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

engineSuite("the exchange without delay", (nodes) => cluster(nodes, atOnce()));
for (const steps of [1, 4])
  engineSuite(`the exchange with a delay of ${steps} steps`, (nodes) => cluster(nodes, delayed(steps)));
engineSuite("the exchange with routes in random order", (nodes, seed) => cluster(nodes, shuffled(seed)));

describe("the exchange", () => {
  test("keeps nothing of nodes and channels that are gone", async () => {
    const exchange = new Exchange();
    const nodes = ["a", "b"].map((id) => new TestNode(id, exchange.engine()));
    for (const node of nodes) {
      node.engine.attach(node);
      await node.watch("c");
      await node.watch("d");
      node.unwatch("d");
    }
    for (const node of nodes) await node.engine.close();
    // The exchange lives as long as the process, so that anything kept would be a leak.
    const kept = ["nodes", "watches"].map((field) => (Reflect.get(exchange, field) as Map<string, unknown>).size);
    expect(kept).toEqual([0, 0]);
  });
});

describe("carriers of the suite", () => {
  test("random: routes overtake each other, and each stays in order", () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 50; seed++) {
      const traffic = shuffled(seed);
      const arrived: string[] = [];
      for (const one of ["a1", "b1", "a2", "b2"]) traffic.carry(one[0] as string, () => arrived.push(one));
      while (traffic.underWay > 0) traffic.step();
      for (const route of ["a", "b"])
        expect(arrived.filter((one) => one.startsWith(route))).toEqual([`${route}1`, `${route}2`]);
      seen.add(arrived.join(" "));
    }
    // All six ways to interleave two routes of two.
    expect(seen.size).toBe(6);
  });

  test("delayed: everything arrives after exactly that number of steps", () => {
    const traffic = delayed(3);
    let arrived = 0;
    traffic.carry("a", () => arrived++);
    traffic.step();
    traffic.carry("a", () => arrived++);
    const seen = [1, 2, 3, 4].map(() => {
      traffic.step();
      return arrived;
    });
    expect(seen).toEqual([0, 1, 2, 2]);
  });
});
