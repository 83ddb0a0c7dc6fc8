/** For tests: the engines that the engine's suite runs against, with a node on each. */
import { expect } from "bun:test";
import type { Engine } from "../engine.ts";
import { TestNode } from "./test-node.ts";

export interface Cluster {
  /** One per node, not attached yet. */
  readonly engines: readonly Engine[];
  /** Some time passes; something may arrive. */
  step(): Promise<void>;
  /** Resolves when everything published has arrived and every request is answered. */
  settle(): Promise<void>;
  /** Stops what the engines run on, after they were closed. */
  stop(): Promise<void>;
}

/** `seed` decides everything that is random in it. */
export type MakeCluster = (nodes: number, seed: number) => Promise<Cluster>;

export const SEED = 20_261;
const UNTIL_CHECKS = 250;
const UNTIL_EVERY_MS = 20;
export const LATE = "not answered";

/** How a test of the suite starts: with nodes that know each other. `nodeA` and `nodeB` are the first two. */
export interface Started {
  readonly nodes: TestCluster;
  readonly nodeA: TestNode;
  readonly nodeB: TestNode;
}

export type Start = () => Promise<Started>;

export class TestCluster {
  private readonly closed = new Set<TestNode>();

  private constructor(
    readonly all: readonly TestNode[],
    private readonly cluster: Cluster,
  ) {}

  static async of(makeCluster: MakeCluster, size: number, seed = SEED): Promise<TestCluster> {
    const cluster = await makeCluster(size, seed);
    const all = cluster.engines.map((engine, i) => new TestNode(`n${i}`, engine));
    for (const node of all) node.engine.attach(node);
    await cluster.settle();
    return new TestCluster(all, cluster);
  }

  get open(): TestNode[] {
    return this.all.filter((node) => !this.closed.has(node));
  }

  get closedCount(): number {
    return this.closed.size;
  }

  others(node: TestNode): TestNode[] {
    return this.open.filter((other) => other !== node);
  }

  step = (): Promise<void> => this.cluster.step();
  settle = (): Promise<void> => this.cluster.settle();

  async close(node: TestNode): Promise<void> {
    this.closed.add(node);
    await node.engine.close();
  }

  /** The result of a call once everything has arrived; LATE: there is none by then. */
  async answer<T>(call: T | Promise<T>): Promise<T | typeof LATE> {
    await this.settle();
    return Promise.race([call, this.settle().then((): typeof LATE => LATE)]);
  }

  /** Whether a condition becomes true within some time. */
  async until(condition: () => boolean): Promise<boolean> {
    for (let check = 0; check < UNTIL_CHECKS && !condition(); check++) {
      await this.settle();
      await Bun.sleep(UNTIL_EVERY_MS);
    }
    return condition();
  }

  /** No node has recorded a violation of the contract. */
  check(): void {
    expect(this.all.flatMap((node) => node.violations.map((rule) => `${node.id}: ${rule}`))).toEqual([]);
  }

  async stop(): Promise<void> {
    for (const node of this.open) await this.close(node);
    await this.cluster.stop();
  }
}
