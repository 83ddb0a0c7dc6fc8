/** What the parts of a walk share: the nodes, the model's lines and words, and the record of what happened. */
import type { Scene } from "./ears.ts";
import { ShownLog } from "./shown.ts";
import type { Line, Word } from "./truth.ts";
import { World, type WorldOptions } from "./world.ts";

export class Stage implements Scene {
  readonly world: World;
  readonly lines: Line[] = [];
  readonly words = new Map<number, Word>();
  readonly shown: ShownLog;
  readonly isOneNode: boolean;
  readonly startMs: number;
  lookedMs: number;
  /** How often what happened: a walk on which nothing happens shows nothing. */
  readonly counts = new Map<string, number>();
  /** What happened, to be read by people. */
  readonly trail: string[] = [];
  /** Checks that wait for an answer. */
  readonly promised: Promise<void>[] = [];

  constructor(options: WorldOptions) {
    this.world = new World(options);
    this.isOneNode = options.nodes === 1;
    this.startMs = this.nowMs();
    this.shown = new ShownLog(this.nowMs);
    this.lookedMs = this.startMs;
  }

  nowMs = (): number => this.world.clock.nowMs();

  get open(): Line[] {
    return this.lines.filter((line) => line.isOpen);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  note(what: string): void {
    this.trail.push(`${this.nowMs() - this.startMs} ms: ${what}`);
  }
}
