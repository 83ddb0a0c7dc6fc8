/** Time is injected, so that tests control it. Nothing below the socket reads the system clock. */
import type { Faults } from "../telemetry/faults.ts";

export interface Clock {
  /** Unix ms; may jump. */
  nowMs(): number;
  /** Never jumps back. */
  monotonicMs(): number;
  /** Calls back once. In a node, what the callback throws or rejects with is caught and reported (guardedClock). */
  after(ms: number, callback: () => void): void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, callback) => {
    setTimeout(callback, ms);
  },
};

/** The same clock with every callback guarded: an exception in a timer would end the process. */
export const guardedClock = ({ nowMs, monotonicMs, after }: Clock, faults: Pick<Faults, "guarded">): Clock => ({
  nowMs,
  monotonicMs,
  after: (ms, callback) => after(ms, faults.guarded("timer", callback)),
});
