/** What an application has used and stored, as the control plane says it. */
import type { Plan } from "./types.ts";

/** `data` has the newest period first. */
export interface Usage {
  readonly concurrentNow: number;
  readonly plan: Plan;
  readonly data: readonly UsedPeriod[];
  /** Absent while it cannot be read. */
  readonly history?: StoredHistory;
  readonly streams?: StoredStreams;
}

/** What an application's streams hold. */
export interface StoredStreams {
  readonly count: number;
  readonly messages: number;
  readonly bytes: number;
}

/** What an application's channels have kept. */
export interface StoredHistory {
  /** Channels that have messages. */
  readonly streams: number;
  readonly messages: number;
  readonly bytes: number;
}

export interface UsedPeriod {
  readonly periodStartUnix: number;
  readonly periodEndUnix: number;
  readonly peakConcurrent: number;
  readonly messagesUsed: number;
}
