/**
 * A member of a channel: one peer, through this node's connections, through other nodes, or both.
 *
 *     a member is   while                                                       then it is
 *     arriving      all its connections are hidden, here and elsewhere          connected, gone
 *     connected     one of them may be shown                                    lingering, gone
 *     lingering     it has no connection, but a `lingeringState`, or elsewhere  returning, gone
 *     returning     `isReturning`: connected again, its return is not shown     connected, lingering, gone
 *     gone          `isGone`: nothing is left of it                             forgotten once its leave is written
 *
 * One that comes back before its leave is written is connected again, or returning if it was lingering. `state()` is what the
 * channel should be shown of it: nothing while it is arriving or gone. `isShown` is what was written. It follows with a tick, before
 * the next message of the peer, or when damping allows it (presence-writer.ts).
 */
import { anyOf, type Few, isList, listOf, withOne, withoutOne } from "../../base/few.ts";
import type { MemberState, NodeId } from "../../engine/engine.ts";
import { presenceEntry, stateField } from "../../protocol/encode.ts";
import type { Channel } from "./channel.ts";
import type { LingeringState } from "./lingering-state.ts";
import type { Loss } from "./member-extras.ts";
import { type GoneConnection, MemberExtras } from "./member-extras.ts";
import { isLive, isNewer } from "./newest.ts";
import type { Peer } from "./peer.ts";
import type { Subscription } from "./subscription.ts";
import type { UpToDate } from "./up-to-date.ts";

/** The state of a member that has said nothing about itself. */
export const NO_STATE = stateField(undefined, false);

export class Member {
  /** Bound: connections of the peer. */
  private own: Few<Subscription>;
  /** The metadata that the channel was shown last on this node: `null` if it was shown without, `undefined` if it is not shown. */
  private shownMetadata: string | null | undefined;
  /** It has or had a connection here since it was last shown to have left: this node reports its changes to listeners. */
  isOurs = false;
  /** What other nodes were sent last, or would have been if there were any (announce.ts). */
  announced: MemberState | undefined;
  /** What other nodes say of this member. Bound: one per node that is there. */
  remote: Map<NodeId, MemberState> | undefined;
  /** `undefined` until something of it is needed. */
  private extras: MemberExtras | undefined;

  constructor(
    readonly channel: Channel,
    readonly peer: Peer,
  ) {}

  private get withExtras(): MemberExtras {
    this.extras ??= new MemberExtras(NO_STATE);
    return this.extras;
  }

  get isShown(): boolean {
    return this.shownMetadata !== undefined;
  }

  /** The entry that the channel was shown last on this node; `undefined` if none. Made each time: it is needed for changes only. */
  get shown(): string | undefined {
    const { shownMetadata } = this;
    return shownMetadata === undefined ? undefined : presenceEntry(this.peer.json, shownMetadata ?? undefined);
  }

  /** The channel was shown this state, or without one that it has left. */
  setShown(state: MemberState | undefined): void {
    this.shownMetadata = state && (state.metadataJson ?? null);
  }

  /** The state, as a field of an entry, that subscriptions with states were shown last on this node. */
  get shownState(): string {
    return this.extras?.shownState ?? NO_STATE;
  }

  set shownState(field: string) {
    if (field !== this.shownState) this.withExtras.shownState = field;
  }

  /** Some subscription was written another state than that, before a direct message. */
  get isStateAhead(): boolean {
    return this.extras?.isStateAhead ?? false;
  }

  set isStateAhead(isAhead: boolean) {
    if (isAhead !== this.isStateAhead) this.withExtras.isStateAhead = isAhead;
  }

  /** Why it is still a member on this node although it has no connection here (lingering.ts). */
  get lingeringState(): LingeringState | undefined {
    return this.extras?.lingeringState;
  }

  set lingeringState(lingeringState: LingeringState | undefined) {
    if (lingeringState !== this.lingeringState) this.withExtras.lingeringState = lingeringState;
  }

  /** The connection of a node that was gone a moment ago, if it had another one then (lingering.ts). */
  get lastGone(): GoneConnection | undefined {
    return this.extras?.lastGone;
  }

  set lastGone(gone: GoneConnection | undefined) {
    if (gone !== this.lastGone) this.withExtras.lastGone = gone;
  }

  /** Receivers that are already up to date about this member (up-to-date.ts); `undefined` if none is known to be. */
  get upToDate(): UpToDate | undefined {
    return this.extras?.upToDate;
  }

  set upToDate(upToDate: UpToDate | undefined) {
    if (upToDate !== this.upToDate) this.withExtras.upToDate = upToDate;
  }

  /** Since this node has learnt that it has no connection any more, until its return was shown (presence/returns.ts). */
  get loss(): Loss | undefined {
    return this.extras?.loss;
  }

  set loss(loss: Loss | undefined) {
    const before = this.loss;
    if (loss === before) return;
    this.peer.lostMemberships += (loss ? 1 : 0) - (before ? 1 : 0);
    this.withExtras.loss = loss;
  }

  /** This node's connections of the peer that take part in presence, newest connection first. */
  get subscriptions(): readonly Subscription[] {
    return listOf(this.own);
  }

  get hasSubscription(): boolean {
    return this.own !== undefined;
  }

  /** How many of them are on the presence topic. */
  get listening(): number {
    const { own } = this;
    if (!isList(own)) return own?.isListening ? 1 : 0;
    let listening = 0;
    for (const { isListening } of own) if (isListening) listening++;
    return listening;
  }

  /** The subscription of its newest connection. */
  private get newest(): Subscription | undefined {
    return isList(this.own) ? this.own[0] : this.own;
  }

  add(subscription: Subscription): void {
    if (this.own === undefined) {
      this.own = subscription;
      return;
    }
    if (!this.subscriptions.includes(subscription)) this.insert(subscription);
  }

  private insert(subscription: Subscription): void {
    const { connectedMs } = subscription.connection;
    const at = this.subscriptions.findIndex((other) => other.connection.connectedMs <= connectedMs);
    this.own = withOne(this.own, subscription, at < 0 ? undefined : at);
  }

  remove(subscription: Subscription): void {
    this.own = withoutOne(this.own, subscription);
  }

  /** It has no connection on this node any more. */
  removeRemote(node: NodeId): void {
    this.remote?.delete(node);
    if (this.remote?.size === 0) this.remote = undefined;
  }

  /** The state may differ from what was shown: compared at the next tick, or before the next message of its peer. */
  markChanged(): void {
    this.upToDate = undefined;
    this.peer.addPending(this);
    this.channel.addChanged(this);
  }

  /** The state that this node's own connections give: the newest that may be shown. */
  local(): MemberState | undefined {
    const { own } = this;
    const newest = isList(own) ? own.find((subscription) => subscription.isVisible) : own;
    return newest?.isVisible ? stateOf(newest) : undefined;
  }

  /** One of its connections on this node may be shown. */
  get isVisibleHere(): boolean {
    return anyOf(this.own, isVisible);
  }

  /** The same for other nodes, which also learn that it lingers here, and of a connection that is not to be shown yet. */
  toAnnounce(): MemberState | undefined {
    const local = this.local();
    if (local) return this.isReturning && !this.hasRoster ? { ...local, isReturning: true } : local;
    // One that a node which is gone has left is announced only if this node has sent it to one that watches since then.
    if (this.lingeringState && (!this.lingeringState.isInherited || this.announced?.lingers))
      return this.lingeringState.state;
    const { newest } = this;
    return newest && { ...stateOf(newest), isArriving: true };
  }

  /** The state that the channel should be shown: the newest connection of all nodes gives the metadata. */
  state(): MemberState | undefined {
    let newest = this.local();
    if (this.remote)
      for (const other of this.remote.values()) {
        if (other.isArriving && !this.isShown) continue;
        if (!newest || isNewer(other, newest)) newest = other;
      }
    return this.orLingering(newest);
  }

  private orLingering(state: MemberState | undefined): MemberState | undefined {
    const { lingeringState } = this;
    return lingeringState && (!state || isNewer(lingeringState.state, state)) ? lingeringState.state : state;
  }

  /** Other members were shown this one, here or on another node. */
  get isKnown(): boolean {
    if (this.isShown || this.lingeringState) return true;
    return anyRemote(this, hasArrived);
  }

  /** It was lost and has a connection again, and not everyone was shown its return who must be. */
  get isReturning(): boolean {
    return this.loss !== undefined && this.isConnected;
  }

  /** One of its connections on this node has got a roster of the channel, or its first part. */
  get hasRoster(): boolean {
    return anyOf(this.own, hasRoster);
  }

  /** A connection of this member is still to be shown. */
  get isArriving(): boolean {
    return this.isReturning || anyOf(this.own, isHidden) || anyRemote(this, arrives);
  }

  /** All connections of this member may be shown now, even those that still wait for a roster. */
  show(): void {
    for (const subscription of this.subscriptions) subscription.show();
    if (!this.remote) return;
    for (const [node, { isArriving, ...state }] of this.remote) if (isArriving) this.remote.set(node, state);
  }

  /** A peer that is known has not left while it has another connection here, even if that one still waits for its roster. */
  keepShown(): void {
    if (this.isShown) for (const other of this.subscriptions) other.show();
  }

  /** A state of it as an entry of a presence frame. */
  entryOf(state: MemberState | undefined): string | undefined {
    return state && presenceEntry(this.peer.json, state.metadataJson);
  }

  /** `state()` as an entry of a presence frame. */
  entry(): string | undefined {
    return this.entryOf(this.state());
  }

  /** The entry as if connections that are still arriving were shown: what a receiver of its messages must know. */
  arrivedEntry(): string | undefined {
    return this.entryOf(this.arrivedState());
  }

  arrivedState(): MemberState | undefined {
    let newest = this.arrivedHere();
    for (const other of this.remote?.values() ?? []) if (!newest || isNewer(other, newest)) newest = other;
    return this.orLingering(newest);
  }

  /** The same of this node alone: what lists over REST and of operators are made of. */
  arrivedHere(): MemberState | undefined {
    const { newest } = this;
    return this.orLingering(newest && stateOf(newest));
  }

  /** It has a connection on this node or another. */
  get isConnected(): boolean {
    return this.hasSubscription || this.isElsewhere;
  }

  /** It has a connection on another node. */
  get isElsewhere(): boolean {
    return anyRemote(this, isLive);
  }

  get isGone(): boolean {
    return !this.hasSubscription && !this.lingeringState && (this.remote === undefined || this.remote.size === 0);
  }
}

const hasRoster = (subscription: Subscription): boolean => subscription.hasRoster;
const isVisible = (subscription: Subscription): boolean => subscription.isVisible;
const isHidden = (subscription: Subscription): boolean => !subscription.isVisible;
const arrives = (state: MemberState): boolean => state.isArriving === true;
const hasArrived = (state: MemberState): boolean => !state.isArriving;

/** Asked for every change of a member on another node, and in every tick: without a closure, or an iterator of its own. */
export function anyRemote({ remote }: Pick<Member, "remote">, isTrue: (state: MemberState) => boolean): boolean {
  if (!remote) return false;
  for (const state of remote.values()) if (isTrue(state)) return true;
  return false;
}

/** Made for every member in every tick: the key is named only where it may be needed, and without a second object. */
export function stateOf({ connection, channel, stateJson }: Subscription): MemberState {
  const { peerId, metadataJson, connectedMs: since, keyId } = connection;
  const { node } = channel.space;
  return channel.graceSec > 0
    ? { peerId, metadataJson, since, node, stateJson, keyId }
    : { peerId, metadataJson, since, node, stateJson };
}

/** What a member says about itself, as a field of an entry. */
export const fieldOf = (state: MemberState | undefined): string =>
  state?.stateJson === undefined && !state?.lingers
    ? NO_STATE
    : stateField(state.stateJson, state.lingers?.why === "lost");
