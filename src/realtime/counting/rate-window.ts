/**
 * How often something happened lately, without a clock or a timer per object: a node counts in windows of a few seconds that all
 * objects share. An object counts in the window it was last used in and remembers the one before.
 */

/** An object that counts in windows. `window` is the number of the window that `current` belongs to. */
export interface Windowed {
  readonly window: number;
  readonly current: number;
  readonly before: number;
}

export class RateWindow {
  /** Compared with every frame. */
  number = 1;

  constructor(
    private readonly lengthMs: number,
    /** Monotonic ms. */
    private startedMs: number,
  ) {}

  /** The next window begins. */
  advance(nowMs: number): void {
    this.number++;
    this.startedMs = nowMs;
  }

  /** Over this window and as much of the one before as makes a whole one. */
  perSecond({ window, current, before }: Windowed, nowMs: number): number {
    const age = this.number - window;
    const [now, last] = age === 0 ? [current, before] : [0, age === 1 ? current : 0];
    const elapsedMs = Math.max(0, nowMs - this.startedMs);
    const ofLast = Math.max(0, 1 - elapsedMs / this.lengthMs);
    return ((now + last * ofLast) * 1000) / Math.max(this.lengthMs, elapsedMs);
  }
}
