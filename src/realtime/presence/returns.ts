/**
 * Returns of members that had no connection for a while and stayed (history 4). Most of the channel is shown nothing. A peer that
 * may be in a call with the member is shown that it has left and joined, one frame each, in this order: the public SDK begins a new
 * RTCPeerConnection with everyone when its own connection is new, but not when it does not learn that the other side's is. A call
 * in which one side only receives, or which has a data channel, would never go on.
 *
 * In a call may be peers that have sent direct messages to each other, and have been connected since before the loss: others have
 * begun anew themselves. They are shown the return once the returned connection has its roster: an offer that the SDK receives
 * before that is lost. In any case they are shown it before the next message of the member.
 */

import type { MemberState } from "../../engine/engine.ts";
import type { ConnectionTimes } from "../connections/connection-times.ts";
import { anyRemote, type Member } from "../state/member.ts";
import type { Loss } from "../state/member-extras.ts";
import { isLive } from "../state/newest.ts";
import type { Peer } from "../state/peer.ts";
import type { IndividualChanges } from "./individual-changes.ts";

interface ReturnsParts {
  readonly times: Pick<ConnectionTimes, "now">;
  readonly individual: Pick<IndividualChanges, "writeReturn">;
}

export class Returns {
  private returned: (peer: Peer) => void = () => undefined;

  constructor(private readonly parts: ReturnsParts) {}

  /** Called when a peer that had no connection has a roster again, or has sent a message: direct messages may wait for that. */
  onReturned(returned: (peer: Peer) => void): void {
    this.returned = returned;
  }

  /** The connections of this member have changed. */
  onChanged(member: Member): void {
    if (member.isConnected || member.isGone) return;
    const sinceMs = member.isShown ? this.parts.times.now() : 0;
    if (member.loss) member.loss.shownTo = undefined;
    else member.loss = { sinceMs, shownTo: undefined };
  }

  /** Shows the return of a member that has its roster, or whose message comes next. */
  show(member: Member, isSender: boolean): void {
    const { loss } = member;
    if (!loss || !member.isReturning || !(isSender || isRostered(member))) return;
    for (const peer of member.peer.correspondents()) this.showTo(member, loss, peer);
    member.loss = undefined;
    this.returned(member.peer);
  }

  /** A direct message of the member to this peer comes next. */
  beforeDirect(member: Member, target: Peer): void {
    const { loss, peer } = member;
    if (loss && member.isReturning && peer.correspondents().some((other) => other === target))
      this.showTo(member, loss, target);
  }

  private showTo(member: Member, loss: Loss, { connections }: Peer): void {
    for (const connection of connections) {
      if (connection.connectedMs > loss.sinceMs) continue;
      const subscription = connection.subscriptionTo(member.channel.name);
      if (!subscription?.member || !subscription.knowsMembers || loss.shownTo?.has(subscription)) continue;
      loss.shownTo ??= new Set();
      loss.shownTo.add(subscription);
      this.parts.individual.writeReturn(subscription, member);
    }
  }
}

const isShownThere = (state: MemberState): boolean => isLive(state) && !state.isArriving && !state.isReturning;

const isRostered = (member: Member): boolean => member.hasRoster || anyRemote(member, isShownThere);
