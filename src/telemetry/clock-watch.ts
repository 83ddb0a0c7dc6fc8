/** Notices when the machine's clock is set: times of tokens, blocks and sessions are compared with it. */
import type { Clock } from "../base/clock.ts";

/** Less is the work of a time service, and no one notices it. */
const JUMP_MIN_MS = 2000;

interface ClockWatchParts extends Pick<Clock, "wallMs" | "monotonicMs"> {
  /** `byMs`: negative if the clock was set back. */
  readonly jumped: (byMs: number) => void;
}

export class ClockWatch {
  private aheadMs: number;

  constructor(private readonly parts: ClockWatchParts) {
    this.aheadMs = this.measure();
  }

  /** To be called again and again. */
  check(): void {
    const aheadMs = this.measure();
    const byMs = aheadMs - this.aheadMs;
    this.aheadMs = aheadMs;
    if (Math.abs(byMs) >= JUMP_MIN_MS) this.parts.jumped(byMs);
  }

  private measure(): number {
    return this.parts.wallMs() - this.parts.monotonicMs();
  }
}
