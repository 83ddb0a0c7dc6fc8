/**
 * The part of each turn of the process that work takes which can wait. Without such a bound, what thousands of clients ask for at
 * once would follow each other in one turn, for many seconds, and everything else would wait.
 *
 * It is a few milliseconds. When everything else takes longer than that, because many clients connect or because the machine is
 * busy, it is half as long as that, up to a limit: otherwise the work would hardly go on. Not more than half, because two shares
 * that count each other as everything else would grow without end.
 */
import type { Clock } from "../../base/clock.ts";
import { TURN_SHARE_MAX_MS, TURN_SHARE_MIN_MS } from "./limits.ts";

export interface LoopShareParts {
  readonly clock: Clock;
  /** Runs a callback after other events of this process had their turn. */
  readonly defer: (callback: () => void) => void;
}

export class LoopShare {
  private beganMs: number | undefined;
  private maxMs = TURN_SHARE_MIN_MS;
  /** When there was no time left; `undefined` if all work was done. */
  private endedMs: number | undefined;

  constructor(
    private readonly parts: LoopShareParts,
    /** Called in the turn after one with work, which may go on. */
    private readonly goOn: () => void,
  ) {}

  /** Whether this turn has no time left for more of the work. */
  isOver(): boolean {
    const nowMs = this.parts.clock.monotonicMs();
    this.beganMs ??= this.begin(nowMs);
    const isOver = nowMs - this.beganMs >= this.maxMs;
    if (isOver) this.endedMs ??= nowMs;
    return isOver;
  }

  private begin(nowMs: number): number {
    const elsewhereMs = this.endedMs === undefined ? 0 : nowMs - this.endedMs;
    this.maxMs = Math.min(Math.max(elsewhereMs / 2, TURN_SHARE_MIN_MS), TURN_SHARE_MAX_MS);
    this.endedMs = undefined;
    this.parts.defer(() => {
      this.beganMs = undefined;
      this.goOn();
      // Nothing was left to do.
      if (this.beganMs === undefined) this.endedMs = undefined;
    });
    return nowMs;
  }
}
