/** The progress of a transfer: a bar on a terminal, nothing elsewhere. */
import { humanBytes } from "../../base/human-bytes.ts";

const DRAW_EVERY_MS = 100;
const BAR_CELLS = 24;

/** 75 → "1:15". */
export function humanSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const rest = String(whole % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export class Progress {
  private readonly isShown: boolean;
  private drawn = Number.NEGATIVE_INFINITY;
  private begun: { at: number; bytes: number } | undefined;

  constructor(
    private readonly total: number,
    private readonly terminal: Terminal = process.stderr,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.isShown = terminal.isTTY === true;
  }

  at(bytes: number): void {
    if (!this.isShown) return;
    const now = this.nowMs();
    // Bytes that were transferred before the start must not count towards the speed.
    this.begun ??= { at: now, bytes };
    if (bytes < this.total && now - this.drawn < DRAW_EVERY_MS) return;
    this.drawn = now;
    this.terminal.write(`\r\u001b[K${this.line(bytes, now)}`);
  }

  /** Clears the line, so that further output takes its place. */
  end(): void {
    if (this.isShown) this.terminal.write("\r\u001b[K");
  }

  line(bytes: number, now: number): string {
    const share = this.total === 0 ? 1 : Math.min(1, bytes / this.total);
    const filled = Math.floor(share * BAR_CELLS);
    const bar = `[${"#".repeat(filled)}${"-".repeat(BAR_CELLS - filled)}]`;
    const { at, bytes: from } = this.begun ?? { at: now, bytes };
    const perSecond = ((bytes - from) / Math.max(1, now - at)) * 1000;
    const speed =
      perSecond > 0
        ? `  ${humanBytes(Math.round(perSecond))}/s  ${humanSeconds((this.total - bytes) / perSecond)} left`
        : "";
    const text = `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${humanBytes(bytes)} of ${humanBytes(this.total)}${speed}`;
    // A line that wraps could not be overwritten. `columns` is 0 if the width is unknown.
    return text.slice(0, Math.max(10, (this.terminal.columns || 80) - 1));
  }
}
