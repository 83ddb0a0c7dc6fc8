/**
 * Gathers events for readers of other nodes. A node repeats the filters of its readers every RENEW_EVERY_MS, and this node gathers for
 * them until LEASE_MS after the last time: what a node asked for ends by itself when that node is gone.
 */
import type { Clock } from "../../base/clock.ts";
import type { NodeName } from "../../engine/engine.ts";
import { LEASE_MS, LEASES_MAX, REMOTE_READ_ROLE_READERS_MAX, REMOTE_READERS_MAX } from "../../telemetry/tail/limits.ts";
import { TailReader, type TailSink } from "../../telemetry/tail/reader.ts";
import type { Tail } from "../../telemetry/tail/tail.ts";
import type { GatheredEvents, WatchRequest } from "./tail-decode.ts";
import { tailFilter } from "./tail-filter.ts";

interface WatchParts {
  readonly tail: Tail;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
  readonly send: (node: NodeName, events: GatheredEvents) => void;
}

interface Lease {
  version: number;
  endsMs: number;
  /** By the id that the other node has given them. Bound: READERS_MAX; REMOTE_READERS_MAX of all nodes together. */
  readonly readers: Map<string, TailReader>;
}

const LOOK_EVERY_MS = 1000;

export class TailWatches {
  /** By node. Bound: LEASES_MAX; removed LEASE_MS after their last request. */
  private readonly leases = new Map<NodeName, Lease>();
  /** Readers of all leases. */
  private count = 0;
  /** Those of operators of the role read. */
  private readRoleCount = 0;
  private isLooking = false;

  constructor(private readonly parts: WatchParts) {}

  get size(): number {
    return this.count;
  }

  /** Returns the ids of the readers that this node gathers for from now on. */
  renew({ from, version, readers }: WatchRequest): string[] {
    const lease = this.leases.get(from) ?? { version: -1, endsMs: 0, readers: new Map() };
    // Requests may overtake each other: an older one must not bring back a reader that has ended.
    if (version <= lease.version) return [...lease.readers.keys()];
    // Before anything changes: a malformed filter throws.
    const added = readers.flatMap(({ id, query }) =>
      lease.readers.has(id) ? [] : [{ id, reader: new TailReader(tailFilter(query), this.sinkTo(from, id)) }],
    );
    if (!this.leases.has(from)) {
      if (readers.length === 0 || this.leases.size >= LEASES_MAX) return [];
      this.leases.set(from, lease);
    }
    lease.version = version;
    lease.endsMs = this.parts.clock.monotonicMs() + LEASE_MS;
    const wanted = new Set(readers.map(({ id }) => id));
    for (const id of lease.readers.keys()) if (!wanted.has(id)) this.end(lease, id);
    for (const { id, reader } of added) {
      if (lease.readers.has(id) || this.count >= REMOTE_READERS_MAX) continue;
      if (!reader.isOfAdmin && this.readRoleCount >= REMOTE_READ_ROLE_READERS_MAX) continue;
      lease.readers.set(id, reader);
      this.count++;
      if (!reader.isOfAdmin) this.readRoleCount++;
      this.parts.tail.add(reader);
    }
    this.look();
    return [...lease.readers.keys()];
  }

  /** This node stops. */
  close(): void {
    for (const lease of this.leases.values()) for (const id of lease.readers.keys()) this.end(lease, id);
    this.leases.clear();
  }

  private sinkTo(node: NodeName, reader: string): TailSink {
    let total = 0;
    return {
      isReady: true,
      write: (lines, dropped) => {
        total += lines.length + dropped;
        this.parts.send(node, { reader, lines, total });
      },
    };
  }

  private end(lease: Lease, id: string): void {
    const reader = lease.readers.get(id);
    if (!reader) return;
    lease.readers.delete(id);
    this.count--;
    if (!reader.isOfAdmin) this.readRoleCount--;
    this.parts.tail.remove(reader);
  }

  /** Looks for leases that have ended, while there are any. */
  private look(): void {
    if (this.isLooking || this.leases.size === 0) return;
    this.isLooking = true;
    const { clock } = this.parts;
    clock.after(LOOK_EVERY_MS, () => {
      this.isLooking = false;
      try {
        for (const [node, lease] of this.leases) {
          if (clock.monotonicMs() < lease.endsMs) continue;
          for (const id of lease.readers.keys()) this.end(lease, id);
          this.leases.delete(node);
        }
      } finally {
        this.look();
      }
    });
  }
}
