/** What few connections need. Apart from Connection, where each field takes 8 bytes of every connection whether it is used or not. */
import type { Retention } from "../protocol/channel-rules.ts";
import type { EarlyDirect } from "./lingering/early-directs.ts";
import type { RenewalRequests } from "./renewals.ts";
import type { Backlog } from "./streams/backlog.ts";
import type { HistoryRequests } from "./streams/history-frames.ts";
import type { Subscription } from "./subscription.ts";

export class ConnectionExtras {
  /** The subscriptions by channel name, while there are many. */
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
  /** What it has sent since then (streams/backlog.ts); `undefined` if nothing. */
  backlog: Backlog | undefined;
  /** A message of it waits until its receiver is known (message-frames.ts); it counts as uncommitted. */
  isDeciding = false;
  /** Called once when `uncommitted` is 0 again, and nothing is in the backlog. */
  whenCommitted: (() => void)[] | undefined;
  /** Direct messages that wait for its first roster (lingering/early-directs.ts); `undefined` if none. */
  earlyDirects: EarlyDirect[] | undefined;
  /** Its `history` frames (streams/history-frames.ts); `undefined` if there were none. */
  historyRequests: HistoryRequests | undefined;
  /** Its `renew` frames (renewals.ts); `undefined` if there were none. */
  renewals: RenewalRequests | undefined;
  /** When the bucket of states is full, monotonic ms (rates.ts). */
  statesFullMs = 0;
}
