/**
 * Presence: shows the members of a channel to each other.
 *
 * Sequence for a new subscriber: subscribe → ack, followed by a WebSocket ping → pong (or 500 ms) → the next tick writes its
 * roster, then shows it to the others, then puts it on the presence topic. That order is a contract with existing clients: some
 * of them lose a roster that comes in the same read as the ack, and all take the first presence frame after a reconnect for the
 * complete list.
 *
 * A change is always the difference between what was shown last and the current state. A leave and a join within one tick and
 * with the same metadata therefore cancel out, and a change of metadata is shown as a join.
 *
 * Pending changes are recorded in four places:
 * - `channel.changed`: the members that a tick of the channel compares. `member.markChanged()` adds to it and to `peer.pending`.
 * - `peer.pending`: the members that are compared before the peer's next message. A member whose change damping holds back leaves
 *   it early, but stays in `channel.changed`.
 * - `member.upToDate`: receivers that need nothing more before the next message, although the member is pending (up-to-date.ts).
 * - `ticks`: the channels that the next tick visits. The channel of a pending member need not be in it, for instance while the
 *   member still waits for a pong.
 */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { Engine, MemberState, NodeId } from "../../engine/engine.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { Holds } from "../connections/holds.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import { type Arrivals, isShownBy } from "../state/arrivals.ts";
import type { Channel } from "../state/channel.ts";
import type { Connection } from "../state/connection.ts";
import type { Member } from "../state/member.ts";
import { isLive } from "../state/newest.ts";
import type { Peer } from "../state/peer.ts";
import type { Broadcast } from "../state/socket.ts";
import type { Spaces } from "../state/spaces.ts";
import { type Subscription, ticked } from "../state/subscription.ts";
import { isUpToDateFor, isUpToDateForAll, setUpToDateFor, setUpToDateForAll } from "../state/up-to-date.ts";
import { announce } from "./announce.ts";
import { Damping } from "./damping.ts";
import { IndividualChanges } from "./individual-changes.ts";
import { Lingering } from "./lingering.ts";
import { PresenceWriter } from "./presence-writer.ts";
import { Returns } from "./returns.ts";
import { RosterQueue } from "./roster-queue.ts";
import { RosterWaits } from "./roster-waits.ts";
import { partMaxBytesOf } from "./rosters.ts";
import { Ticks } from "./ticks.ts";

interface PresenceParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  /** Bytes that may wait for one connection. */
  readonly maxPendingBytes: number;
  readonly spaces: Spaces;
  readonly connections: Connections;
  readonly boundary: Boundary;
  readonly metrics: RealtimeMetrics;
  readonly emitter: Emitter;
  readonly holds: Holds;
}

export class Presence {
  private readonly ticks: Ticks;
  private readonly rosterWaits: RosterWaits;
  private readonly individual: IndividualChanges;
  readonly returns: Returns;
  private readonly queue: RosterQueue;
  private readonly writer: PresenceWriter;
  readonly lingering: Lingering;

  constructor(private readonly parts: PresenceParts) {
    const { clock, engine, keyring, broadcast, presenceTickMs, maxPendingBytes } = parts;
    const { spaces, connections, boundary, metrics, emitter, holds } = parts;
    const partMaxBytes = partMaxBytesOf(maxPendingBytes);
    const damping = new Damping(clock, (channel, peerId) => this.onReleased(channel, peerId));
    this.ticks = new Ticks(clock, presenceTickMs, (channel) =>
      boundary.forChannel("timer", channel, () => this.tickChannel(channel)),
    );
    this.rosterWaits = new RosterWaits(clock, (subscriptions) => this.onOverdue(subscriptions));
    const { times, kickTimes } = connections;
    const changed = (member: Member): void => this.onChanged(member);
    const proceed = (subscription: Subscription): void => this.proceed(subscription);
    const spareBytes = maxPendingBytes - partMaxBytes;
    const individual = new IndividualChanges({ damping, partMaxBytes, metrics });
    const returns = new Returns({ times, individual });
    const queue = new RosterQueue({ clock, boundary, connections, metrics, spareBytes, proceed });
    this.lingering = new Lingering({ clock, kickTimes, engine, keyring, holds, changed });
    this.individual = individual;
    this.returns = returns;
    this.queue = queue;
    this.writer = new PresenceWriter({
      engine,
      clock,
      broadcast,
      damping,
      individual,
      returns,
      queue,
      partMaxBytes,
      spaces,
      metrics,
      emitter,
    });
  }

  /** Registers the member already, because its peer may publish before the ack. */
  onOpening(subscription: Subscription): void {
    const { member } = subscription;
    if (!member) return;
    member.add(subscription);
    member.markChanged();
  }

  /** A subscribe, or a repeated one, is acked: the roster waits for the pong of the ping that follows the ack. */
  onAcked(subscription: Subscription): void {
    const { connection, channel } = subscription;
    if (!subscription.member) return;
    // Looked up anew: before the engine answered, the peer's other connections may have ended, and the member with them.
    const member = channel.member(connection.peer);
    const isKnown = member.isKnown;
    this.returned(subscription, member);
    this.queue.remove(subscription);
    const ping = ++connection.pingSeq;
    subscription.awaitPong(member, ping);
    // A peer that is known already is not a newcomer: when an older connection of it ends now, it has not left.
    if (isKnown) {
      subscription.show();
      this.onChanged(member);
    }
    member.markChanged();
    // Other nodes know of it from now on: it may send messages through any of them, and an older connection of it may end there.
    announce(this.parts, channel, [member]);
    // A ping that cannot be written is a socket that is closing: its close will undo all this.
    connection.socket.ping(String(ping));
    this.rosterWaits.add(subscription, ping);
  }

  /** A subscription of this member takes no part in presence any more. */
  onLeft(subscription: Subscription, member: Member): void {
    this.queue.remove(subscription);
    member.remove(subscription);
    member.keepShown();
    // A subscribe that was never acked, because the history was unavailable, neither ends a lingering state nor begins one.
    if (!member.hasSubscription && subscription.wasAcked) this.lingering.departed(subscription, member);
    this.onChanged(member);
  }

  /** Adds a subscription to its member. A peer that is back has not left: it keeps its state until it says something else. */
  private returned(subscription: Subscription, member: Member): void {
    if (member.isGone) return member.add(subscription);
    member.remove(subscription);
    const before = member.arrivedState();
    // Not when it subscribes again: it may have said that it has none.
    if (before && !subscription.wasAcked && (!isLive(before) || before === member.lingeringState?.state))
      subscription.stateJson ??= before.stateJson;
    this.lingering.forget(member);
    member.add(subscription);
  }

  /** The peer says something else about itself through this subscription, or nothing any more. */
  setState(subscription: Subscription, stateJson: string | undefined): void {
    const { member } = subscription;
    if (!member || subscription.stateJson === stateJson) return;
    subscription.stateJson = stateJson;
    this.onChanged(member);
  }

  /** The same for a member, through its newest connection here or while it has none. Returns false if it is none here. */
  setStateOf(member: Member, stateJson: string | undefined): boolean {
    const { lingeringState, subscriptions } = member;
    const [newest] = subscriptions;
    if (newest) this.setState(newest, stateJson);
    else if (lingeringState) {
      member.lingeringState = { ...lingeringState, state: { ...lingeringState.state, stateJson } };
      this.onChanged(member);
    }
    return newest !== undefined || lingeringState !== undefined;
  }

  /** A pong also answers the pings before number `seq`. */
  onPong(connection: Connection, seq: number): void {
    if (connection.awaitingPong === 0) return;
    for (const subscription of connection.subscriptions)
      if (subscription.awaitsPongUpTo(seq)) this.stopAwaitingPong(subscription);
  }

  /**
   * Flushes the sender's pending changes before its message, in all of its channels: a receiver may share several. Each flush goes
   * to the whole channel; finding only the shared members would mean looping over subscribers. Damping bounds the cost. Without a
   * receiver on this node, changes wait for their tick.
   */
  beforeMessage(peer: Peer, hasReceiver: boolean): void {
    if (!hasReceiver) return this.announcePending(peer);
    for (const member of peer.pendingMembers) {
      if (isUpToDateForAll(member)) continue;
      member.show();
      this.parts.boundary.forChannel("socket", member.channel, (channel) => {
        // Subscriptions that await the tick are not on the topic yet: the tick shows them the change, so it comes now.
        if (channel.awaitingTick.length > 0) this.tickChannel(channel, member);
        else this.writer.write(channel, [member], member);
        setUpToDateForAll(member);
      });
    }
  }

  /**
   * Writes the sender's pending presence changes to the connections that receive its direct message next. `arrivals`: those of the
   * sender when it sent the message; absent if that is now.
   */
  beforeDirect(peer: Peer, target: Peer, arrivals?: Arrivals): void {
    for (const member of peer.pendingMembers) {
      if (isUpToDateFor(member, target)) continue;
      const isShown = !arrivals || isShownBy(arrivals, member);
      // The next tick compares what they know with what the channel is shown.
      if (this.individual.writeOverrides(member, target, isShown)) this.ticks.schedule(member.channel);
      if (!isShown) continue;
      this.returns.beforeDirect(member, target);
      setUpToDateFor(member, target);
    }
  }

  /** Other nodes must know of a leave before the next message of the peer arrives there. */
  announcePending(peer: Peer): void {
    for (const member of peer.pendingMembers) announce(this.parts, member.channel, [member]);
  }

  /** Connections of these members on another node have changed. */
  onRemoteChanged(node: NodeId, channel: Channel, joined: readonly MemberState[], left: readonly string[]): void {
    for (const state of joined) {
      const member = channel.member(channel.space.peer(state.peerId));
      const { lingers } = state;
      this.parts.connections.times.heard(state.since);
      if (!lingers) this.lingering.returnedElsewhere(member);
      member.remote ??= new Map();
      member.remote.set(node, lingers ? this.lingering.announced(member, state, lingers) : state);
      this.returns.onChanged(member);
      member.markChanged();
      if (!state.isArriving || member.isShown) this.ticks.schedule(channel);
    }
    for (const peerId of left) {
      const member = channel.members.get(peerId);
      const state = member?.remote?.get(node);
      if (!member || !state) continue;
      member.removeRemote(node);
      // A connection that ends otherwise is announced as lingering: this was a goodbye, and the last one counts.
      if (isLive(state) && !member.isConnected) this.lingering.forget(member);
      member.keepShown();
      this.onChanged(member);
    }
  }

  /** A node is gone: its members leave this channel, except those that linger. */
  onNodeGone(node: NodeId, channel: Channel): void {
    for (const member of [...channel.members.values()]) {
      const state = member.remote?.get(node);
      if (!state) continue;
      member.removeRemote(node);
      // The node that would have reported its leave is gone.
      member.isOurs = true;
      if (member.isShown || !state.isArriving) this.lingering.nodeGone(member, state);
      member.keepShown();
      this.onChanged(member);
    }
  }

  /** A client has read what was waiting for it: the next roster may follow, or the next part of a long one. */
  onDrained(connection: Connection): void {
    this.queue.onDrained(connection);
  }

  private stopAwaitingPong(subscription: Subscription): void {
    subscription.stopAwaitingPong();
    subscription.channel.ready.push(subscription);
    this.ticks.schedule(subscription.channel);
  }

  /** Rosters that are not written at their deadline are written now. */
  private onOverdue(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) if (subscription.isAwaitingPong) this.stopAwaitingPong(subscription);
    for (const [channel, some] of Map.groupBy(subscriptions, (one) => one.channel))
      this.parts.boundary.forChannel("timer", channel, () => this.writeNow(channel, some));
  }

  /** This subscription is next among the rosters of its connection. */
  private proceed(subscription: Subscription): void {
    const { channel } = subscription;
    if (subscription.roster) return this.writer.continueRoster(subscription);
    if (!subscription.isReady) return;
    channel.ready.push(subscription);
    this.ticks.schedule(channel);
    // writeNow may tick the whole channel, so a fault is charged to the channel, not to this connection.
    this.parts.boundary.forChannel("socket", channel, () => this.writeNow(channel, [subscription]));
  }

  /** Ticks the channel. If it ticked a moment ago, writes only these rosters; its next tick shows these members to the others. */
  private writeNow(channel: Channel, subscriptions: readonly Subscription[]): void {
    if (this.ticks.mayTick(channel)) return this.tickChannel(channel);
    const admitted = subscriptions.filter((one) => one.isReady && this.queue.admits(one));
    this.writer.writeRostersBeforeTick(channel, admitted);
  }

  /** A change that damping held back may be shown: by the next tick, or before the next message of its peer. */
  private onReleased(channel: Channel, peerId: string): void {
    channel.members.get(peerId)?.markChanged();
    this.ticks.schedule(channel);
  }

  onChanged(member: Member): void {
    this.returns.onChanged(member);
    member.markChanged();
    this.ticks.schedule(member.channel);
  }

  private tickChannel(channel: Channel, sender?: Member): void {
    const newcomers = ticked(channel.ready, (one) => one.isReady && this.queue.admits(one));
    const rostered = ticked(channel.awaitingTick, (one) => one.isAwaitingTick);
    channel.ready = [];
    channel.awaitingTick = [];
    this.ticks.ticked(channel);
    this.writer.write(channel, [...channel.changed], sender, { newcomers, rostered });
  }
}
