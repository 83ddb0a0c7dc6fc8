/** What few connections need. Apart from Connection, where each field takes 8 bytes of every connection whether it is used or not. */
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Backlog } from "./backlog.ts";
import type { Subscription } from "./subscription.ts";

/** How many renewals a connection may still ask for, and whether one waits for the store (renewals.ts). */
export interface RenewalRequests {
  left: number;
  /** Monotonic ms as of which `left` is. */
  refilledMs: number;
  isBusy: boolean;
}

/** How many pages of history it may still ask for, and those that wait (streams/history-frames.ts). */
export interface HistoryRequests {
  left: number;
  /** Monotonic ms as of which `left` is. */
  refilledMs: number;
  isBusy: boolean;
  /** Bound: HISTORY_FRAMES_BURST. */
  readonly waiting: (() => void)[];
}

/** A direct message that waits for the first roster of its receiver (messages/early-directs.ts). */
export interface EarlyDirect {
  /** The peer id of its sender. */
  readonly from: string;
  readonly text: string;
  /** Those of its sender when it was sent. */
  readonly arrivals: Arrivals;
}

export class ConnectionExtras {
  /** The subscriptions by channel name, while there are many. Bound: CHANNELS_PER_CONNECTION_MAX. */
  byChannel: Map<string, Subscription> | undefined;
  /** The channel that this connection was last allowed to publish to, so that the checks are not repeated with every frame. */
  publishesTo: string | undefined;
  /** Like `publishesTo`, for a channel with history, and what that keeps: `publishesTo` is for messages that are delivered at once. */
  storesTo: string | undefined;
  keeps: Retention | undefined;
  /** Messages of this connection that the store of history has not answered for: what it sends next waits for them (protocol 4). */
  uncommitted = 0;
  /** The channel of the last of them. */
  uncommittedIn: string | undefined;
  /** What it has sent since then (backlog.ts); `undefined` if nothing. */
  backlog: Backlog | undefined;
  /** A message of it waits until its receiver is known (message-frames.ts); it counts as uncommitted. */
  isDeciding = false;
  /** Called once when `uncommitted` is 0 again, and nothing is in the backlog. */
  whenCommitted: (() => void)[] | undefined;
  /**
   * Direct messages that wait for its first roster (messages/early-directs.ts); `undefined` if none. Bound: EARLY_DIRECTS_MAX;
   * with one more, all are written.
   */
  earlyDirects: EarlyDirect[] | undefined;
  /** Its `history` frames (streams/history-frames.ts); `undefined` if there were none. */
  historyRequests: HistoryRequests | undefined;
  /** Its `renew` frames (renewals.ts); `undefined` if there were none. */
  renewals: RenewalRequests | undefined;
  /** When the bucket of states is full, monotonic ms (rates.ts). */
  statesFullMs = 0;
}
