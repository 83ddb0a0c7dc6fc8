/**
 * A direct message may be written later than it was sent: its receiver is expected back, or waits for a roster of its own. The
 * receiver is then shown its sender as that was when it sent the message. A channel that the sender has subscribed to since then
 * shows it when it has its roster, as it would if the message had come at once: the public SDK loses an offer that it receives
 * before that, and a peer that is shown is sent offers.
 */
import type { MemberState } from "../../engine/engine.ts";
import type { Member } from "./member.ts";
import type { Peer } from "./peer.ts";
import type { Subscription } from "./subscription.ts";

/** What waited for a roster when its peer sent a message: subscriptions of this node, and states that other nodes have announced. */
export type Arrivals = ReadonlySet<Subscription | MemberState>;

export const NO_ARRIVALS: Arrivals = new Set();

/** Those of the sender of a message that cannot be written at once. */
export function arrivalsOf(sender: Peer | undefined): Arrivals {
  if (!sender?.pending) return NO_ARRIVALS;
  const arrivals = new Set<Subscription | MemberState>();
  for (const { subscriptions, remote } of sender.pendingMembers) {
    for (const subscription of subscriptions) if (subscription.awaitsRoster) arrivals.add(subscription);
    for (const state of remote?.values() ?? []) if (state.isArriving || state.isReturning) arrivals.add(state);
  }
  return arrivals.size > 0 ? arrivals : NO_ARRIVALS;
}

/** Whether a message that was sent with these arrivals shows the member even if no one else may be shown it yet. */
export function isShownBy(arrivals: Arrivals, member: Member): boolean {
  if (member.hasRoster) return true;
  if (member.subscriptions.some((subscription) => arrivals.has(subscription))) return true;
  return member.remote?.values().some((state) => arrivals.has(state)) === true;
}
