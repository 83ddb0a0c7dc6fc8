/** Wakes readers at the end of the turn that has caused it, and not for longer than a few milliseconds of each turn: the rest goes on in the next. */
import { SLICE_MS } from "../limits.ts";

/** Something with work for many readers. */
export interface Sliced {
  /** Does some of it; returns true when none is left. */
  goOn(untilMs: number): boolean;
}

interface SlicesParts {
  readonly monotonicMs: () => number;
  /** Calls back when what has arrived already has been read from its sockets. */
  readonly defer: (callback: () => void) => void;
}

export class Slices {
  /** In the order of their turns. Bound: feeds with readers, and the sweep. */
  private readonly due = new Set<Sliced>();
  private isScheduled = false;

  constructor(private readonly parts: SlicesParts) {}

  add(one: Sliced): void {
    this.due.add(one);
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.parts.defer(() => this.run());
  }

  private run(): void {
    this.isScheduled = false;
    const untilMs = this.parts.monotonicMs() + SLICE_MS;
    for (const one of this.due) {
      this.due.delete(one);
      // What has more to do waits until the others had their turn.
      if (!one.goOn(untilMs)) this.add(one);
      if (this.parts.monotonicMs() >= untilMs) break;
    }
    for (const one of this.due) return this.add(one);
  }
}
