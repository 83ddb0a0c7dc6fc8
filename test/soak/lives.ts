/** Memory and CPU of the nodes' processes, life by life: a life is from a node's start to its restart. */
import type { SoakNodes } from "./nodes.ts";
import { cpuSeconds, FLAT_AFTER_MINUTES, type Flatness, flatness, RSS_MAX_MIB, rssMib } from "./weigh.ts";

interface Life {
  readonly node: number;
  readonly pid: number;
  readonly startedMs: number;
  /** After the start-up, when its part of the crowd has connected. */
  firstMib: number;
  lastMib: number;
  mostMib: number;
  /** undefined: the node does not have the metric. */
  faults: number | undefined;
}

export interface Memory {
  readonly elder: Flatness & { readonly mostMib: number };
  /** [first, last] of every later life, MiB. */
  readonly lives: readonly (readonly [number, number])[];
}

const ELDER = 0;
const FIRST_AFTER_MS = 10_000;

export class Lives {
  private readonly lives: Life[] = [];
  private readonly elderMib: number[] = [];
  private readonly cpuAt = new Map<number, number>();

  constructor(private readonly nodes: SoakNodes) {}

  sample(): void {
    for (const [node, pid] of this.nodes.pids.entries()) {
      const mib = rssMib(pid);
      if (mib === 0) continue;
      const life = this.lifeOf(node, pid);
      if (performance.now() - life.startedMs < FIRST_AFTER_MS) life.firstMib = mib;
      life.lastMib = mib;
      life.mostMib = Math.max(life.mostMib, mib);
      if (node === ELDER) this.elderMib.push(mib);
    }
  }

  /** Reads running nodes' own metrics. */
  async count(): Promise<void> {
    for (const node of this.nodes.upNodes) {
      const pid = this.nodes.pid(node);
      const faults = await this.nodes.metric(node, "parley_faults_total").catch(() => undefined);
      if (this.nodes.pid(node) === pid && faults !== undefined) this.lifeOf(node, pid).faults = faults;
    }
  }

  /** undefined: no node has the metric. */
  get faults(): number | undefined {
    const counted = this.lives.flatMap(({ faults }) => (faults === undefined ? [] : [faults]));
    return counted.length === 0 ? undefined : counted.reduce((sum, one) => sum + one, 0);
  }

  /** Current memory, by node. */
  get nowMib(): readonly number[] {
    return this.nodes.pids.map((pid) => Math.round(rssMib(pid)));
  }

  /** CPU of each node since the last call, in percent of a core. A node that was started meanwhile counts from its start. */
  cpuPercent(seconds: number): readonly number[] {
    return this.nodes.pids.map((pid) => {
      const now = cpuSeconds(pid);
      const used = now - (this.cpuAt.get(pid) ?? 0);
      this.cpuAt.set(pid, now);
      return Math.round((used / seconds) * 100);
    });
  }

  get memory(): Memory {
    return {
      elder: { ...flatness(this.elderMib), mostMib: Math.round(Math.max(...this.elderMib)) },
      lives: this.lives
        .filter(({ node }) => node !== ELDER)
        .map(({ firstMib, lastMib }) => [Math.round(firstMib), Math.round(lastMib)]),
    };
  }

  /** Violations, as sentences. */
  problems(minutes: number): readonly string[] {
    const { elder } = this.memory;
    const heavy = this.lives.filter(({ mostMib }) => mostMib > RSS_MAX_MIB);
    return [
      ...heavy.map(({ node, mostMib }) => `node ${node} took ${Math.round(mostMib)} MiB, over ${RSS_MAX_MIB}`),
      ...(minutes >= FLAT_AFTER_MINUTES && !elder.isFlat
        ? [`the elder grew: ${elder.secondQuarterMib} MiB in the second quarter, ${elder.lastQuarterMib} in the last`]
        : []),
    ];
  }

  private lifeOf(node: number, pid: number): Life {
    let life = this.lives.find((one) => one.pid === pid);
    if (!life) {
      const startedMs = performance.now();
      life = { node, pid, startedMs, firstMib: 0, lastMib: 0, mostMib: 0, faults: undefined };
      this.lives.push(life);
    }
    return life;
  }
}
