/** Time, injected: below the socket nothing asks the system for it. */
import type { Faults } from "../telemetry/faults.ts";

export interface Clock {
  /** Unix ms; may jump. */
  nowMs(): number;
  /** Never jumps back. */
  monotonicMs(): number;
  /** Calls back once, later. In a node nothing that the callback throws, or rejects with, gets further than the clock. */
  after(ms: number, callback: () => void): void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, callback) => {
    setTimeout(callback, ms);
  },
};

/** The same clock with a boundary around every callback: an exception in a timer would end the process. */
export const guardedClock = ({ nowMs, monotonicMs, after }: Clock, faults: Pick<Faults, "guarded">): Clock => ({
  nowMs,
  monotonicMs,
  after: (ms, callback) => after(ms, faults.guarded("timer", callback)),
});
