/** A channel on this node: its topics, its subscribers, and its members here and on other nodes. */
import { Member } from "./member.ts";
import type { Peer } from "./peer.ts";
import type { RecentChanges } from "./recent-changes.ts";
import type { Space } from "./space.ts";
import type { Stream } from "./stream.ts";
import type { Subscription } from "./subscription.ts";

/** A reader of a stream over HTTP. Both are called within what has caused them, so they only note it. */
export interface Follower {
  /** There may be more to read, or the stream was closed. */
  changed(): void;
  /** It is not the same stream any more, or cannot be followed. Called once, and nothing after it. */
  ended(): void;
  /** Absent: it is one reader. Otherwise it follows for this many. */
  readonly readerCount?: number;
}

let lastNumber = 0;
const NO_MEMBERS: ReadonlySet<Member> = new Set();

export class Channel {
  /** The name as JSON. */
  readonly json: string;
  /** Present while the channel keeps history, or is a created stream. */
  stream: Stream | undefined;
  /** Who follows its stream without a connection; `undefined`: no one. Bound: readers over HTTP (http/streams/limits.ts). */
  followers: Set<Follower> | undefined;
  /** Native topics. A subscriber is on one of the first two, and on the third while it listens to presence changes. */
  readonly plainTopic: string;
  readonly metadataTopic: string;
  readonly presenceTopic: string;
  /** The name of its topics, after a letter for each. */
  private readonly number = (++lastNumber).toString(36);
  /** By peer id: the members that are shown, here and on other nodes, and those about to be shown. Bound: connections that use it. */
  readonly members = new Map<string, Member>();
  /** Subscriptions on one of the topics for messages. */
  subscribers = 0;
  /** Subscriptions that first get earlier messages, or wait to (streams/replays.ts), and are on no topic yet. */
  replaying = 0;
  /** How many of the subscribers want the sender's metadata. */
  metadataSubscribers = 0;
  /** Subscriptions on the presence topic. */
  listeners = 0;
  /** Subscriptions on the state topic. */
  stateListeners = 0;
  /** Subscriptions on the occupancy topic. */
  occupancySubscribers = 0;
  /**
   * Subscriptions off the presence topic, which get changes individually (individual-changes.ts); `undefined` if none. Bound:
   * subscriptions of the channel.
   */
  offTopic: Set<Subscription> | undefined;
  /**
   * Subscriptions that became ready since the last tick, which get their roster in the next one. May hold ended ones. Bound:
   * subscriptions of one tick.
   */
  ready: Subscription[] = [];
  /**
   * Subscriptions that have their roster and are shown to the others in the next tick. May hold ended ones. Bound: subscriptions
   * of one tick.
   */
  awaitingTick: Subscription[] = [];
  /** Grows whenever a subscription gets its roster, because it can be shown changes from then on. */
  rostersWritten = 0;
  /** `undefined` if there are none: an empty set would take 300 bytes in every channel at rest. Bound: members of the channel. */
  private changedMembers: Set<Member> | undefined;
  /** By peer id: how many changes were shown lately (damping.ts); `undefined` if none were. Bound: members of the last 10 s. */
  recentChanges: Map<string, RecentChanges> | undefined;
  /** How long a member stays that was lost without a goodbye. */
  graceSec = 0;
  /** Monotonic ms; 0: none yet. */
  lastTickMs = 0;
  /** Messages and their bytes in the rate window of this number, and in the one before it (rate-window.ts). */
  private window = 0;
  private messages = 0;
  private bytes = 0;
  private messagesBefore = 0;
  private bytesBefore = 0;
  /** Subscribes that wait for the engine to answer `watch`; `undefined` once it has. Bound: the rate of frames for 1 s. */
  opening: (() => void)[] | undefined = [];

  constructor(
    readonly space: Space,
    readonly name: string,
  ) {
    this.json = JSON.stringify(name);
    this.plainTopic = `m${this.number}`;
    this.metadataTopic = `x${this.number}`;
    this.presenceTopic = `p${this.number}`;
  }

  /** The topic of those that asked for states, while they know the members. */
  get stateTopic(): string {
    return `s${this.number}`;
  }

  /** The topic of those that want to know how many members there are. */
  get occupancyTopic(): string {
    return `n${this.number}`;
  }

  /** Members whose state may differ from what was shown. */
  get changed(): ReadonlySet<Member> {
    return this.changedMembers ?? NO_MEMBERS;
  }

  addChanged(member: Member): void {
    this.changedMembers ??= new Set();
    this.changedMembers.add(member);
  }

  removeChanged(member: Member): void {
    this.changedMembers?.delete(member);
    if (this.changedMembers?.size === 0) this.changedMembers = undefined;
  }

  /** A message was written to the subscribers here. */
  count(window: number, bytes: number): void {
    if (window !== this.window) {
      const isNext = window === this.window + 1;
      this.messagesBefore = isNext ? this.messages : 0;
      this.bytesBefore = isNext ? this.bytes : 0;
      this.window = window;
      this.messages = 0;
      this.bytes = 0;
    }
    this.messages++;
    this.bytes += bytes;
  }

  /** Messages of all nodes, as long as the channel has subscribers here. `nowMs`: monotonic ms. */
  ratePerSec(nowMs: number): number {
    const { window, messages: current, messagesBefore: before } = this;
    return this.space.rateWindow.perSecond({ window, current, before }, nowMs);
  }

  /** The bytes of those messages as they are written, once per message. */
  bytesPerSec(nowMs: number): number {
    const { window, bytes: current, bytesBefore: before } = this;
    return this.space.rateWindow.perSecond({ window, current, before }, nowMs);
  }

  /** False after the channel was forgotten, or detached after a fault; a new channel may have the same name. */
  get isInUse(): boolean {
    return this.space.channels.get(this.name) === this;
  }

  member(peer: Peer): Member {
    let member = this.members.get(peer.peerId);
    if (!member) {
      member = new Member(this, peer);
      peer.memberships++;
      this.members.set(peer.peerId, member);
    }
    return member;
  }

  forget(member: Member): void {
    // Compared by object: a member that was forgotten before must not remove its successor of the same peer.
    if (this.members.get(member.peer.peerId) !== member) return;
    this.members.delete(member.peer.peerId);
    member.loss = undefined;
    member.peer.memberships--;
    this.space.forgetIfUnused(member.peer);
  }
}
