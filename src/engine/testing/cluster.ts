/** For tests: what the engine's suite runs against. */
import { expect } from "bun:test";
import type { Engine } from "../engine.ts";
import { TestNode } from "./test-node.ts";

export interface Cluster {
  /** One a node, not attached yet. */
  readonly engines: readonly Engine[];
  /** Some time passes; something may arrive. */
  step(): Promise<void>;
  /** Resolves when everything that was given has arrived, and everything that was asked is answered. */
  settle(): Promise<void>;
  /** Ends what the engines stand on; they are closed already. */
  stop(): Promise<void>;
}

/** `seed` decides whatever chance decides in it. */
export type MakeCluster = (nodes: number, seed: number) => Promise<Cluster>;

export const SEED = 20_261;
const UNTIL_LOOKS = 250;
const UNTIL_EVERY_MS = 20;
export const LATE = "not answered";

/** How a test of the suite begins: with nodes that have found each other, the first two by name. */
export interface Beginning {
  readonly nodes: Nodes;
  readonly ann: TestNode;
  readonly ben: TestNode;
}

export type Begin = () => Promise<Beginning>;

/** A cluster with a node on each engine. */
export class Nodes {
  private readonly closed = new Set<TestNode>();

  private constructor(
    readonly all: readonly TestNode[],
    private readonly cluster: Cluster,
  ) {}

  static async of(makeCluster: MakeCluster, size: number, seed = SEED): Promise<Nodes> {
    const cluster = await makeCluster(size, seed);
    const all = cluster.engines.map((engine, i) => new TestNode(`n${i}`, engine));
    for (const node of all) node.engine.attach(node);
    await cluster.settle();
    return new Nodes(all, cluster);
  }

  get open(): TestNode[] {
    return this.all.filter((node) => !this.closed.has(node));
  }

  get closings(): number {
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

  /** What a call has answered once everything has arrived. */
  async answer<T>(call: T | Promise<T>): Promise<T | typeof LATE> {
    await this.settle();
    return Promise.race([call, this.settle().then((): typeof LATE => LATE)]);
  }

  /** Whether something comes to be so, given some time. */
  async until(isSo: () => boolean): Promise<boolean> {
    for (let look = 0; look < UNTIL_LOOKS && !isSo(); look++) {
      await this.settle();
      await Bun.sleep(UNTIL_EVERY_MS);
    }
    return isSo();
  }

  /** No node has seen a rule broken. */
  check(): void {
    expect(this.all.flatMap((node) => node.broken.map((rule) => `${node.id}: ${rule}`))).toEqual([]);
  }

  async stop(): Promise<void> {
    for (const node of this.open) await this.close(node);
    await this.cluster.stop();
  }
}
