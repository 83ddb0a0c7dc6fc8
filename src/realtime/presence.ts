/**
 * Presence: shows the members of a channel to each other.
 *
 * A newcomer's way: subscribe → ack and, behind it, a WebSocket ping → pong (or 500 ms) → the next tick writes its roster,
 * then shows it to the others, then puts it on the presence topic. That order is a contract with existing clients: some of
 * them lose a roster that comes in the same read as the ack, and all take the first presence frame after a reconnect for the
 * complete list.
 *
 * A change is always the difference between what was shown last and the present state. A leave and a join within one tick and
 * with the same metadata therefore cancel out, and a change of metadata is shown as a join.
 */
import type { Engine, MemberState, NodeId } from "../engine/engine.ts";
import { announce } from "./announce.ts";
import type { Boundary } from "./boundary.ts";
import type { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { Damping } from "./damping.ts";
import { Gates } from "./gates.ts";
import { IndividualChanges } from "./individual-changes.ts";
import type { Member } from "./member.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import { PresenceWriter } from "./presence-writer.ts";
import { RosterQueue } from "./roster-queue.ts";
import { partMaxBytesOf } from "./rosters.ts";
import type { Broadcast } from "./socket.ts";
import type { Spaces } from "./spaces.ts";
import type { Subscription } from "./subscription.ts";
import { isUpToDateFor, isUpToDateForAll, setUpToDateFor, setUpToDateForAll } from "./up-to-date.ts";

/**
 * A tick writes one frame to each member: larger channels tick less often, so that the cost of many joins in a short time
 * stays linear. A roster does not wait for that: one that is due before the next tick is written ahead of it.
 */
const SPACING_MS_PER_MEMBER = 0.5;
const SPACING_MAX_MS = 500;

export interface PresenceParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  /** Bytes that may wait for one connection. */
  readonly maxPendingBytes: number;
  readonly spaces: Spaces;
  readonly connections: Connections;
  readonly boundary: Boundary;
  readonly metrics: RealtimeMetrics;
}

export class Presence {
  /** Channels that the next tick looks at. */
  private readonly dirty = new Set<Channel>();
  private ticking = false;
  private readonly gates: Gates;
  private readonly individual: IndividualChanges;
  private readonly queue: RosterQueue;
  private readonly writer: PresenceWriter;

  constructor(private readonly parts: PresenceParts) {
    const { clock, maxPendingBytes, metrics } = parts;
    const partMaxBytes = partMaxBytesOf(maxPendingBytes);
    const damping = new Damping(clock, (channel, peerId) => this.released(channel, peerId));
    this.gates = new Gates(clock, (subscriptions) => this.overdue(subscriptions));
    this.individual = new IndividualChanges({ damping, partMaxBytes, metrics });
    this.queue = new RosterQueue({
      ...parts,
      spareBytes: maxPendingBytes - partMaxBytes,
      proceed: (subscription) => this.proceed(subscription),
    });
    this.writer = new PresenceWriter({
      ...parts,
      damping,
      individual: this.individual,
      queue: this.queue,
      partMaxBytes,
    });
  }

  /** A subscription waits for its ack while the engine finds out the members elsewhere: its peer may send messages before. */
  opening(subscription: Subscription): void {
    const { member } = subscription;
    if (!member) return;
    member.add(subscription);
    member.markChanged();
  }

  /** A subscribe, or a repeated one, is acked: the roster waits for the pong of the ping that follows the ack. */
  acked(subscription: Subscription): void {
    const { connection, channel } = subscription;
    if (!subscription.member) return;
    // Looked up anew: before the engine answered, the peer's other connections may have ended, and the member with them.
    const member = channel.member(connection.peer);
    member.add(subscription);
    this.queue.remove(subscription);
    const ping = ++connection.pingSeq;
    subscription.gate(member, ping);
    // A peer that is known already is not a newcomer: when an older connection of it ends now, it has not left.
    if (member.isKnown) {
      subscription.show();
      this.changed(member);
    }
    member.markChanged();
    // Other nodes know of it from now on: it may send messages through any of them, and an older connection of it may end there.
    announce(this.parts.engine, channel, [member]);
    // A ping that cannot be written is a socket that is closing: its close will undo all this.
    connection.socket.ping(String(ping));
    this.gates.add(subscription, ping);
  }

  /** A subscription of this member takes no part in presence any more. */
  left(subscription: Subscription, member: Member): void {
    this.queue.remove(subscription);
    member.remove(subscription);
    member.keepShown();
    this.changed(member);
  }

  /** The pong of ping number `seq` has come, which also answers earlier ones. */
  pong(connection: Connection, seq: number): void {
    if (connection.gated === 0) return;
    for (const subscription of connection.subscriptions)
      if (subscription.state.kind === "gated" && subscription.state.ping <= seq) this.openGate(subscription);
  }

  /**
   * Before a peer's message is written to a channel: its pending presence changes are shown, also in other channels, because
   * receivers may share them. There all members are shown them: finding the members that share both would be a loop over
   * subscribers, and damping bounds what it costs. Without a receiver on this node nothing is shown ahead of its tick.
   */
  beforeMessage(peer: Peer, hasReceiver: boolean): void {
    if (!hasReceiver) return this.announcePending(peer);
    for (const member of [...(peer.pending ?? [])]) {
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

  /** Before a peer's direct message: its pending presence changes are written to the connections that receive it. */
  beforeDirect(peer: Peer, target: Peer): void {
    for (const member of peer.pending ?? []) {
      if (isUpToDateFor(member, target)) continue;
      const entry = member.arrivedEntry();
      for (const connection of target.connections) {
        const subscription = connection.subscriptionTo(member.channel.name);
        if (!subscription?.member || subscription.member === member) continue;
        this.individual.writeOverride(subscription, member, entry);
        // The next tick compares what it knows with what the channel is shown.
        if (subscription.overrides) this.schedule(member.channel);
      }
      setUpToDateFor(member, target);
    }
  }

  /** Other nodes must know of a leave before the next message of the peer arrives there. */
  announcePending(peer: Peer): void {
    for (const member of peer.pending ?? []) announce(this.parts.engine, member.channel, [member]);
  }

  /** Another node's part of the membership has changed. */
  remoteChanged(node: NodeId, channel: Channel, joined: readonly MemberState[], left: readonly string[]): void {
    for (const state of joined) {
      const member = channel.member(channel.space.peer(state.peerId));
      member.remote ??= new Map();
      member.remote.set(node, state);
      member.markChanged();
      if (!state.isArriving || member.shown !== undefined) this.schedule(channel);
    }
    for (const peerId of left) {
      const member = channel.members.get(peerId);
      if (!member?.remote?.delete(node)) continue;
      if (member.remote.size === 0) member.remote = undefined;
      member.keepShown();
      this.changed(member);
    }
  }

  /** A client has read what was waiting for it: the next roster may follow, or the next part of a long one. */
  drained(connection: Connection): void {
    this.queue.drained(connection);
  }

  private openGate(subscription: Subscription): void {
    subscription.openGate();
    subscription.channel.ready.push(subscription);
    this.schedule(subscription.channel);
  }

  /** Rosters that are not written at their deadline are written now. */
  private overdue(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) if (subscription.state.kind === "gated") this.openGate(subscription);
    for (const [channel, some] of Map.groupBy(subscriptions, (one) => one.channel))
      this.parts.boundary.forChannel("timer", channel, () => this.writeNow(channel, some));
  }

  /** It is this subscription's turn among the rosters of its connection. */
  private proceed(subscription: Subscription): void {
    const { channel } = subscription;
    if (subscription.roster) return this.writer.continueRoster(subscription);
    if (subscription.state.kind !== "ready") return;
    channel.ready.push(subscription);
    this.schedule(channel);
    // The roster is for one connection, but a tick of its channel is for all.
    this.parts.boundary.forChannel("socket", channel, () => this.writeNow(channel, [subscription]));
  }

  /** If the channel has ticked just now, these get their roster at once, and its next tick shows them to the others. */
  private writeNow(channel: Channel, subscriptions: readonly Subscription[]): void {
    if (this.mayTick(channel)) return this.tickChannel(channel);
    const admitted = subscriptions.filter((one) => one.state.kind === "ready" && this.queue.admits(one));
    this.writer.writeRostersBeforeTick(channel, admitted);
  }

  /** A change that damping held back may be shown: by the next tick, or before the next message of its peer. */
  private released(channel: Channel, peerId: string): void {
    channel.members.get(peerId)?.markChanged();
    this.schedule(channel);
  }

  private changed(member: Member): void {
    member.markChanged();
    this.schedule(member.channel);
  }

  private schedule(channel: Channel): void {
    this.dirty.add(channel);
    if (this.ticking) return;
    this.ticking = true;
    this.parts.clock.after(this.parts.presenceTickMs, () => {
      this.ticking = false;
      this.tick();
    });
  }

  private tick(): void {
    for (const channel of [...this.dirty]) {
      if (this.mayTick(channel)) this.parts.boundary.forChannel("timer", channel, () => this.tickChannel(channel));
      else this.schedule(channel);
    }
  }

  private mayTick(channel: Channel): boolean {
    const spacing = Math.min(SPACING_MAX_MS, channel.members.size * SPACING_MS_PER_MEMBER);
    return channel.lastTickMs === 0 || this.parts.clock.monotonicMs() - channel.lastTickMs >= spacing;
  }

  private tickChannel(channel: Channel, sender?: Member): void {
    // A set: one that subscribed twice within a tick gets one roster.
    const newcomers = [...new Set(channel.ready)].filter((one) => one.state.kind === "ready" && this.queue.admits(one));
    const rostered = [...new Set(channel.awaitingTick)].filter((one) => one.state.kind === "awaitingTick");
    channel.ready = [];
    channel.awaitingTick = [];
    this.dirty.delete(channel);
    channel.lastTickMs = this.parts.clock.monotonicMs();
    for (const subscription of [...newcomers, ...rostered]) subscription.tick();
    this.writer.write(channel, [...channel.changed], sender, { newcomers, rostered });
  }
}
