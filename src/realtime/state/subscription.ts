/**
 * One connection's subscription to one channel, and its state in the channel's presence.
 *
 *     absent → opening → awaitingPong → ready ────────────────→ rostered ⇄ listening ⇄ offTopic
 *                                         └───→ awaitingTick ──────┘ └────────────────────↑
 *
 * A repeated subscribe leads from every state with a member back to `awaitingPong`, the loss of the presence action to
 * `absent`, the end of the subscription to `ended`. `rostered` leads to `offTopic` if changes were sent to it alone before the tick; `listening` leads
 * back to `rostered` for one write that it must not get.
 *
 * Rosters have a deadline, but large channels tick rarely: `awaitingTick` is for a roster that is written before the channel's next
 * tick. `offTopic` is for a receiver of direct messages that was sent presence changes before the channel was (individual-changes.ts
 * explains why).
 *
 * Only this file changes the state. What must agree with it changes in the same step: the presence and state topics,
 * `channel.listeners`, `channel.stateListeners` and `channel.offTopic`.
 */
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import type { Member } from "./member.ts";
import type { Replay } from "./replay.ts";
import type { Roster } from "./roster.ts";
import { ABSENT, ENDED, type EndReason, isVisibleIn, type SubscriptionState } from "./subscription-states.ts";

export type { EndReason };

const WITH_METADATA = 1;
const WITH_STATES = 2;
const WITH_OCCUPANCY = 4;
const WAS_ACKED = 8;
const IS_ON_STATE_TOPIC = 16;
const IS_VISIBLE = 32;

export class Subscription {
  /** One field for all that is true or false: with one each, a subscription would take twice the memory. */
  private flags = 0;
  /** What the peer says about itself through this connection; `undefined` if nothing. */
  stateJson: string | undefined;
  /** Present until it has got earlier messages of the channel, and is on the topic. */
  replay: Replay | undefined;
  /** `undefined` while it listens: nearly all do, and `kind` and `currentMember` say everything. */
  private current: SubscriptionState | undefined = ABSENT;
  // Copies of what `current` says, changed with it: ticks read them for every member, and the states have nine different shapes.
  private kind: SubscriptionState["kind"] = ABSENT.kind;
  private currentMember: Member | undefined;

  constructor(
    readonly connection: Connection,
    readonly channel: Channel,
  ) {}

  /** Made while it listens: what is asked often has its own query. */
  get state(): SubscriptionState {
    const { current, currentMember } = this;
    if (current) return current;
    return currentMember ? { kind: "listening", member: currentMember } : ABSENT;
  }

  // Flags

  get withMetadata(): boolean {
    return this.has(WITH_METADATA);
  }

  set withMetadata(on: boolean) {
    this.set(WITH_METADATA, on);
  }

  /** Rosters carry the members' states, and changes of them are sent. Counts from the next roster on. */
  get withStates(): boolean {
    return this.has(WITH_STATES);
  }

  set withStates(on: boolean) {
    this.set(WITH_STATES, on);
  }

  /** It is sent how many members there are (occupancy-frames.ts). */
  get withOccupancy(): boolean {
    return this.has(WITH_OCCUPANCY);
  }

  set withOccupancy(on: boolean) {
    this.set(WITH_OCCUPANCY, on);
  }

  /** It has taken part in presence: its end is a leave. */
  get wasAcked(): boolean {
    return this.has(WAS_ACKED);
  }

  private has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  private set(flag: number, on: boolean): void {
    this.flags = on ? this.flags | flag : this.flags & ~flag;
  }

  // Queries

  /** `undefined` while the subscription takes no part in presence. */
  get member(): Member | undefined {
    return this.currentMember;
  }

  get isEnded(): boolean {
    return this.kind === "ended";
  }

  get isAwaitingPong(): boolean {
    return this.kind === "awaitingPong";
  }

  get isReady(): boolean {
    return this.kind === "ready";
  }

  get isRostered(): boolean {
    return this.kind === "rostered";
  }

  get isAwaitingTick(): boolean {
    return this.kind === "awaitingTick";
  }

  get isListening(): boolean {
    return this.kind === "listening";
  }

  /** Whether other members may be shown this subscription. */
  get isVisible(): boolean {
    return this.has(IS_VISIBLE);
  }

  /** The roster is written, or its first part. */
  get hasRoster(): boolean {
    const { kind } = this;
    return kind === "awaitingTick" || kind === "rostered" || kind === "listening" || kind === "offTopic";
  }

  /** The roster is still to be written. */
  get awaitsRoster(): boolean {
    const { kind } = this;
    return kind === "opening" || kind === "awaitingPong" || kind === "ready";
  }

  /** True while the roster tied to this ping is unsent. */
  awaitsRosterFor(ping: number): boolean {
    const { current } = this;
    return (current?.kind === "awaitingPong" || current?.kind === "ready") && current.ping === ping;
  }

  /** The roster waits for the pong of this ping or of an earlier one. */
  awaitsPongUpTo(ping: number): boolean {
    const { current } = this;
    return current?.kind === "awaitingPong" && current.ping <= ping;
  }

  /** The whole roster is written, so changes may follow. */
  get knowsMembers(): boolean {
    const { kind, current } = this;
    if (current?.kind === "awaitingTick") return current.progress.partsWritten >= current.progress.roster.parts.length;
    return kind === "listening" || kind === "offTopic";
  }

  get roster(): Roster | undefined {
    const { current } = this;
    return current?.kind === "awaitingTick" || current?.kind === "rostered" ? current.progress?.roster : undefined;
  }

  get overrides(): ReadonlyMap<string, string | undefined> | undefined {
    const { current } = this;
    return current?.kind === "awaitingTick" || current?.kind === "rostered" || current?.kind === "offTopic"
      ? current.overrides
      : undefined;
  }

  // Transitions, in the order of a subscription's life. One that the header does not allow does nothing: the lists and timers that
  // call them (`channel.ready`, `channel.awaitingTick`, roster-waits.ts) can hold a subscription that was repeated or has ended since.

  /** Takes part in presence as soon as the ack is sent. */
  join(member: Member): void {
    if (this.kind === "absent") this.become({ kind: "opening", member, isVisible: false });
  }

  /** The subscribe is acked: the roster waits for the pong of `ping`. */
  awaitPong(member: Member, ping: number): void {
    this.set(WAS_ACKED, true);
    this.become({ kind: "awaitingPong", member, isVisible: this.isVisible, ping });
  }

  /** The roster no longer waits for the pong. */
  stopAwaitingPong(): void {
    const { state } = this;
    if (state.kind !== "awaitingPong") return;
    const { member, isVisible, ping } = state;
    this.become({ kind: "ready", member, isVisible, ping });
  }

  /** Other members may be shown this subscription from now on, even if it still waits for its ack, pong or tick. */
  show(): void {
    const { current } = this;
    if (current && "isVisible" in current && !current.isVisible) this.become({ ...current, isVisible: true });
  }

  /** The first part of this roster is written before the next tick. */
  rosterBeforeTick(roster: Roster): void {
    const { state } = this;
    if (state.kind !== "ready") return;
    const { member, isVisible } = state;
    const progress = { roster, partsWritten: 1 };
    this.become({ kind: "awaitingTick", member, isVisible, progress, overrides: undefined });
  }

  /** A tick shows the member to the others; its roster was written before, or is written now. */
  tick(): void {
    const { state } = this;
    if (state.kind === "ready")
      this.become({ kind: "rostered", member: state.member, progress: undefined, overrides: undefined });
    else if (state.kind === "awaitingTick") {
      const { member, progress, overrides } = state;
      this.become({ kind: "rostered", member, progress, overrides });
    }
  }

  /** The first part of this roster is written; the other parts follow as the client reads them. */
  keepRoster(roster: Roster): void {
    const { state } = this;
    if (state.kind === "rostered") this.become({ ...state, progress: { roster, partsWritten: 1 } });
  }

  /** The index of the next roster part, which the caller writes now; `undefined` if all are written. */
  takePart(): number | undefined {
    const { state } = this;
    if ((state.kind !== "awaitingTick" && state.kind !== "rostered") || !state.progress) return undefined;
    const { roster, partsWritten } = state.progress;
    if (partsWritten >= roster.parts.length) return undefined;
    this.become({ ...state, progress: { roster, partsWritten: partsWritten + 1 } });
    return partsWritten;
  }

  /** The roster and the changes since then are written: from now on the subscription receives changes. */
  listen(): void {
    const { state } = this;
    if (state.kind !== "rostered") return;
    const { member, overrides } = state;
    this.become(overrides ? { kind: "offTopic", member, overrides } : { kind: "listening", member });
  }

  /** Leaves the presence topic until `listen()`, so that the subscription misses the next publish. */
  pause(): void {
    const { state } = this;
    if (state.kind !== "listening") return;
    const { member } = state;
    this.become({ kind: "rostered", member, progress: undefined, overrides: undefined });
  }

  /** This subscription alone was sent `entry` of a peer. */
  recordOverride(peerId: string, entry: string | undefined): void {
    const { state } = this;
    if (state.kind !== "awaitingTick" && state.kind !== "listening" && state.kind !== "offTopic") return;
    const known = state.kind === "listening" ? undefined : state.overrides;
    if (known) known.set(peerId, entry);
    else if (state.kind === "awaitingTick") this.become({ ...state, overrides: new Map([[peerId, entry]]) });
    else this.become({ kind: "offTopic", member: state.member, overrides: new Map([[peerId, entry]]) });
  }

  /** The channel was sent the same entry of this peer. */
  removeOverride(peerId: string): void {
    const { state } = this;
    if (state.kind === "offTopic") state.overrides.delete(peerId);
  }

  /** Returns to the presence topic if no override is left. */
  returnToTopic(): void {
    const { state } = this;
    if (state.kind === "offTopic" && state.overrides.size === 0)
      this.become({ kind: "listening", member: state.member });
  }

  /** Lost the presence action, but stays subscribed. */
  withdraw(): void {
    this.become(ABSENT);
  }

  end(why: EndReason): void {
    this.become(ENDED[why]);
  }

  private become(next: SubscriptionState): void {
    const { kind, channel, connection } = this;
    // A write can close its own socket and so end the subscription in the middle of another step: `ended` is final.
    if (kind === "ended") return;
    this.current = next.kind === "listening" ? undefined : next;
    this.kind = next.kind;
    this.currentMember = next.member;
    this.set(IS_VISIBLE, isVisibleIn(next));
    if (kind === next.kind) return;
    if (kind === "offTopic") removeOffTopic(channel, this);
    if (next.kind === "offTopic") addOffTopic(channel, this);
    if (kind === "listening") {
      channel.listeners--;
      connection.socket.unsubscribe(channel.presenceTopic);
    }
    if (next.kind === "listening") {
      channel.listeners++;
      connection.socket.subscribe(channel.presenceTopic);
    }
    this.setOnStateTopic(this.withStates && (next.kind === "listening" || next.kind === "offTopic"));
  }

  private setOnStateTopic(on: boolean): void {
    if (on === this.has(IS_ON_STATE_TOPIC)) return;
    const { channel, connection } = this;
    this.set(IS_ON_STATE_TOPIC, on);
    channel.stateListeners += on ? 1 : -1;
    if (on) connection.socket.subscribe(channel.stateTopic);
    else connection.socket.unsubscribe(channel.stateTopic);
  }
}

function addOffTopic(channel: Channel, subscription: Subscription): void {
  channel.offTopic ??= new Set();
  channel.offTopic.add(subscription);
}

function removeOffTopic(channel: Channel, subscription: Subscription): void {
  channel.offTopic?.delete(subscription);
  if (channel.offTopic?.size === 0) channel.offTopic = undefined;
}

/** Ticks those that are due, and returns them. A connection that subscribed twice is in the list twice, and gets one roster: with its tick it is no longer due. */
export const ticked = (
  listed: readonly Subscription[],
  isDue: (one: Subscription) => boolean,
): readonly Subscription[] => {
  const due: Subscription[] = [];
  for (const one of listed)
    if (isDue(one)) {
      one.tick();
      due.push(one);
    }
  return due;
};
