/** Observers in several channels, some on each node, which record presence changes. */
import type { Server } from "../../support/parley.ts";
import { until } from "../../support/wait.ts";
import type { Cluster } from "./cluster.ts";
import { type Change, Observer } from "./observer.ts";

const PER_NODE = 2;

/** A cluster, or a service whose workers share one address. */
type Joined = Pick<Cluster, "key" | "node">;

export class Gathering {
  private constructor(
    private readonly cluster: Joined,
    private readonly byNode: readonly (readonly Observer[])[],
  ) {}

  /** Resolves when all members of a channel know each other; nothing is recorded before that. */
  static async in(cluster: Joined, channels: number, nodes: readonly number[] = [0, 1, 2]): Promise<Gathering> {
    const run = crypto.randomUUID().slice(0, 8);
    const seats = Array.from({ length: channels * PER_NODE }, (_, at) => at);
    const join = (node: Server, at: number, seat: number): Promise<Observer> =>
      Observer.join(node, cluster.key, `${run}-${at}-${seat}`, `gathering/${run}/${seat % channels}`);
    const byNode = await Promise.all(
      nodes.map((at) => Promise.all(seats.map((seat) => join(cluster.node(at), at, seat)))),
    );
    const gathering = new Gathering(cluster, byNode);
    await gathering.acquainted();
    gathering.forget();
    return gathering;
  }

  get all(): readonly Observer[] {
    return this.byNode.flat();
  }

  on(node: number): readonly Observer[] {
    return this.byNode[node] ?? [];
  }

  notOn(node: number): readonly Observer[] {
    return this.byNode.filter((_, at) => at !== node).flat();
  }

  /** Resolves when each has exactly the remaining members of its channel; returns how long that took. */
  acquainted(among: readonly Observer[] = this.all, withinMs?: number): Promise<number> {
    return until("a roster is wrong", () => among.every((one) => isRight(one, among)), withinMs);
  }

  forget(): void {
    for (const one of this.all) one.forget();
  }

  /** Adds an observer to the channel of this one. */
  join(beside: Observer, node: number): Promise<Observer> {
    return Observer.join(this.cluster.node(node), this.cluster.key, `late-${crypto.randomUUID()}`, beside.channel);
  }

  leave(): void {
    for (const one of this.all) one.leave();
  }

  [Symbol.dispose](): void {
    this.leave();
  }
}

function isRight(one: Observer, among: readonly Observer[]): boolean {
  const present = among.filter(({ channel, closeCode }) => channel === one.channel && closeCode === undefined);
  return one.closeCode !== undefined || one.knows(present.map(({ peer }) => peer));
}

/** The peers of that list that are in an observer's channel. */
export const peersBeside = ({ channel }: Observer, list: readonly Observer[]): string[] =>
  list
    .filter((one) => one.channel === channel)
    .map(({ peer }) => peer)
    .sort();

/** The changes without their times and with sorted names, to be compared. */
export const changesOf = ({
  changes,
}: {
  readonly changes: readonly Change[];
}): { joined: string[]; left: string[] }[] =>
  changes.map(({ joined, left }) => ({ joined: joined.toSorted(), left: left.toSorted() }));
