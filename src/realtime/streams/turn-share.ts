/**
 * The part of each turn of the process that work takes which can wait. Without such a bound, what thousands of clients ask for at
 * once would follow each other in one turn, for many seconds, and everything else would wait.
 */
import type { Clock } from "../clock.ts";

export interface TurnShareParts {
  readonly clock: Clock;
  /** Runs a callback after other events of this process had their turn. */
  readonly defer: (callback: () => void) => void;
}

export class TurnShare {
  private beganMs: number | undefined;

  constructor(
    private readonly parts: TurnShareParts,
    private readonly maxMs: number,
    /** Called in the turn after one with work, which may go on. */
    private readonly goOn: () => void,
  ) {}

  /** Whether this turn has no time left for more of the work. */
  isOver(): boolean {
    const { clock, defer } = this.parts;
    const nowMs = clock.monotonicMs();
    if (this.beganMs === undefined) {
      this.beganMs = nowMs;
      defer(() => {
        this.beganMs = undefined;
        this.goOn();
      });
    }
    return nowMs - this.beganMs >= this.maxMs;
  }
}
