/**
 * Which subscriptions receive a channel's presence changes, and how. Most are on the presence topic: one write reaches all.
 *
 * Changes about the sender of a direct message are written to its receiver before the message, and only to its receiver
 * (protocol 4). From then on that subscription knows more than the channel was shown, so it cannot stay on the topic: it
 * stands aside, `ahead` holds where its picture differs, and each tick writes to it separately. It returns to the topic when
 * nothing differs any more.
 */
import type { Change, Member, Subscription } from "./channel.ts";
import type { Damping } from "./damping.ts";
import { changeFrames } from "./rosters.ts";

export interface AudienceParts {
  readonly damping: Damping;
  readonly partMaxBytes: number;
  /** Frames that were written to one subscription. */
  readonly countFrames: (n: number) => void;
}

export class Audience {
  constructor(private readonly parts: AudienceParts) {}

  /** Its roster is written: it receives changes from now on. */
  listen(subscription: Subscription): void {
    const { channel, peer, ahead } = subscription;
    if (ahead) {
      channel.aside ??= new Set();
      channel.aside.add(subscription);
      return;
    }
    subscription.listening = true;
    channel.listeners++;
    peer.socket.subscribe(channel.presenceTopic);
  }

  /** It receives no changes until `listen`. */
  mute(subscription: Subscription): void {
    const { channel, peer } = subscription;
    channel.aside?.delete(subscription);
    if (channel.aside?.size === 0) channel.aside = undefined;
    if (!subscription.listening) return;
    subscription.listening = false;
    channel.listeners--;
    peer.socket.unsubscribe(channel.presenceTopic);
  }

  /**
   * Before a direct message of this member: writes to its receiver what it does not know of the member yet. `after`: the
   * member's arrivedEntry(), made once for all receivers.
   */
  showAlone(subscription: Subscription, member: Member, after: string | undefined): void {
    const { channel } = subscription;
    const { peerId } = member.identity;
    if (!hasPicture(subscription)) return;
    const before = knownTo(subscription, member);
    if (before === after || !this.parts.damping.allows(channel, peerId, before, after, true)) return;
    this.parts.damping.shown(channel, peerId, before, after);
    this.write(subscription, [{ peerId, before, after }]);
    subscription.ahead ??= new Map();
    subscription.ahead.set(peerId, after);
    if (!subscription.listening) return;
    this.mute(subscription);
    this.listen(subscription);
  }

  /**
   * Writes to a subscription that stands aside: `changes`, which the topic has had, and what differs for it alone. Peer ids
   * whose change is held back are added to `held`. A message of `speaker` comes next; without `isTick`, only what is about the
   * speaker is written.
   */
  follow(
    subscription: Subscription,
    changes: readonly Change[],
    held: Set<string>,
    speaker?: string,
    isTick = true,
  ): void {
    const { channel, ahead } = subscription;
    if (!ahead) return;
    const news = changes.filter(({ peerId }) => !ahead.has(peerId));
    const differing = isTick ? ahead : only(ahead, speaker);
    for (const [peerId, before] of differing) {
      const member = channel.members.get(peerId);
      const after = before === undefined ? member?.entry() : member?.arrivedEntry();
      if (after !== before) {
        if (!this.parts.damping.allows(channel, peerId, before, after, peerId === speaker)) {
          held.add(peerId);
          continue;
        }
        this.parts.damping.shown(channel, peerId, before, after);
        news.push({ peerId, before, after });
      }
      if (after === member?.shown) ahead.delete(peerId);
      else ahead.set(peerId, after);
    }
    this.write(subscription, news);
    if (ahead.size > 0) return;
    subscription.ahead = undefined;
    this.mute(subscription);
    this.listen(subscription);
  }

  /** To this subscription alone; a peer is not shown its own join. */
  write({ channel, peer }: Subscription, changes: readonly Change[]): void {
    const ofOthers = changes.filter((change) => !isJoin(change) || change.peerId !== peer.peerId);
    if (ofOthers.length === 0) return;
    const frames = changeFrames(channel.json, ofOthers, this.parts.partMaxBytes);
    this.parts.countFrames(frames.length);
    for (const frame of frames) peer.socket.send(frame);
  }
}

/** The entry of this peer alone. */
function only(ahead: NonNullable<Subscription["ahead"]>, peerId: string | undefined): [string, string | undefined][] {
  return peerId !== undefined && ahead.has(peerId) ? [[peerId, ahead.get(peerId)]] : [];
}

export const isJoin = ({ before, after }: Change): boolean => before === undefined && after !== undefined;

/**
 * Whether anyone receives this change as one of the channel: a connection on the topic, or one that stands aside and knows of
 * this peer what the channel was shown. A peer is not shown its own join.
 */
export function isReceived(member: Member, change: Change): boolean {
  const { channel, subscriptions } = member;
  const own = isJoin(change) ? subscriptions : [];
  if (channel.listeners > own.filter(({ listening }) => listening).length) return true;
  return channel.aside?.values().some((one) => !one.ahead?.has(change.peerId) && !own.includes(one)) === true;
}

/** It has its whole roster and may receive changes. */
function hasPicture(subscription: Subscription): boolean {
  const { listening, channel, awaitsTick, roster, partsWritten } = subscription;
  if (listening || channel.aside?.has(subscription)) return true;
  return awaitsTick && roster !== undefined && partsWritten >= roster.parts.length;
}

/** What a subscription believes of a member. */
function knownTo({ ahead, roster }: Subscription, { identity, shown }: Member): string | undefined {
  if (ahead?.has(identity.peerId)) return ahead.get(identity.peerId);
  return roster ? roster.told.get(identity.peerId) : shown;
}
