/**
 * Bounds the size of the log, whatever clients do: per minute and reason a few lines are written, then one line that counts the
 * rest. `makeLog` applies this to every warning and error, so no caller can forget it.
 */
import type { Clock } from "../base/clock.ts";

/** Lines per reason and window; further ones are only counted. */
export const LINES_PER_REASON = 10;
export const LOG_WINDOW_MS = 60_000;
/** Bound: the number of reasons tracked at once; further reasons share one window. */
export const LOG_REASONS_MAX = 200;
const OTHER = "(other reasons)";

export type LogClock = Pick<Clock, "monotonicMs" | "after">;

interface Window {
  readonly endsMs: number;
  written: number;
  dropped: number;
}

export class LogRate {
  /** By reason. Bound: LOG_REASONS_MAX, further reasons share one window. */
  private readonly windows = new Map<string, Window>();

  constructor(private readonly clock: LogClock) {}

  /** Whether to write a line now. If not, `sum` is called once at the end of the window, with the number of lines left out. */
  allows(reason: string, sum: (leftOut: number) => void): boolean {
    const now = this.clock.monotonicMs();
    const [key, window] = this.windowOf(reason, now);
    if (window.written < LINES_PER_REASON) {
      window.written++;
      return true;
    }
    window.dropped++;
    if (window.dropped === 1)
      this.clock.after(window.endsMs - now, () => {
        this.windows.delete(key);
        sum(window.dropped);
      });
    return false;
  }

  private windowOf(reason: string, nowMs: number): [key: string, window: Window] {
    const key = this.hasRoomFor(reason, nowMs) ? reason : OTHER;
    let window = this.windows.get(key);
    // A window that has left lines out is closed by its timer, which reports their number.
    if (!window || (window.endsMs <= nowMs && window.dropped === 0)) {
      window = { endsMs: nowMs + LOG_WINDOW_MS, written: 0, dropped: 0 };
      this.windows.set(key, window);
    }
    return [key, window];
  }

  private hasRoomFor(reason: string, nowMs: number): boolean {
    if (this.windows.has(reason) || this.windows.size < LOG_REASONS_MAX) return true;
    for (const [key, { endsMs, dropped }] of this.windows)
      if (endsMs <= nowMs && dropped === 0) this.windows.delete(key);
    return this.windows.size < LOG_REASONS_MAX;
  }
}
