/**
 * Members that have no connection any more and are still shown (history 4). That begins when the last connection of a member
 * ends without a goodbye, or when the service itself has ended it, or while messages of it are uncommitted. It ends with its time,
 * with the return of the peer on any node, with a goodbye, and with a kick or a change of the key.
 *
 * The node that has lost the connection announces that the member lingers, and ends that. When that node is gone, every node that
 * knew the member keeps it until the same time.
 *
 *     it lingers    `lingers`   begins when                                                ends with
 *     uncommitted   none        its last connection ends before its messages are stored    these messages, then as if it ended now
 *     held          "held"      the service ended a connection with a token                HOLD_MS: lost if the grace is longer, else over
 *     lost          "lost"      it ended without a goodbye, in a channel with a grace      the grace: over
 *
 * The last two are also taken over, as `isInherited`, from a node that is gone and from the notes of the last run. A return, a
 * goodbye, a kick and a change of the key end them early, but not an uncommitted one: a kick counts when its messages are delivered.
 */
import { NO_KEY } from "../../access/admission/admit.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Engine, Lingers, MemberState } from "../../engine/engine.ts";
import { bitOf } from "../../protocol/actions.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import type { Holds } from "../connections/holds.ts";
import type { KickTimes } from "../connections/kick-times.ts";
import { LINGERING_MAX, LINGERING_PER_APP_MAX } from "../connections/limits.ts";
import { hasUncommitted } from "../state/backlog.ts";
import type { Channel } from "../state/channel.ts";
import { isLonger, type LingeringState, lingering } from "../state/lingering-state.ts";
import { anyRemote, type Member, stateOf } from "../state/member.ts";
import { isLive, isNewer } from "../state/newest.ts";
import type { Subscription } from "../state/subscription.ts";
import { announce } from "./announce.ts";
import { fromOther } from "./between-nodes.ts";

const SLOT_MS = 50;
const PRESENCE = bitOf("presence");
const SUBSCRIBE = bitOf("subscribe");
/** How much longer than announced a member lingers whose node is there and should have ended it. */
const OVERDUE_MS = 5000;

/** Nodes close connections for the same reason at about the same time: of those the newest counts, whichever node was first. */
const TOGETHER_MS = 500;

/** A node that has died is noticed within seconds. */
const GONE_TOGETHER_MS = 10_000;

interface LingeringParts {
  readonly clock: Clock;
  readonly kickTimes: KickTimes;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly holds: Pick<Holds, "end" | "inherit">;
  /** What is to be shown of this member may have changed. */
  readonly changed: (member: Member) => void;
}

export class Lingering {
  /**
   * Members that linger on this node. Bound: LINGERING_MAX, half of them of one application; further ones leave at once. Beyond it,
   * members of connections that have just ended, until the store has answered for their messages.
   */
  private readonly members = new Set<Member>();
  /** Slot n holds the members with something to end by n × SLOT_MS. Bound: `members`, and members that other nodes announce. */
  private readonly slots = new Map<number, Set<Member>>();
  private turning = false;
  /** Steady ms until which members are held at least: while a node drains, those it has closed first wait for the last. */
  heldAtLeastUntilMs = 0;

  constructor(private readonly parts: LingeringParts) {}

  get all(): Iterable<Member> {
    return this.members;
  }

  get size(): number {
    return this.members.size;
  }

  /** The last subscription of this member on this node has ended. */
  departed(subscription: Subscription, member: Member): void {
    if (hasUncommitted(subscription.connection) && isShown(member)) this.departLater(subscription, member);
    else this.depart(subscription, member);
  }

  /** Behind its messages that are still to be delivered. */
  private departLater(subscription: Subscription, member: Member): void {
    const state = stateOf(subscription);
    this.begin(member, { state, isInherited: false, graceUntilMs: 0 });
    const { withExtras } = subscription.connection;
    // Bound: subscriptions of the connection, CHANNELS_PER_CONNECTION_MAX.
    withExtras.whenCommitted ??= [];
    withExtras.whenCommitted.push(() => this.committed(subscription, member, state));
  }

  /** The messages that its `left` has waited for are delivered. */
  private committed(subscription: Subscription, member: Member, state: MemberState): void {
    const { lingeringState } = member;
    // Another lingering state may have taken its place.
    if (!lingeringState || !isLive(lingeringState.state) || lingeringState.state.since !== state.since) return;
    this.end(member);
    if (!member.hasSubscription) this.depart(subscription, member);
    this.parts.changed(member);
  }

  private depart(subscription: Subscription, member: Member): void {
    const { connection, channel } = subscription;
    const departure = connection.open ? "goodbye" : connection.departure;
    // The last connection decides: with its goodbye, those that were lost before it do not linger either.
    // So does a kick while its messages were uncommitted.
    if (departure === "goodbye" || this.wasKicked(member, connection.connectedMs)) return this.forget(member);
    const isHeld = departure === "held" && connection.isFromToken;
    if (!isHeld && channel.graceSec === 0) return;
    if (!isShown(member) || !channel.isInUse || this.isFull(member)) return;
    // Messages that were stored late: the key may have been revoked since.
    if (!this.isAllowed(member, connection.keyId)) return;
    const nowMs = this.parts.clock.steadyMs();
    const graceUntilMs = nowMs + channel.graceSec * 1000;
    const untilMs = isHeld ? Math.max(nowMs + HOLD_MS, this.heldAtLeastUntilMs) : graceUntilMs;
    if (untilMs <= nowMs) return;
    const lingers: Lingers = { why: isHeld ? "held" : "lost", untilMs, keyId: connection.keyId };
    // It lingers nevertheless: that other connection may have ended, too, and its node does not know of this end yet.
    const hadOther = member.isElsewhere || hasJustEndedElsewhere(member, nowMs);
    const state = lingering(stateOf(subscription), hadOther ? { ...lingers, hadOther } : lingers);
    this.begin(member, { state, isInherited: false, graceUntilMs });
  }

  /**
   * The node of a member's connection is gone, or the node on which it lingers. It lingers here if it has no other connection. Nodes
   * that die together are noticed one after the other, by each node in another order: the newest of their connections counts.
   */
  nodeGone(member: Member, state: MemberState): void {
    const nowMs = this.parts.clock.steadyMs();
    if (!isLive(state)) return member.isConnected ? undefined : this.inherit(member, state, nowMs);
    const { lastGone } = member;
    const before = lastGone && nowMs - lastGone.atMs < GONE_TOGETHER_MS ? lastGone.state : undefined;
    const newest = before && isNewer(before, state) ? before : state;
    member.lastGone = member.isConnected ? { state: newest, atMs: nowMs } : undefined;
    if (!member.isConnected) this.inherit(member, newest, nowMs);
  }

  private inherit(member: Member, state: MemberState, nowMs: number): void {
    // It was kicked before this node has noticed that its node is gone.
    if (this.wasKicked(member, state.since)) return;
    const lingers = state.lingers ?? lostNow(state, nowMs + member.channel.graceSec * 1000);
    this.keep(member, lingering(state, lingers));
  }

  /** Keeps a member whose connection has ended on another node, or before this node started. */
  private keep(member: Member, state: MemberState): void {
    const { lingers } = state;
    if (!lingers || lingers.untilMs <= this.parts.clock.steadyMs() || this.isFull(member)) return;
    if (!this.isAllowed(member, lingers.keyId)) return;
    const isHeld = lingers.why === "held";
    const graceUntilMs = isHeld ? lingers.untilMs - HOLD_MS + member.channel.graceSec * 1000 : lingers.untilMs;
    const lingeringState = { state, isInherited: true, graceUntilMs };
    if (member.lingeringState && !isLonger(lingeringState, member.lingeringState)) return;
    this.begin(member, lingeringState);
    const { space, peerId } = member.peer;
    if (isHeld) this.parts.holds.inherit(space.id, peerId, lingers.untilMs, lingers.keyId);
  }

  /** Keeps a member of a note, as if its connection had just ended. */
  keepNoted(channel: Channel, state: MemberState): void {
    const member = channel.member(channel.space.peer(state.peerId));
    if (!this.wasKicked(member, state.since)) this.keep(member, state);
    this.parts.changed(member);
  }

  /**
   * Another node says that this member lingers: that node ends it, but it does not linger without an end if that node fails to.
   * Returns the state to keep, with its end by the clock of this node.
   */
  announced(member: Member, state: MemberState, lingers: Lingers): MemberState {
    const here = fromOther(lingers, this.parts.clock);
    this.addToSlot(member, here.untilMs + OVERDUE_MS);
    return lingering(state, here);
  }

  /** The member has a connection on another node. */
  returnedElsewhere(member: Member): void {
    // Nodes that do not know that it lingers here would take its end for a goodbye.
    if (member.lingeringState) announce(this.parts, member.channel, [member]);
    this.forget(member);
  }

  /** The member has a connection again, or has said goodbye: nothing of its earlier connections counts any more. */
  forget(member: Member): void {
    const { lingeringState, peer } = member;
    if (lingeringState && !isLive(lingeringState.state)) {
      this.end(member);
      this.parts.holds.end(peer.space.id, peer.peerId);
    }
    if (anyRemote(member, lingersThere))
      for (const [node, state] of member.remote ?? []) if (!isLive(state)) member.remote?.delete(node);
    if (member.remote?.size === 0) member.remote = undefined;
  }

  // Ended by others

  /** The peer was kicked. One whose messages are uncommitted leaves behind them: the kick counts when they are delivered. */
  endPeer(spaceId: SpaceId, peerId: string): void {
    this.parts.kickTimes.note(spaceId, peerId);
    for (const member of [...this.members])
      if (member.peer.peerId === peerId && member.peer.space.id === spaceId && member.lingeringState?.state.lingers)
        this.endNow(member);
  }

  /** Whether the peer was kicked since its connection of `sinceMs` was made. */
  private wasKicked({ peer }: Member, sinceMs: number): boolean {
    return this.parts.kickTimes.last(peer.space.id, peer.peerId) >= sinceMs;
  }

  /** The key was revoked or narrowed. */
  endKey(keyId: string): void {
    for (const member of [...this.members])
      if (member.lingeringState?.state.lingers?.keyId === keyId && !this.isAllowed(member, keyId)) this.endNow(member);
  }

  /** Whether the key as it is now lets its peers be members of the channel. Without the id of a key only time ends it. */
  private isAllowed({ channel }: Member, keyId: string): boolean {
    if (keyId === NO_KEY) return true;
    const key = this.parts.keyring.key(keyId);
    if (!key || key.type === "sealed") return false;
    return (key.actions & PRESENCE) !== 0 && (key.actions & SUBSCRIBE) !== 0 && key.scope.matches(channel.name);
  }

  private endNow(member: Member): void {
    this.end(member);
    this.parts.changed(member);
  }

  private isFull({ peer }: Member): boolean {
    return this.members.size >= LINGERING_MAX || peer.space.lingeringCount >= LINGERING_PER_APP_MAX;
  }

  // Time

  private begin(member: Member, lingeringState: LingeringState): void {
    member.lingeringState = lingeringState;
    if (!this.members.has(member)) member.peer.space.lingeringCount++;
    this.members.add(member);
    if (lingeringState.state.lingers) this.addToSlot(member, lingeringState.state.lingers.untilMs);
  }

  private end(member: Member): void {
    member.lingeringState = undefined;
    if (this.members.delete(member)) member.peer.space.lingeringCount--;
  }

  private addToSlot(member: Member, atMs: number): void {
    const slot = Math.ceil(atMs / SLOT_MS);
    const inSlot = this.slots.get(slot);
    if (inSlot) inSlot.add(member);
    else this.slots.set(slot, new Set([member]));
    this.scheduleSweep();
  }

  private scheduleSweep(): void {
    if (this.turning || this.slots.size === 0) return;
    this.turning = true;
    this.parts.clock.after(SLOT_MS, () => {
      this.turning = false;
      try {
        this.serve(this.parts.clock.steadyMs());
      } finally {
        // Even after an exception: without the next turn members would linger without an end.
        this.scheduleSweep();
      }
    });
  }

  private serve(nowMs: number): void {
    for (const [slot, members] of this.slots) {
      if (slot * SLOT_MS > nowMs) continue;
      this.slots.delete(slot);
      for (const member of members) this.expire(member, nowMs);
    }
  }

  private expire(member: Member, nowMs: number): void {
    // Detached after a fault: a new channel may have the same name, and knows nothing of this member.
    if (!member.channel.isInUse) return this.end(member);
    let isChanged = false;
    for (const [node, { lingers }] of member.remote ?? []) {
      if (!lingers || lingers.untilMs + OVERDUE_MS > nowMs) continue;
      member.remote?.delete(node);
      isChanged = true;
    }
    if (member.remote?.size === 0) member.remote = undefined;
    const { lingeringState } = member;
    const lingers = lingeringState?.state.lingers;
    if (lingeringState && lingers && lingers.untilMs <= nowMs) {
      const { isInherited, graceUntilMs } = lingeringState;
      if (lingers.why === "held" && graceUntilMs > nowMs) {
        const state = lingering(lingeringState.state, { ...lingers, why: "lost", untilMs: graceUntilMs });
        this.begin(member, { state, isInherited, graceUntilMs });
      } else this.end(member);
      isChanged = true;
    }
    if (isChanged) this.parts.changed(member);
  }
}

const lingersThere = (state: MemberState): boolean => !isLive(state);

/** Other members know of it: one that was never shown does not linger. */
const isShown = ({ isShown, announced }: Member): boolean =>
  isShown || (announced !== undefined && !announced.isArriving);

/** A connection on another node has ended together with the one that ends now. */
function hasJustEndedElsewhere({ remote, channel }: Member, nowMs: number): boolean {
  for (const { lingers } of remote?.values() ?? []) {
    if (!lingers?.hadOther) continue;
    const endedMs = lingers.untilMs - (lingers.why === "held" ? HOLD_MS : channel.graceSec * 1000);
    if (nowMs - endedMs < TOGETHER_MS) return true;
  }
  return false;
}

const lostNow = ({ keyId }: MemberState, untilMs: number): Lingers => ({
  why: "lost",
  untilMs,
  keyId: keyId ?? NO_KEY,
});
