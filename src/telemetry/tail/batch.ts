/** What one reader gets next: a bounded number of events, and a count of those beyond. */
import { BATCH_EVENTS_MAX, BATCH_MAX_CHARS } from "./limits.ts";

export class Batch {
  /** Bound: BATCH_EVENTS_MAX and BATCH_MAX_CHARS; further events are counted. */
  private lines: string[] = [];
  private chars = 0;
  private dropped = 0;

  /** Whether the next event has room. If not, it is counted, and the caller does not build it. */
  admits(): boolean {
    if (this.lines.length < BATCH_EVENTS_MAX && this.chars < BATCH_MAX_CHARS) return true;
    this.dropped++;
    return false;
  }

  add(line: string): void {
    this.lines.push(line);
    this.chars += line.length;
  }

  /** Events that were lost elsewhere. */
  addDropped(count: number): void {
    this.dropped += count;
  }

  get isEmpty(): boolean {
    return this.lines.length === 0 && this.dropped === 0;
  }

  /** Empties the batch. */
  take(): { readonly lines: readonly string[]; readonly dropped: number } {
    const { lines, dropped } = this;
    this.lines = [];
    this.chars = 0;
    this.dropped = 0;
    return { lines, dropped };
  }
}
