/** Time, injected: below the socket nothing asks the system for it. */
export interface Clock {
  /** Unix ms; may jump. */
  nowMs(): number;
  /** Never jumps back. */
  monotonicMs(): number;
  /** Calls back once, later. */
  after(ms: number, callback: () => void): void;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, callback) => {
    setTimeout(callback, ms);
  },
};
