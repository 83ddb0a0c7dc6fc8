/** The clocks of the embedded history. A step of the wall clock must cost neither messages nor the memory of their ids. */
import { retentionMs, systemClock } from "../base/clock.ts";

export interface HistoryClocks {
  /** Times of messages, which people are shown. */
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** Unix ms that messages are too old by. */
  readonly retentionMs: () => number;
}

export const SYSTEM_CLOCKS: HistoryClocks = { ...systemClock, retentionMs };
