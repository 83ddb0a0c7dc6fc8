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
import { ROSTER_WAIT_MS } from "../protocol/limits.ts";
import type { Boundary } from "./boundary.ts";
import type { Channel, Member, Subscription } from "./channel.ts";
import type { Clock } from "./clock.ts";
import type { Peer } from "./peer.ts";
import { changeFrames, isWritten, writeRosters } from "./rosters.ts";
import type { Broadcast } from "./socket.ts";
import type { Identity } from "./space.ts";

/**
 * A tick writes one frame to each member: larger channels tick less often, so that a storm of joins stays linear, also one
 * that takes seconds. A roster never waits for that: one that is due before the next tick is written ahead of it.
 */
const SPACING_MS_PER_MEMBER = 0.5;
const SPACING_MAX_MS = 500;
/** A roster is due ROSTER_WAIT_MS after its ack; this much earlier we stop waiting, for timers are late now and then. */
const GATE_WAIT_MS = ROSTER_WAIT_MS - 50;
/** Rosters that become due within so long are written together: each of them is as long as the channel is large. */
const WATCH_GAP_MS = 10;

export interface PresenceParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly tickMs: number;
  /** Called when a channel may have become unused. */
  readonly tidy: (channel: Channel) => void;
  readonly boundary: Boundary;
  readonly count: { changes(n: number): void; frames(n: number): void };
}

interface Waiting {
  readonly subscription: Subscription;
  readonly gate: number;
  readonly untilMs: number;
}

export class Presence {
  private readonly dirty = new Set<Channel>();
  private ticking = false;
  /** In the order of their deadlines: all wait equally long. */
  private waiting: Waiting[] = [];
  private watching = false;

  constructor(private readonly parts: PresenceParts) {}

  /** A subscription waits for its ack, while the engine finds out who is there: its peer may speak before. */
  expect(subscription: Subscription): void {
    const { member, channel } = subscription;
    if (!member) return;
    if (!member.subscriptions.includes(subscription)) member.add(subscription);
    this.note(member);
    channel.changed.add(member);
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
      this.change(member, channel);
    }
    this.note(member);
    channel.changed.add(member);
    // Other nodes know of it from now on: it may speak on any of them, and an older connection of it may end there.
    this.announce(channel, [member]);
    // A ping that cannot be written is a socket that is going: its close will undo all this.
    peer.socket.ping(String(subscription.gate));
    this.waiting.push({
      subscription,
      gate: subscription.gate,
      untilMs: this.parts.clock.monotonicMs() + GATE_WAIT_MS,
    });
    this.watch();
  }

  /** A subscription ends. */
  leave(subscription: Subscription): void {
    const { member, channel } = subscription;
    if (!member) return;
    this.hold(subscription);
    if (subscription.gate !== 0) subscription.peer.gated--;
    subscription.gate = 0;
    subscription.owed = 0;
    subscription.visible = false;
    member.remove(subscription);
    this.keepShown(member);
    this.change(member, channel);
  }

  /** The pong of ping number `seq` has come: whatever waited for it or an earlier one goes on. */
  pong(peer: Peer, seq: number): void {
    if (peer.gated === 0) return;
    for (const subscription of peer.subscriptions)
      if (subscription.gate !== 0 && subscription.gate <= seq) this.openGate(subscription);
  }

  /** Before a peer's words are written to anybody: what is waiting to be told about it is told. */
  settle(identity: Identity): void {
    if (!identity.waiting) return;
    for (const member of [...identity.waiting]) {
      member.show();
      // Those who have their roster ahead of the tick are not told by topic yet: the tick tells them, so it comes now.
      this.parts.boundary.forChannel("socket", member.channel, (channel) => {
        if (channel.early.length > 0) this.tickChannel(channel);
        else this.tell(channel, [member]);
      });
    }
  }

  /** Another node's part of the membership has changed. */
  remote(node: NodeId, channel: Channel, joined: readonly MemberState[], left: readonly string[]): void {
    for (const state of joined) {
      const member = channel.member(channel.space.identity(state.peerId));
      member.remote ??= new Map();
      member.remote.set(node, state);
      this.note(member);
      channel.changed.add(member);
      if (!state.isArriving || member.shown !== undefined) this.schedule(channel);
    }
    for (const peerId of left) {
      const member = channel.members.get(peerId);
      if (!member?.remote?.delete(node)) continue;
      if (member.remote.size === 0) member.remote = undefined;
      this.keepShown(member);
      this.change(member, channel);
    }
  }

  /** A reader has taken what was waiting for it: the next part of a long roster, if there is one. */
  drained(peer: Peer): void {
    for (const subscription of peer.subscriptions) {
      if (subscription.roster && !subscription.awaitsTick && isWritten(subscription)) this.listen(subscription);
    }
  }

  /** Off the presence topic until the next roster: nothing may come between an ack and its roster. */
  private hold(subscription: Subscription): void {
    subscription.roster = undefined;
    subscription.awaitsTick = false;
    if (!subscription.listening) return;
    subscription.listening = false;
    subscription.channel.listeners--;
    subscription.peer.socket.unsubscribe(subscription.channel.presenceTopic);
  }

  private listen(subscription: Subscription): void {
    subscription.listening = true;
    subscription.channel.listeners++;
    subscription.peer.socket.subscribe(subscription.channel.presenceTopic);
  }

  private openGate(subscription: Subscription): void {
    subscription.gate = 0;
    subscription.peer.gated--;
    subscription.channel.ready.push(subscription);
    this.schedule(subscription.channel);
  }

  private change(member: Member, channel: Channel): void {
    this.note(member);
    channel.changed.add(member);
    this.schedule(channel);
  }

  /** A peer that is known has not left while it has another connection here, though that one still awaits its roster. */
  private keepShown(member: Member): void {
    if (member.shown !== undefined) for (const other of member.subscriptions) other.visible = true;
  }

  private note(member: Member): void {
    member.identity.waiting ??= new Set();
    member.identity.waiting.add(member);
  }

  /** Rosters that are still owed at their deadline are written then. */
  private watch(): void {
    if (this.watching || this.waiting.length === 0) return;
    this.watching = true;
    const first = this.waiting[0] as Waiting;
    this.parts.clock.after(Math.max(WATCH_GAP_MS, first.untilMs - this.parts.clock.monotonicMs()), () => {
      this.watching = false;
      for (const [channel, subscriptions] of Map.groupBy(this.overdue(), (one) => one.channel)) {
        this.parts.boundary.forChannel("timer", channel, () => {
          if (this.mayTick(channel)) this.tickChannel(channel);
          else this.rosterEarly(channel, subscriptions);
        });
      }
      this.watch();
    });
  }

  private overdue(): Subscription[] {
    const now = this.parts.clock.monotonicMs();
    const overdue: Subscription[] = [];
    let passed = 0;
    for (const { subscription, gate, untilMs } of this.waiting) {
      const waits = subscription.open && subscription.owed === gate;
      if (waits && untilMs > now) break;
      passed++;
      if (!waits) continue;
      if (subscription.gate !== 0) this.openGate(subscription);
      overdue.push(subscription);
    }
    this.waiting.splice(0, passed);
    return overdue;
  }

  /** The channel has ticked just now: these get their roster at once, and its next tick tells the others of them. */
  private rosterEarly(channel: Channel, subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) {
      subscription.owed = 0;
      subscription.awaitsTick = true;
      channel.early.push(subscription);
    }
    this.rosters(channel, subscriptions);
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

  private tickChannel(channel: Channel): void {
    // A set: one that asked twice within a tick gets one roster.
    const newcomers = [...new Set(channel.ready)].filter((one) => one.open && one.gate === 0 && one.owed !== 0);
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
    this.tell(channel, [...channel.changed], newcomers, early);
  }

  /**
   * Writes rosters to newcomers, then the difference to those who listen, then lets the newcomers listen too; and those who
   * have theirs already, behind what they have missed.
   */
  private tell(
    channel: Channel,
    members: readonly Member[],
    newcomers: readonly Subscription[] = [],
    early: readonly Subscription[] = [],
  ): void {
    const joined: string[] = [];
    const left: string[] = [];
    for (const member of members) {
      const entry = member.entry();
      if (entry === member.shown) continue;
      if (entry !== undefined) joined.push(entry);
      else if (member.shown !== undefined) left.push(member.shown);
      member.shown = entry;
    }
    if (newcomers.length > 0) this.rosters(channel, newcomers);
    if (joined.length + left.length > 0) {
      this.parts.count.changes(joined.length + left.length);
      if (channel.listeners > 0) this.broadcast(channel, joined, left);
    }
    for (const subscription of [...newcomers, ...early]) {
      if (isWritten(subscription)) this.listen(subscription);
    }
    this.announce(channel, members);
    for (const member of members) this.told(member);
    this.parts.tidy(channel);
  }

  /** What this node's own connections make of these members, to the other nodes. */
  private announce(channel: Channel, members: readonly Member[]): void {
    const joined: MemberState[] = [];
    const left: string[] = [];
    for (const member of members) {
      const state = member.toAnnounce();
      if (state ? sameState(state, member.announced) : !member.announced) continue;
      if (state) joined.push(state);
      else left.push(member.identity.peerId);
      member.announced = state;
    }
    if (joined.length + left.length > 0) this.parts.engine.announce(channel.space.app, channel.name, joined, left);
  }

  private broadcast(channel: Channel, joined: readonly string[], left: readonly string[]): void {
    const frames = changeFrames(channel.json, joined, left);
    this.parts.count.frames(channel.listeners * frames.length);
    for (const frame of frames) this.parts.broadcast(channel.presenceTopic, frame, undefined);
  }

  private rosters(channel: Channel, newcomers: readonly Subscription[]): void {
    this.parts.count.frames(newcomers.length);
    writeRosters(channel, newcomers);
  }

  /** Nothing about this member waits any more, unless one of its own connections still does. */
  private told(member: Member): void {
    const { identity, channel } = member;
    if (member.isArriving) return;
    channel.changed.delete(member);
    identity.waiting?.delete(member);
    if (identity.waiting?.size === 0) identity.waiting = undefined;
    if (member.isGone) channel.forget(member);
  }
}

const sameState = (a: MemberState, b: MemberState | undefined): boolean =>
  b !== undefined && a.metadataJson === b.metadataJson && a.since === b.since && a.isArriving === b.isArriving;
