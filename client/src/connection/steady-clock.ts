/**
 * Milliseconds that never go back, for deadlines. `performance.now()` stands still in some browsers while the machine sleeps, and
 * `Date.now()` goes back when the clock is set: this goes on with the first, and jumps where the second has jumped forward.
 */

/** A smaller difference between two readings is the work of a time service, or of rounding. */
const STEP_MIN_MS = 1000;

export type SteadyClock = () => number;

export function steadyClock(): SteadyClock {
  let aheadMs = Date.now() - performance.now();
  let offsetMs = 0;
  return () => {
    const runningMs = performance.now();
    const nowAheadMs = Date.now() - runningMs;
    if (nowAheadMs - aheadMs >= STEP_MIN_MS) offsetMs += nowAheadMs - aheadMs;
    aheadMs = nowAheadMs;
    return runningMs + offsetMs;
  };
}
