/**
 * Presence changes that are written to one subscription instead of the channel's presence topic.
 *
 * Changes about the sender of a direct message are written to its receiver before the message, and only to its receiver
 * (protocol 4). From then on that subscription knows more than the channel was sent, so it cannot stay on the topic: `overrides`
 * holds the entries that differ, and each tick writes to that subscription separately until none is left.
 *
 *     a subscription is   what it knows of a member           an override makes it          changes come
 *     listening           what the channel was shown          offTopic                      from the topic
 *     offTopic            its override, or the same           -                             from catchUp(), with every write
 *     awaitingTick        its override, or its roster's       offTopic, after the tick      after the tick
 *     rostered            its roster or the changes since are being written: it gets nothing individually
 *
 *     catchUp(), for each override       damping   then
 *     the member is still as known       -         dropped if the channel was shown the same, else kept
 *     the member is not as known         allows    written, then as above
 *     the member is not as known         holds     kept, until the peer's next message or the end of damping
 *
 * Without an override the subscription is listening again.
 */
import { stateEntry } from "../../protocol/encode.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { fieldOf, type Member, NO_STATE } from "../state/member.ts";
import type { Peer } from "../state/peer.ts";
import type { Subscription } from "../state/subscription.ts";
import type { Damping } from "./damping.ts";
import { type Change, changeFrames, stateFrames, stateIn } from "./rosters.ts";

interface IndividualChangesParts {
  readonly damping: Damping;
  readonly partMaxBytes: number;
  readonly metrics: RealtimeMetrics;
}

export class IndividualChanges {
  constructor(private readonly parts: IndividualChangesParts) {}

  /**
   * Before a direct message of this member: writes to the connections of its receiver. `isShown`: also to those that do not know
   * the member, even if it is still arriving. Returns whether a subscription knows something else than the channel now.
   */
  writeOverrides(member: Member, target: Peer, isShown: boolean): boolean {
    const arrived = member.arrivedEntry();
    const toUnknowing = isShown ? arrived : member.entry();
    let isAhead = false;
    for (const connection of target.connections) {
      const subscription = connection.subscriptionTo(member.channel.name);
      if (!subscription?.member || subscription.member === member) continue;
      this.writeOverride(subscription, member, arrived, toUnknowing);
      isAhead ||= subscription.overrides !== undefined;
    }
    return isAhead;
  }

  /**
   * Writes the member's present entry to the receiver if it knows another one: `arrived`, or `toUnknowing` if it knows none. A
   * receiver with states is also written the state, which needs no override: the next tick writes it to the whole channel, and a
   * state that comes twice is harmless.
   */
  writeOverride(
    subscription: Subscription,
    member: Member,
    arrived: string | undefined,
    toUnknowing: string | undefined,
  ): void {
    const { channel } = subscription;
    const { peerId } = member.peer;
    if (!subscription.knowsMembers) return;
    const before = knownTo(subscription, member);
    const after = before === undefined ? toUnknowing : arrived;
    const isShown = before === after || this.parts.damping.allows(channel, peerId, before, after, true);
    if (before !== after && isShown) {
      this.parts.damping.shown(channel, peerId, before, after);
      this.write(subscription, [{ peerId, before, after }]);
      subscription.recordOverride(peerId, after);
    }
    const known = isShown ? after : before;
    if (!subscription.withStates || known === undefined || after === undefined) return;
    this.writeStates(subscription, [[member, before === undefined ? NO_STATE : stateKnownTo(subscription, member)]]);
    // Even if the member has its former state again by the next tick: this receiver knows another one.
    member.isStateAhead = true;
  }

  /**
   * Writes to a subscription that is off the topic: `changes`, already published on the topic, and changes of its overrides. Peer
   * ids whose change is held back are added to `damped`. A message of `sender` comes next; without `isTick`, only overrides of the
   * sender are looked at.
   */
  catchUp(
    subscription: Subscription,
    changes: readonly Change[],
    damped: Set<string>,
    sender?: string,
    isTick = true,
  ): void {
    const { channel, state } = subscription;
    if (state.kind !== "offTopic") return;
    const { overrides } = state;
    const toWrite = changes.filter(({ peerId }) => !overrides.has(peerId));
    const differing = isTick ? overrides : only(overrides, sender);
    const joined: (readonly [Member, string])[] = [];
    for (const [peerId, before] of differing) {
      const member = channel.members.get(peerId);
      const after = before === undefined ? member?.entry() : member?.arrivedEntry();
      if (after !== before) {
        if (!this.parts.damping.allows(channel, peerId, before, after, peerId === sender)) {
          damped.add(peerId);
          continue;
        }
        this.parts.damping.shown(channel, peerId, before, after);
        toWrite.push({ peerId, before, after });
        if (member && before === undefined) joined.push([member, NO_STATE]);
      }
      if (after === member?.shown) subscription.removeOverride(peerId);
      else subscription.recordOverride(peerId, after);
    }
    this.write(subscription, toWrite);
    if (subscription.withStates) this.writeStates(subscription, joined);
    subscription.returnToTopic();
  }

  /** Shows that a member has left and joined: afterwards the subscription knows what it knew before. */
  writeReturn(subscription: Subscription, member: Member): void {
    const { peerId } = member.peer;
    const entry = knownTo(subscription, member);
    if (entry === undefined) return;
    // One frame each: clients apply the joins of a frame before its leaves.
    this.write(subscription, [{ peerId, before: entry, after: undefined }]);
    this.write(subscription, [{ peerId, before: undefined, after: entry }]);
    if (subscription.withStates) this.writeStates(subscription, [[member, NO_STATE]]);
  }

  /** Writes the states of these members to this subscription only, where it knows another one. */
  private writeStates({ channel, connection }: Subscription, members: readonly (readonly [Member, string])[]): void {
    const changed = members.flatMap(([member, known]) => {
      const field = fieldOf(member.arrivedState());
      return field === known ? [] : stateEntry(member.peer.json, field);
    });
    for (const frame of stateFrames(channel.json, changed, this.parts.partMaxBytes)) connection.socket.send(frame);
  }

  /** Writes to this subscription only. A peer is not shown itself. */
  write({ channel, connection }: Subscription, changes: readonly Change[]): void {
    const ofOthers = changes.filter(({ peerId }) => peerId !== connection.peerId);
    if (ofOthers.length === 0) return;
    const frames = changeFrames(channel.json, ofOthers, this.parts.partMaxBytes);
    this.parts.metrics.presenceFrames.inc(frames.length);
    for (const frame of frames) connection.socket.send(frame);
  }
}

type Overrides = NonNullable<Subscription["overrides"]>;

/** The override of this peer, if there is one. */
function only(overrides: Overrides, peerId: string | undefined): [string, string | undefined][] {
  return peerId !== undefined && overrides.has(peerId) ? [[peerId, overrides.get(peerId)]] : [];
}

/**
 * Whether any subscription receives a change of this member as one of the channel: one on the topic, or one off it without an
 * override of it. A peer is not shown itself.
 */
export function isReceived(member: Member): boolean {
  const { listeners, offTopic } = member.channel;
  if (listeners > member.listening) return true;
  if (!offTopic) return false;
  for (const one of offTopic) if (!one.overrides?.has(member.peer.peerId) && one.member !== member) return true;
  return false;
}

/** The state of a member that a subscription with states was sent last. */
const stateKnownTo = ({ roster }: Subscription, member: Member): string =>
  roster ? stateIn(roster, member) : member.shownState;

/** The entry of a member that a subscription was sent last. */
function knownTo({ overrides, roster }: Subscription, { peer, shown }: Member): string | undefined {
  if (overrides?.has(peer.peerId)) return overrides.get(peer.peerId);
  return roster ? roster.entries.get(peer.peerId) : shown;
}
