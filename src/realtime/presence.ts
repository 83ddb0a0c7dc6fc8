/**
 * Presence: who is in a channel, told to those in it.
 *
 * A newcomer's way: subscribe → ack and, behind it, a WebSocket ping → pong (or 500 ms) → the next tick writes its roster,
 * then tells the others, then puts it on the presence topic. That order is a contract with existing clients: a roster in
 * the same read as the ack is lost by some of them, and the first presence frame after a reconnect is the whole truth.
 *
 * What is told is always the difference between what was told last and what is so now. A leave and a join of one tick with
 * the same metadata therefore cancel out, and a change of metadata is told as a join.
 */
import type { Engine, MemberState, NodeId } from "../engine/engine.ts";
import { announce } from "./announce.ts";
import { Audience } from "./audience.ts";
import type { Boundary } from "./boundary.ts";
import type { Channel, Member, Subscription } from "./channel.ts";
import type { Clock } from "./clock.ts";
import { Damping } from "./damping.ts";
import { Gates } from "./gates.ts";
import type { Peer } from "./peer.ts";
import { RosterQueue } from "./roster-queue.ts";
import { partMaxBytesOf } from "./rosters.ts";
import { isSettledFor, isSettledForAll, settleFor, settleForAll } from "./settled.ts";
import { note, Showing } from "./showing.ts";
import type { Broadcast } from "./socket.ts";
import type { Identity } from "./space.ts";

/**
 * A tick writes one frame to each member: larger channels tick less often, so that a storm of joins stays linear, also one
 * that takes seconds. A roster never waits for that: one that is due before the next tick is written ahead of it.
 */
const SPACING_MS_PER_MEMBER = 0.5;
const SPACING_MAX_MS = 500;

export interface PresenceParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly tickMs: number;
  /** What may wait for one connection. */
  readonly maxPendingBytes: number;
  /** Called when a channel may have become unused. */
  readonly tidy: (channel: Channel) => void;
  readonly boundary: Boundary;
  /** Called for a reader that does not take its rosters. */
  readonly cut: (peer: Peer) => void;
  readonly count: { changes(n: number): void; frames(n: number): void };
}

export class Presence {
  private readonly dirty = new Set<Channel>();
  private ticking = false;
  private readonly gates: Gates;
  private readonly audience: Audience;
  private readonly queue: RosterQueue;
  private readonly showing: Showing;

  constructor(private readonly parts: PresenceParts) {
    const { clock, maxPendingBytes, boundary, cut, count } = parts;
    const partMaxBytes = partMaxBytesOf(maxPendingBytes);
    const damping = new Damping(clock, (channel, peerId) => this.released(channel, peerId));
    this.gates = new Gates(clock, (subscriptions) => this.overdue(subscriptions));
    this.audience = new Audience({ damping, partMaxBytes, countFrames: count.frames });
    this.queue = new RosterQueue({
      clock,
      boundary,
      spareBytes: maxPendingBytes - partMaxBytes,
      proceed: (subscription) => this.proceed(subscription),
      cut,
    });
    this.showing = new Showing({ ...parts, damping, audience: this.audience, queue: this.queue, partMaxBytes });
  }

  /** A subscription waits for its ack, while the engine finds out who is there: its peer may speak before. */
  expect(subscription: Subscription): void {
    const { member } = subscription;
    if (!member) return;
    if (!member.subscriptions.includes(subscription)) member.add(subscription);
    note(member);
  }

  /** A subscription begins, or asks again: its roster waits for the pong of the ping that follows the ack. */
  enter(subscription: Subscription): void {
    const { peer, channel } = subscription;
    if (!subscription.member) return;
    // Anew: while the engine was asked, the last other connection of this peer may have gone, and the member with it.
    const member = channel.member(peer.identity);
    subscription.member = member;
    if (!member.subscriptions.includes(subscription)) member.add(subscription);
    this.hold(subscription);
    if (subscription.gate === 0) peer.gated++;
    subscription.gate = ++peer.pingSeq;
    subscription.owed = subscription.gate;
    // A peer that is known already is not a newcomer: when an older connection of it ends now, it has not left.
    if (member.isKnown) {
      subscription.visible = true;
      this.change(member);
    }
    note(member);
    // Other nodes know of it from now on: it may speak on any of them, and an older connection of it may end there.
    announce(this.parts.engine, channel, [member]);
    // A ping that cannot be written is a socket that is going: its close will undo all this.
    peer.socket.ping(String(subscription.gate));
    this.gates.add(subscription);
  }

  /** A subscription ends. */
  leave(subscription: Subscription): void {
    const { member } = subscription;
    if (!member) return;
    this.hold(subscription);
    if (subscription.gate !== 0) subscription.peer.gated--;
    subscription.gate = 0;
    subscription.owed = 0;
    subscription.visible = false;
    member.remove(subscription);
    this.keepShown(member);
    this.change(member);
  }

  /** The pong of ping number `seq` has come: whatever waited for it or an earlier one goes on. */
  pong(peer: Peer, seq: number): void {
    if (peer.gated === 0) return;
    for (const subscription of peer.subscriptions)
      if (subscription.gate !== 0 && subscription.gate <= seq) this.openGate(subscription);
  }

  /**
   * Before a peer's message is written to a channel: changes of its presence that wait are shown, also in other channels,
   * because receivers may share them. There all members are shown them: finding those who share both would be a loop over
   * subscribers, and damping bounds what it costs. `isHeard`: this node has a receiver for the message. Without one nothing is
   * shown ahead of its tick.
   */
  settle(identity: Identity, isHeard: boolean): void {
    if (!isHeard) return this.announceWaiting(identity);
    for (const member of [...(identity.waiting ?? [])]) {
      if (isSettledForAll(member)) continue;
      member.show();
      // Those who have their roster ahead of the tick are not told by topic yet: the tick tells them, so it comes now.
      this.parts.boundary.forChannel("socket", member.channel, (channel) => {
        if (channel.early.length > 0) this.tickChannel(channel, member);
        else this.showing.tell(channel, [member], member);
        settleForAll(member);
      });
    }
  }

  /** Before a peer's direct message: changes of its presence that wait are written to the connections that receive it. */
  settleTowards(identity: Identity, target: Identity): void {
    for (const member of identity.waiting ?? []) {
      if (isSettledFor(member, target)) continue;
      const entry = member.arrivedEntry();
      for (const peer of target.peers) {
        const subscription = peer.subscriptionTo(member.channel.name);
        if (!subscription?.member || subscription.member === member) continue;
        this.audience.showAlone(subscription, member, entry);
        // The next tick compares what it knows with what the channel is shown.
        if (subscription.ahead) this.schedule(member.channel);
      }
      settleFor(member, target);
    }
  }

  /** Other nodes must know of a leave before what the peer says next arrives there. */
  announceWaiting(identity: Identity): void {
    for (const member of identity.waiting ?? []) announce(this.parts.engine, member.channel, [member]);
  }

  /** Another node's part of the membership has changed. */
  remote(node: NodeId, channel: Channel, joined: readonly MemberState[], left: readonly string[]): void {
    for (const state of joined) {
      const member = channel.member(channel.space.identity(state.peerId));
      member.remote ??= new Map();
      member.remote.set(node, state);
      note(member);
      if (!state.isArriving || member.shown !== undefined) this.schedule(channel);
    }
    for (const peerId of left) {
      const member = channel.members.get(peerId);
      if (!member?.remote?.delete(node)) continue;
      if (member.remote.size === 0) member.remote = undefined;
      this.keepShown(member);
      this.change(member);
    }
  }

  /** A reader has taken what was waiting for it: the next roster, or the next part of a long one, if there is one. */
  drained(peer: Peer): void {
    this.queue.drained(peer);
  }

  /** No changes until the next roster: nothing may come between an ack and its roster. */
  private hold(subscription: Subscription): void {
    this.queue.remove(subscription);
    this.audience.mute(subscription);
    subscription.roster = undefined;
    subscription.ahead = undefined;
    subscription.awaitsTick = false;
  }

  private openGate(subscription: Subscription): void {
    subscription.gate = 0;
    subscription.peer.gated--;
    subscription.channel.ready.push(subscription);
    this.schedule(subscription.channel);
  }

  /** Rosters that are still owed at their deadline are written now. */
  private overdue(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) if (subscription.gate !== 0) this.openGate(subscription);
    for (const [channel, some] of Map.groupBy(subscriptions, (one) => one.channel))
      this.parts.boundary.forChannel("timer", channel, () => this.writeNow(channel, some));
  }

  /** It is this subscription's turn among the rosters of its connection. */
  private proceed(subscription: Subscription): void {
    const { channel } = subscription;
    if (subscription.roster) return this.showing.advance(subscription);
    if (!subscription.open || subscription.gate !== 0 || subscription.owed === 0) return;
    channel.ready.push(subscription);
    this.schedule(channel);
    // The roster is of one connection, but a tick of its channel is for all.
    this.parts.boundary.forChannel("socket", channel, () => this.writeNow(channel, [subscription]));
  }

  private writeNow(channel: Channel, subscriptions: readonly Subscription[]): void {
    if (this.mayTick(channel)) this.tickChannel(channel);
    else this.rosterEarly(channel, subscriptions);
  }

  /** The channel has ticked just now: these get their roster at once, and its next tick tells the others of them. */
  private rosterEarly(channel: Channel, subscriptions: readonly Subscription[]): void {
    const admitted = subscriptions.filter((one) => this.queue.admits(one));
    for (const subscription of admitted) {
      subscription.owed = 0;
      subscription.awaitsTick = true;
      channel.early.push(subscription);
    }
    this.showing.rosters(channel, admitted);
    for (const subscription of admitted) this.showing.advance(subscription);
  }

  /** A change that damping held back may be shown: by the next tick, or before the next message of its peer. */
  private released(channel: Channel, peerId: string): void {
    const member = channel.members.get(peerId);
    if (member) note(member);
    this.schedule(channel);
  }

  private change(member: Member): void {
    note(member);
    this.schedule(member.channel);
  }

  /** A peer that is known has not left while it has another connection here, though that one still awaits its roster. */
  private keepShown(member: Member): void {
    if (member.shown !== undefined) for (const other of member.subscriptions) other.visible = true;
  }

  private schedule(channel: Channel): void {
    this.dirty.add(channel);
    if (this.ticking) return;
    this.ticking = true;
    this.parts.clock.after(this.parts.tickMs, () => {
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

  private tickChannel(channel: Channel, speaker?: Member): void {
    // A set: one that asked twice within a tick gets one roster.
    const newcomers = [...new Set(channel.ready)].filter(
      (one) => one.open && one.gate === 0 && one.owed !== 0 && this.queue.admits(one),
    );
    const early = [...new Set(channel.early)].filter((one) => one.open && one.awaitsTick);
    channel.ready = [];
    channel.early = [];
    this.dirty.delete(channel);
    channel.lastTickMs = this.parts.clock.monotonicMs();
    for (const subscription of [...newcomers, ...early]) {
      subscription.visible = true;
      subscription.owed = 0;
      subscription.awaitsTick = false;
    }
    this.showing.tell(channel, [...channel.changed], speaker, { newcomers, early });
  }
}
