/** For tests: a clock that the test advances. */
import type { Clock } from "../clock.ts";
import { steadyClock } from "../clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  private unixMs: number;
  private runningMs = 5000;
  private steady: (() => number) | undefined;
  private order = 0;
  private readonly timers: Timer[] = [];

  constructor(startMs = Date.UTC(2027, 0, 15, 12)) {
    this.unixMs = startMs;
  }

  wallMs = (): number => this.unixMs;
  monotonicMs = (): number => this.runningMs;
  retentionMs = this.wallMs;
  /** Made at the first reading: before it, nothing can have been compared with it. */
  steadyMs = (): number => {
    this.steady ??= steadyClock(this.wallMs, this.monotonicMs);
    return this.steady();
  };

  after = (ms: number, callback: () => void): void => {
    this.timers.push({ dueMs: this.runningMs + ms, order: this.order++, callback });
  };

  /** Timers that wait. */
  get waiting(): number {
    return this.timers.length;
  }

  /** Advances both clocks; timers fire in the order in which they are due. */
  advance(ms: number): void {
    const untilMs = this.runningMs + ms;
    for (let next = this.next(untilMs); next; next = this.next(untilMs)) {
      this.timers.splice(this.timers.indexOf(next), 1);
      this.pass(Math.max(0, next.dueMs - this.runningMs));
      next.callback();
    }
    this.pass(untilMs - this.runningMs);
  }

  /** The wall clock was set, or the machine was suspended: timers are not affected. */
  jump(ms: number): void {
    this.unixMs += ms;
  }

  private next(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.timers) if (timer.dueMs <= untilMs && (!next || isBefore(timer, next))) next = timer;
    return next;
  }

  private pass(ms: number): void {
    this.unixMs += ms;
    this.runningMs += ms;
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
