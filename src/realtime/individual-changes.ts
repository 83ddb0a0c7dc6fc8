/**
 * Presence changes that are written to one subscription instead of the channel's presence topic.
 *
 * Changes about the sender of a direct message are written to its receiver before the message, and only to its receiver
 * (protocol 4). From then on that subscription knows more than the channel was shown, so it cannot stay on the topic:
 * `shownAlone` holds where it differs, and each tick writes to it separately until nothing differs any more.
 */
import type { Damping } from "./damping.ts";
import type { Member } from "./member.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { type Change, changeFrames } from "./rosters.ts";
import type { Subscription } from "./subscription.ts";

export interface IndividualChangesParts {
  readonly damping: Damping;
  readonly partMaxBytes: number;
  readonly metrics: RealtimeMetrics;
}

export class IndividualChanges {
  constructor(private readonly parts: IndividualChangesParts) {}

  /**
   * Before a direct message of this member: writes to its receiver what it does not know of the member yet. `after`: the
   * member's arrivedEntry(), made once for all receivers.
   */
  showAlone(subscription: Subscription, member: Member, after: string | undefined): void {
    const { channel } = subscription;
    const { peerId } = member.peer;
    if (!subscription.knowsMembers) return;
    const before = knownTo(subscription, member);
    if (before === after || !this.parts.damping.allows(channel, peerId, before, after, true)) return;
    this.parts.damping.shown(channel, peerId, before, after);
    this.write(subscription, [{ peerId, before, after }]);
    subscription.showedAlone(peerId, after);
  }

  /**
   * Writes to a subscription that is off the topic: `changes`, which the topic has had, and what differs for it alone. Peer ids
   * whose change is held back are added to `held`. A message of `sender` comes next; without `isTick`, only what is about the
   * sender is written.
   */
  catchUp(
    subscription: Subscription,
    changes: readonly Change[],
    held: Set<string>,
    sender?: string,
    isTick = true,
  ): void {
    const { channel, state } = subscription;
    if (state.at !== "offTopic") return;
    const { shownAlone } = state;
    const toWrite = changes.filter(({ peerId }) => !shownAlone.has(peerId));
    const differing = isTick ? shownAlone : only(shownAlone, sender);
    for (const [peerId, before] of differing) {
      const member = channel.members.get(peerId);
      const after = before === undefined ? member?.entry() : member?.arrivedEntry();
      if (after !== before) {
        if (!this.parts.damping.allows(channel, peerId, before, after, peerId === sender)) {
          held.add(peerId);
          continue;
        }
        this.parts.damping.shown(channel, peerId, before, after);
        toWrite.push({ peerId, before, after });
      }
      if (after === member?.shown) subscription.caughtUpOn(peerId);
      else subscription.showedAlone(peerId, after);
    }
    this.write(subscription, toWrite);
    subscription.returnToTopic();
  }

  /** To this subscription alone; a peer is not shown its own join. */
  write({ channel, connection }: Subscription, changes: readonly Change[]): void {
    const ofOthers = changes.filter((change) => !isJoin(change) || change.peerId !== connection.peerId);
    if (ofOthers.length === 0) return;
    const frames = changeFrames(channel.json, ofOthers, this.parts.partMaxBytes);
    this.parts.metrics.presenceFrames.inc(frames.length);
    for (const frame of frames) connection.socket.send(frame);
  }
}

type ShownAlone = NonNullable<Subscription["shownAlone"]>;

/** The entry of this peer alone. */
function only(shownAlone: ShownAlone, peerId: string | undefined): [string, string | undefined][] {
  return peerId !== undefined && shownAlone.has(peerId) ? [[peerId, shownAlone.get(peerId)]] : [];
}

export const isJoin = ({ before, after }: Change): boolean => before === undefined && after !== undefined;

/**
 * Whether any subscription receives this change as one of the channel: one on the topic, or one off it that knows of this peer
 * what the channel was shown. A peer is not shown its own join.
 */
export function isReceived(member: Member, change: Change): boolean {
  const { channel, subscriptions } = member;
  const own = isJoin(change) ? subscriptions : [];
  if (channel.listeners > own.filter(({ isListening }) => isListening).length) return true;
  return channel.offTopic?.values().some((one) => !one.shownAlone?.has(change.peerId) && !own.includes(one)) === true;
}

/** What a subscription was shown last of a member. */
function knownTo({ shownAlone, roster }: Subscription, { peer, shown }: Member): string | undefined {
  if (shownAlone?.has(peer.peerId)) return shownAlone.get(peer.peerId);
  return roster ? roster.entries.get(peer.peerId) : shown;
}
