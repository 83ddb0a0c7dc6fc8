/**
 * The clocks of the service. Each name says which one is read, because they differ when the machine's time is set or the machine was
 * suspended: a deadline of the wrong clock lasts for as long as the clock was set back. Time is injected, so that tests control it.
 */
export interface Clock {
  /** Unix ms, the time that tokens, rows and people mean. It may be set, in either direction, and other nodes may be seconds apart. */
  readonly wallMs: () => number;
  /** ms since some moment, at the speed of time. No one sets it, and it may stand still while the machine is suspended. */
  readonly monotonicMs: () => number;
  /**
   * For deadlines within this process. It begins as Unix ms and never goes back; where the wall clock is set forward, it goes
   * forward too, because that is what waking from a suspension looks like.
   */
  readonly steadyMs: () => number;
  /** Unix ms for deletions by age: see retentionClock. */
  readonly retentionMs: () => number;
  /** Calls back once. */
  readonly after: (ms: number, callback: () => void) => void;
}

type Source = () => number;

/** A smaller difference between two readings is the work of a time service, or of rounding. */
export const STEP_MIN_MS = 1000;

/**
 * See Clock. Every reading compares the two clocks with the reading before: only what the wall clock gained at once counts, because
 * the sum of small differences would let this clock run fast.
 */
export function steadyClock(wallMs: Source, monotonicMs: Source): Source {
  let aheadMs = wallMs() - monotonicMs();
  let offsetMs = aheadMs;
  return () => {
    const runningMs = monotonicMs();
    const nowAheadMs = wallMs() - runningMs;
    const stepMs = nowAheadMs - aheadMs;
    aheadMs = nowAheadMs;
    if (stepMs >= STEP_MIN_MS) offsetMs += stepMs;
    return runningMs + offsetMs;
  };
}

/**
 * Unix ms without the steps of the wall clock: what is kept for minutes is neither forgotten nor kept for longer because the time was
 * set. `notBeforeMs`: where an earlier process got to with it.
 */
export function steplessClock(wallMs: Source, monotonicMs: Source, notBeforeMs: number): Source {
  let aheadMs = wallMs() - monotonicMs();
  let offsetMs = Math.max(0, notBeforeMs - wallMs());
  return () => {
    const nowMs = wallMs();
    const nowAheadMs = nowMs - monotonicMs();
    const stepMs = nowAheadMs - aheadMs;
    aheadMs = nowAheadMs;
    if (Math.abs(stepMs) >= STEP_MIN_MS) offsetMs -= Math.round(stepMs);
    return nowMs + offsetMs;
  };
}

/** A wall clock that was set forward by more than this, and has not been for that long, decides no deletion. */
export const DOUBTED_STEP_MS = 3_600_000;

/**
 * Unix ms for deletions by age, which cannot be undone: a clock that is a year ahead for a minute must not empty the store. Where the
 * wall clock is set forward by more than an hour, this one goes on as if nothing had happened, and follows an hour later. It
 * follows at once where the wall clock is set back. What was wrong when the process started cannot be noticed.
 */
export function retentionClock(wallMs: Source, monotonicMs: Source): Source {
  let aheadMs = wallMs() - monotonicMs();
  let doubtedSinceMs: number | undefined;
  return () => {
    const runningMs = monotonicMs();
    const nowAheadMs = wallMs() - runningMs;
    if (nowAheadMs - aheadMs > DOUBTED_STEP_MS) {
      doubtedSinceMs ??= runningMs;
      if (runningMs - doubtedSinceMs < DOUBTED_STEP_MS) return runningMs + aheadMs;
    }
    doubtedSinceMs = undefined;
    aheadMs = nowAheadMs;
    return runningMs + nowAheadMs;
  };
}

const wallMs = (): number => Date.now();
const monotonicMs = (): number => performance.now();

export const systemClock: Clock = {
  wallMs,
  monotonicMs,
  steadyMs: steadyClock(wallMs, monotonicMs),
  // One per process: what one part doubts, all of them doubt.
  retentionMs: retentionClock(wallMs, monotonicMs),
  after: (ms, callback) => {
    // No boundary: this is the system's clock; a node uses it through guardedClock.
    setTimeout(callback, ms);
  },
};
