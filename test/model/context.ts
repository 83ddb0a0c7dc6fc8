/** What the parts of a walk share: the nodes, the model's connections and messages, and the record of what happened. */

import { DampingLog } from "./damping.ts";
import type { Connection, Message } from "./model.ts";
import type { ReaderContext } from "./reader.ts";
import { World, type WorldOptions } from "./world.ts";

export class Context implements ReaderContext {
  readonly world: World;
  readonly connections: Connection[] = [];
  readonly messages = new Map<number, Message>();
  readonly damping: DampingLog;
  readonly isOneNode: boolean;
  readonly startMs: number;
  lastReadMs: number;
  /** How often each kind of event happened: a walk without events would test nothing. */
  readonly counts = new Map<string, number>();
  /** What happened, for people to read. */
  readonly trail: string[] = [];
  /** Checks that wait for an answer. */
  readonly promised: Promise<void>[] = [];

  constructor(options: WorldOptions) {
    this.world = new World(options);
    this.isOneNode = options.nodes === 1;
    this.startMs = this.nowMs();
    this.damping = new DampingLog(this.nowMs);
    this.lastReadMs = this.startMs;
  }

  nowMs = (): number => this.world.clock.nowMs();

  get open(): Connection[] {
    return this.connections.filter((connection) => connection.isOpen);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  note(what: string): void {
    this.trail.push(`${this.nowMs() - this.startMs} ms: ${what}`);
  }
}
