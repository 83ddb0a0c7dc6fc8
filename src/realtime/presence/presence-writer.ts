/**
 * Writes a channel's presence: rosters to newcomers, changes to the other members. A change is the difference between what was
 * shown last and the current state, as far as damping lets it through:
 *
 *     entry       state   damping   written to                                                        the member is
 *     the same    same    -         no one                                                            compared
 *     the same    new     -         the state topic                                                   compared
 *     changed     any     allows    the presence topic, and those off it; the state topic if new      compared
 *     changed     any     holds     no one; the state topic if new and the member was shown           damped
 *
 *     compared    leaves `channel.changed` and `peer.pending`, unless it is arriving or returning; forgotten if it is gone
 *     damped      remains in `channel.changed` until damping releases it; leaves `peer.pending` unless it may need a join
 *
 * In this order: rosters, changes, those off the topic (individual-changes.ts), states, the rest of rosters, returns, other nodes.
 */
import type { Clock } from "../../base/clock.ts";
import type { Engine } from "../../engine/engine.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Channel } from "../state/channel.ts";
import { fieldOf, type Member, NO_STATE } from "../state/member.ts";
import type { Roster } from "../state/roster.ts";
import type { Broadcast } from "../state/socket.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Subscription } from "../state/subscription.ts";
import { announce } from "./announce.ts";
import type { Damping } from "./damping.ts";
import { type IndividualChanges, isReceived } from "./individual-changes.ts";
import type { Returns } from "./returns.ts";
import type { RosterQueue } from "./roster-queue.ts";
import {
  type Change,
  changeFrames,
  makeRoster,
  separableChanges,
  shownStateOf,
  stateFrames,
  writeMissed,
  writePart,
  writeRest,
} from "./rosters.ts";

/** The subscriptions that a tick shows to the others: newcomers get their roster now, `rostered` ones the changes since theirs. */
export interface Tick {
  readonly newcomers: readonly Subscription[];
  readonly rostered: readonly Subscription[];
}

interface PresenceWriterParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly broadcast: Broadcast;
  readonly damping: Damping;
  readonly individual: IndividualChanges;
  readonly returns: Returns;
  readonly queue: RosterQueue;
  readonly partMaxBytes: number;
  readonly spaces: Spaces;
  readonly metrics: RealtimeMetrics;
  readonly emitter: Emitter;
}

export class PresenceWriter {
  constructor(private readonly parts: PresenceWriterParts) {}

  /**
   * Writes rosters to newcomers, then the changes of `members` to the listeners, then lets the newcomers listen too, and the
   * subscriptions that have their roster already, after the changes they missed. A message of `sender` comes next. Without
   * `tick`, only changes of the sender are written.
   */
  write(channel: Channel, members: readonly Member[], sender: Member | undefined, tick?: Tick): void {
    const { newcomers = [], rostered = [] } = tick ?? {};
    const damped = new Set<Member>();
    const withNewStates: Member[] = [];
    const changes = this.takeChanges(channel, members, sender, damped, withNewStates);
    if (newcomers.length > 0) this.writeRosters(channel, newcomers);
    if (changes.length > 0) {
      this.parts.metrics.presenceChanges.inc(changes.length);
      this.writeToListeners(channel, changes);
    }
    const dampedIndividually = channel.offTopic ? this.writeOffTopic(channel, changes, sender, tick) : undefined;
    // After the joins: a state of a peer that is not known would be lost.
    this.broadcastStates(channel, withNewStates);
    for (const subscription of newcomers) this.continueRoster(subscription);
    for (const subscription of rostered) this.continueRoster(subscription);
    for (const member of members) this.parts.returns.show(member, member === sender);
    announce(this.parts, channel, members);
    for (const member of members) {
      member.upToDate = undefined;
      if (!damped.has(member)) this.shown(member);
      else if (!mayNeedJoin(member)) member.peer.removePending(member);
    }
    if (dampedIndividually) this.markDamped(channel, dampedIndividually);
    const { memberWatcher } = this.parts.spaces;
    if (memberWatcher) for (const member of members) memberWatcher.changed(member);
    this.parts.spaces.forgetIfUnused(channel);
  }

  /** Returns the peers of which some subscription off the topic has not been sent a change. */
  private writeOffTopic(
    channel: Channel,
    changes: readonly Change[],
    sender: Member | undefined,
    tick: Tick | undefined,
  ): ReadonlySet<string> {
    const damped = new Set<string>();
    for (const subscription of [...(channel.offTopic ?? [])])
      this.parts.individual.catchUp(subscription, changes, damped, sender?.peer.peerId, tick !== undefined);
    return damped;
  }

  /** Reported where the member's connections are: every node with subscribers shows the change, and the tail would have it from each. */
  private report({ name, space }: Channel, member: Member, { peerId, before, after }: Change): void {
    const { emitter } = this.parts;
    // New metadata is neither a join nor a leave.
    if (emitter.events.listener && member.isOurs && (before === undefined || after === undefined))
      emitter.presence(space.id, name, peerId, after === undefined ? "left" : "joined");
    if (after === undefined) member.isOurs = false;
  }

  /**
   * The changes that may be shown to the channel now, marked as shown. Members whose change must wait are added to `damped`, those
   * with another state than was shown to `withNewStates`.
   */
  private takeChanges(
    channel: Channel,
    members: readonly Member[],
    sender: Member | undefined,
    damped: Set<Member>,
    withNewStates: Member[],
  ): readonly Change[] {
    const changes: Change[] = [];
    for (const member of members) {
      const { peerId } = member.peer;
      const before = member.shown;
      const state = member.state();
      const after = member.entryOf(state);
      if (member.hasSubscription) member.isOurs = true;
      if (after === before) {
        if (state && takeState(member, fieldOf(state))) withNewStates.push(member);
        continue;
      }
      if (!this.parts.damping.allows(channel, peerId, before, after, member === sender)) {
        damped.add(member);
        if (state && before !== undefined && takeState(member, fieldOf(state))) withNewStates.push(member);
        continue;
      }
      const change = { peerId, before, after };
      if (isReceived(member)) this.parts.damping.shown(channel, peerId, before, after);
      else this.parts.damping.unseen(channel, peerId);
      changes.push(change);
      member.setShown(state);
      if (before === undefined || !state) member.shownState = NO_STATE;
      if (after === undefined) member.loss = undefined;
      if (state && takeState(member, fieldOf(state))) withNewStates.push(member);
      this.report(channel, member, change);
    }
    return changes;
  }

  /** Rosters that are due before the next tick of the channel. */
  writeRostersBeforeTick(channel: Channel, newcomers: readonly Subscription[]): void {
    const rosterFor = this.rosters(channel, newcomers.length);
    for (const subscription of newcomers) {
      const roster = rosterFor(subscription);
      subscription.rosterBeforeTick(roster);
      channel.awaitingTick.push(subscription);
      writePart(subscription, roster, 0);
    }
    for (const subscription of newcomers) this.continueRoster(subscription);
  }

  private writeRosters(channel: Channel, newcomers: readonly Subscription[]): void {
    const rosterFor = this.rosters(channel, newcomers.length);
    for (const subscription of newcomers) {
      const roster = rosterFor(subscription);
      writePart(subscription, roster, 0);
      if (roster.parts.length > 1) subscription.keepRoster(roster);
    }
  }

  /** The roster for each of these newcomers; those of one kind share it. */
  private rosters(channel: Channel, receivers: number): (subscription: Subscription) => Roster {
    this.parts.metrics.presenceFrames.inc(receivers);
    const { partMaxBytes } = this.parts;
    let plain: Roster | undefined;
    let full: Roster | undefined;
    return ({ withStates }) => {
      if (withStates) {
        full ??= makeRoster(channel, partMaxBytes, true);
        return full;
      }
      plain ??= makeRoster(channel, partMaxBytes, false);
      return plain;
    };
  }

  /** Writes the rest of a roster, as far as the client reads it, then the changes since. Then the subscription listens. */
  continueRoster(subscription: Subscription): void {
    const { channel } = subscription;
    channel.rostersWritten++;
    const isWritten = writeRest(subscription);
    this.parts.queue.wrote(subscription, isWritten);
    if (!isWritten || !subscription.isRostered) return;
    const { roster } = subscription;
    if (roster) writeMissed(subscription, roster, this.parts.partMaxBytes);
    subscription.listen();
    if (!subscription.overrides) return;
    const damped = new Set<string>();
    this.parts.individual.catchUp(subscription, [], damped);
    this.markDamped(channel, damped);
  }

  /** Subscriptions off the topic have not been sent a change of these peers, and must be before the next message of those. */
  private markDamped(channel: Channel, peerIds: ReadonlySet<string>): void {
    for (const peerId of peerIds) {
      const member = channel.members.get(peerId);
      if (member && mayNeedJoin(member)) member.markChanged();
    }
  }

  /**
   * A peer must not be shown itself (protocol 5). Its subscription can listen already: another connection of it has brought new
   * metadata, its token was renewed, or damping held its join back.
   */
  private writeToListeners(channel: Channel, changes: readonly Change[]): void {
    if (channel.listeners === 0) return;
    const own: Subscription[] = [];
    for (const { peerId } of changes)
      for (const one of channel.members.get(peerId)?.subscriptions ?? []) if (one.isListening) own.push(one);
    if (own.length === 0) return this.broadcast(channel, changeFrames(channel.json, changes, this.parts.partMaxBytes));
    const { frames, framesWithout } = separableChanges(channel.json, changes, this.parts.partMaxBytes);
    for (const subscription of own) subscription.pause();
    if (channel.listeners > 0) this.broadcast(channel, frames);
    for (const subscription of own) {
      this.send(subscription, framesWithout(subscription.connection.peerId));
      subscription.listen();
    }
  }

  private broadcast(channel: Channel, frames: readonly string[]): void {
    this.parts.metrics.presenceFrames.inc(channel.listeners * frames.length);
    for (const frame of frames) this.parts.broadcast(channel.presenceTopic, frame, undefined);
  }

  private send({ connection }: Subscription, frames: readonly string[]): void {
    this.parts.metrics.presenceFrames.inc(frames.length);
    for (const frame of frames) connection.socket.send(frame);
  }

  private broadcastStates(channel: Channel, members: readonly Member[]): void {
    if (members.length === 0 || channel.stateListeners === 0) return;
    const frames = stateFrames(channel.json, members.map(shownStateOf), this.parts.partMaxBytes);
    this.parts.metrics.stateFrames.inc(channel.stateListeners * frames.length);
    for (const frame of frames) this.parts.broadcast(channel.stateTopic, frame, undefined);
  }

  /** Nothing about this member is pending any more, unless one of its connections is still arriving. */
  private shown(member: Member): void {
    const { channel } = member;
    if (member.isArriving) return;
    channel.removeChanged(member);
    member.peer.removePending(member);
    if (member.isGone) channel.forget(member);
  }
}

/** Marks this state of a member as shown; false if it was shown before. */
function takeState(member: Member, field: string): boolean {
  if (field === member.shownState && !member.isStateAhead) return false;
  member.shownState = field;
  member.isStateAhead = false;
  return true;
}

/**
 * For a member whose change is held back: whether a message of its peer may still make a join necessary, for a receiver that
 * does not know of it. Nothing else of it may be shown before damping releases the change (which marks it again), so it need not
 * be looked at with each message: a peer can have damped changes in a hundred channels for seconds. A return is not held back.
 */
function mayNeedJoin(member: Member): boolean {
  if (member.isReturning) return true;
  return !member.isGone && (!member.isShown || member.channel.offTopic !== undefined);
}
