/**
 * Keeps the log bounded, whatever is done to the service: of each reason a few lines are written per minute, then one line
 * that counts the rest. `makeLog` applies it to every warning and error, so no call site can forget it.
 */

/** Lines of one reason within one window; further ones are only counted. */
export const LINES_PER_REASON = 10;
export const LOG_WINDOW_MS = 60_000;
/** Bound: a log remembers so many reasons at once; further ones share one allowance. */
export const LOG_REASONS_MAX = 200;
const OTHER = "(other reasons)";

export interface LogClock {
  monotonicMs(): number;
  after(ms: number, callback: () => void): void;
}

interface Window {
  readonly endsMs: number;
  written: number;
  dropped: number;
}

export class LogRate {
  private readonly windows = new Map<string, Window>();

  constructor(private readonly clock: LogClock) {}

  /** Whether to write a line now. If not, `sum` is called once when the window ends, with the number of lines left out. */
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
    // A window that has left lines out is closed by its timer, which counts them.
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
