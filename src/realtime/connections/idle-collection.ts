/**
 * Gives memory back after many connections have come or gone. What a connect leaves behind is garbage, but the runtime collects by
 * how much is allocated: a node at rest would keep it, up to as much as everything that is in use. So when many connections have
 * come or gone and the process has little to do, it collects once.
 */
import type { Clock } from "../../base/clock.ts";
import type { ConnectionObserver } from "./connections.ts";

/** Connections that come or go until a collection is worth it. */
export const COLLECT_AFTER = 5000;
export const LOOK_EVERY_MS = 1000;
/** Connections that come and go all the time are left to the runtime. */
export const COLLECT_EVERY_MS = 600_000;
/** A node that fills up does not wait for that: with this many more than at any collection before, at most ten times in its life. */
export const COLLECT_AT_MORE = 2500;
/** A collection stops the process for a few microseconds per connection: with more than these it is left to the runtime. */
export const COLLECT_CONNECTIONS_MAX = 25_000;
/** As long as more come or go between two looks, the rest is waited for. */
const CALM = COLLECT_AFTER / 10;
/** CPU time per time below which the process has little to do. */
const IDLE_SHARE = 0.2;
/** A collection looks at everything that is alive, also at what channels keep in memory. */
export const COLLECT_HEAP_MAX_BYTES = 96 * 1024 * 1024;

interface IdleCollectionParts {
  readonly clock: Clock;
  /** CPU time of this process so far. */
  readonly cpuMs: () => number;
  /** How many connections there are. */
  readonly connections: () => number;
  /** Bytes of the runtime's heap. */
  readonly heapBytes: () => number;
  readonly collect: () => void;
}

export class IdleCollection implements ConnectionObserver {
  /** Connections that have come or gone since the last collection. */
  private changes = 0;
  private isTimerSet = false;
  private notBeforeMs = 0;
  /** How many connections there were at most when it was collected. */
  private collectedAt = 0;

  constructor(private readonly parts: IdleCollectionParts) {}

  connected(): void {
    this.count();
  }

  disconnected(): void {
    this.count();
  }

  private count(): void {
    if (++this.changes < COLLECT_AT_MORE || this.isTimerSet) return;
    const isDue = this.changes >= COLLECT_AFTER && this.parts.clock.monotonicMs() >= this.notBeforeMs;
    if (isDue || this.hasGrown) this.look();
  }

  private get hasGrown(): boolean {
    return this.collectedAt > 0 && this.parts.connections() >= this.collectedAt + COLLECT_AT_MORE;
  }

  private look(): void {
    const { clock, cpuMs, connections, heapBytes, collect } = this.parts;
    const [sinceMs, cpuBeforeMs, changesBefore] = [clock.monotonicMs(), cpuMs(), this.changes];
    this.isTimerSet = true;
    clock.after(LOOK_EVERY_MS, () => {
      this.isTimerSet = false;
      const share = (cpuMs() - cpuBeforeMs) / (clock.monotonicMs() - sinceMs);
      if (share > IDLE_SHARE || this.changes - changesBefore > CALM) return this.look();
      this.changes = 0;
      this.notBeforeMs = clock.monotonicMs() + COLLECT_EVERY_MS;
      if (connections() > COLLECT_CONNECTIONS_MAX || heapBytes() > COLLECT_HEAP_MAX_BYTES) return;
      this.collectedAt = Math.max(this.collectedAt, connections());
      collect();
    });
  }
}

/** CPU time that this process has used so far. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Bytes of the runtime's heap in this process. */
export const processHeapBytes = (): number => process.memoryUsage().heapUsed;
