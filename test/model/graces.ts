/**
 * Members without a connection, as the model knows them: those that were lost without a goodbye in a channel with a grace period,
 * and those whose connection the service itself has closed.
 */
import { HOLD_MS } from "../../src/protocol/limits.ts";
import { COMMIT_MAX_MS, type Context } from "./context.ts";
import type { Lingering } from "./lingering.ts";
import { type Connection, covers, isAsking, isLeaving, isShown, may, type Subscription } from "./model.ts";

/** The nodes may be this much late, or early where they read another clock than the model. */
const SLACK_MS = 700;

/** A send may wait for a peer longer than the peer is held: another node may have taken it over, and its first roster may be late. */
const HANDED_OVER_MS = 5000;

/** Within this time the nodes notice that one of them is gone. */
const NOTICED_MS = 1500;

/** Within this time a node that goes on announces what has changed. */
const ANNOUNCED_MS = 150;

const RESYNCHRONISED = 1001;
const EXPIRED = 4002;
/** What ends a connection without a goodbye and without the service's doing. */
const LOST = [1001, 1006, 4000];

export class Graces {
  private entries: Lingering[] = [];
  /** By application, peer and channel. */
  private readonly goodbyeMs = new Map<string, number>();
  private readonly endedMs = new Map<Connection, number>();
  private readonly diedMs = new Map<number, number>();
  /** Peers that the service itself has closed a connection of, in any channel or in none. */
  private readonly held: { readonly app: string; readonly peerId: string; readonly atMs: number }[] = [];

  /** Subscriptions that have ended. */
  private readonly goodbyes: {
    readonly connection: Connection;
    readonly subscription: Subscription;
    readonly atMs: number;
  }[] = [];
  /** Connections that have ended before their messages were committed: until then, a peer that comes back has not left. */
  private readonly uncommitted: {
    readonly connection: Connection;
    readonly channel: string;
    readonly states: ReadonlySet<string>;
  }[] = [];
  /** When a key was last edited or revoked. */
  private narrowedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly context: Context) {}

  private nowMs(): number {
    return this.context.nowMs();
  }

  /** Called while the model's connection is still open. `byService`: it was the service that closed it. */
  ended(connection: Connection, code: number, byService: boolean): void {
    const isHeld = byService && (code === RESYNCHRONISED || code === EXPIRED) && connection.key.type === "secret";
    const { app, peerId } = connection;
    this.endedMs.set(connection, this.nowMs());
    const atMs = this.nowMs() + (this.context.isCommitting(connection) ? COMMIT_MAX_MS : 0);
    if (isHeld) this.held.push({ app, peerId, atMs });
    // An unsubscribe that waits for messages to be committed is not done any more.
    const leaving = [...connection.unanswered.values()].flatMap(({ ends }) =>
      ends?.acked && ends.presence ? [ends] : [],
    );
    for (const subscription of [...leaving, ...connection.subscriptions.values()]) {
      const { channel } = subscription;
      const isLeft = leaving.includes(subscription);
      this.goodbyes.push({ connection, subscription, atMs: this.nowMs() });
      // Other nodes may know of a subscribe that a node has died before it could ack, because a message came behind it.
      const isKnown = subscription.presence && !this.context.world.alive.includes(connection.node);
      if (!isShown(connection, channel) && !isKnown && !isLeft) continue;
      const graceMs = LOST.includes(code) || isHeld ? this.context.graceMsOf(channel) : 0;
      const ms = Math.max(graceMs, isHeld ? HOLD_MS : 0);
      if (!isHeld && !LOST.includes(code)) this.noteGoodbye(connection, channel);
      this.noteUncommitted(connection, subscription);
      if (ms === 0) continue;
      const isLast = this.isLast(connection, channel);
      this.entries.push({
        connection,
        subscription,
        channel,
        why: isHeld ? "held" : "lost",
        sinceMs: this.nowMs(),
        untilMs: this.context.lastReadMs + ms,
        // Its time begins when its last message is committed.
        latestMs: this.nowMs() + ms + (this.context.isCommitting(connection) ? COMMIT_MAX_MS : 0),
        states: this.statesOf(connection, subscription),
        isBack: this.hasOther(connection),
        isSure: isLast && !isLeft && subscription.roster instanceof Map && this.isKnownElsewhere(connection, channel),
      });
    }
  }

  private statesOf(connection: Connection, subscription: Subscription): ReadonlySet<string> {
    const { states } = this.context;
    const diedMs = this.diedMs.get(connection.node);
    if (diedMs === undefined) return states.statesOf(subscription);
    return states.statesBefore(connection, subscription, diedMs - this.announcedWithinMs(connection));
  }

  /** No other connection of the peer is or becomes a member, nor says goodbye about now: the last one decides. */
  private isLast(connection: Connection, channel: string): boolean {
    const goodbyeMs = this.goodbyeMs.get(`${connection.app} ${connection.peerId} ${channel}`) ?? 0;
    if (this.nowMs() - goodbyeMs < NOTICED_MS) return false;
    if (this.mayLiveElsewhere(connection)) return false;
    return !this.context.connections.some(
      (one) =>
        one !== connection &&
        isSamePeer(one, connection) &&
        (isShown(one, channel) || isLeaving(one, channel) || isAsking(one, channel)),
    );
  }

  /** Its node goes on and may not have noticed that the node of another connection of the peer is gone: it then keeps no lingering state. */
  private mayLiveElsewhere(connection: Connection): boolean {
    if (this.diedMs.has(connection.node)) return false;
    return this.context.connections.some(
      (one) => isSamePeer(one, connection) && this.nowMs() - (this.diedMs.get(one.node) ?? 0) < NOTICED_MS,
    );
  }

  /** One of its connections unsubscribes. */
  saidGoodbye(connection: Connection, channel: string, subscription: Subscription | undefined): void {
    if (subscription) this.goodbyes.push({ connection, subscription, atMs: this.nowMs() });
    this.noteGoodbye(connection, channel);
  }

  /** The peer has another connection, or had one until just now: what it has announced may still be in transit. */
  private hasOther(connection: Connection): boolean {
    const since = this.nowMs() - NOTICED_MS;
    return this.context.connections.some(
      (one) =>
        one !== connection && isSamePeer(one, connection) && (one.isOpen || (this.endedMs.get(one) ?? 0) > since),
    );
  }

  /** If its node is gone, only the others can keep it: those that had it in a roster. */
  private isKnownElsewhere({ app, node, peerId }: Connection, channel: string): boolean {
    const { world, open } = this.context;
    if (world.alive.includes(node)) return true;
    return open.some((one) => {
      const roster = one.app === app && world.alive.includes(one.node) && one.subscriptions.get(channel)?.roster;
      return roster instanceof Map && roster.has(peerId);
    });
  }

  /** The peer has a subscription to the channel again; once it has its roster, nothing lingers any more. */
  returned(connection: Connection, channel: string, isShown: boolean): void {
    const isIts = (one: Lingering): boolean => one.channel === channel && isSamePeer(one.connection, connection);
    const subscription = connection.subscriptions.get(channel);
    for (const one of this.entries)
      if (isIts(one) && subscription) this.context.states.inherit(subscription, one.states);
    for (const { connection: before, channel: of, states } of this.uncommitted)
      if (subscription && of === channel && isSamePeer(before, connection) && this.context.isCommitting(before))
        this.context.states.inherit(subscription, states);
    if (isShown) this.entries = this.entries.filter((one) => !isIts(one));
    else for (const one of this.entries) if (isIts(one)) one.isSure = false;
  }

  /** The peer has connected again: sends to it wait no longer, wherever it is a member. */
  connected({ app, peerId, number }: Connection): void {
    for (const one of this.entries)
      if (one.connection.app === app && one.connection.peerId === peerId && one.connection.number < number)
        one.isBack = true;
  }

  /** A node has died: of those that it kept, the others know only those that they were shown. */
  died(node: number): void {
    this.diedMs.set(node, this.nowMs());
    // A goodbye is announced in the same way.
    for (const { connection, subscription, atMs } of this.goodbyes)
      if (subscription.presence && connection.node === node && this.nowMs() - atMs < this.announcedWithinMs(connection))
        this.mayLinger(connection, subscription, this.context.graceMsOf(subscription.channel));
    for (const one of this.entries) {
      if (one.connection.node !== node) continue;
      // It may have set its state, and ended, so shortly before its node that the others were never sent it.
      one.states = this.statesOf(one.connection, one.subscription);
      // That it was held is announced in a tick, and when its messages are committed: to nodes that do not know it yet, the member
      // was lost with its node.
      const isAnnounced = one.why === "lost" || this.nowMs() - one.sinceMs > this.announcedWithinMs(one.connection);
      if (!isAnnounced || !this.isKnownElsewhere(one.connection, one.channel)) one.isSure = false;
    }
  }

  private announcedWithinMs(connection: Connection): number {
    return ANNOUNCED_MS + (this.context.isCommitting(connection) ? COMMIT_MAX_MS : 0);
  }

  /** Others may see the member for this long, but need not. */
  private mayLinger(connection: Connection, subscription: Subscription, ms: number): void {
    const nowMs = this.nowMs();
    const states = this.context.states.statesOf(subscription);
    const times = { sinceMs: nowMs, untilMs: nowMs, latestMs: nowMs + ms };
    const { channel } = subscription;
    this.entries.push({
      connection,
      subscription,
      channel,
      why: "lost",
      ...times,
      states,
      isBack: true,
      isSure: false,
    });
  }

  /** An edit of the key has ended a member: to the other nodes that is a goodbye. */
  endedByKey(connection: Connection, subscription: Subscription): void {
    this.noteGoodbye(connection, subscription.channel);
    this.noteUncommitted(connection, subscription);
  }

  private noteUncommitted(connection: Connection, subscription: Subscription): void {
    if (!this.context.isCommitting(connection)) return;
    const states = this.context.states.statesOf(subscription);
    this.uncommitted.push({ connection, channel: subscription.channel, states });
  }

  private noteGoodbye({ app, peerId }: Connection, channel: string): void {
    this.goodbyeMs.set(`${app} ${peerId} ${channel}`, this.nowMs());
  }

  kicked(app: string, peerId: string): void {
    this.entries = this.entries.filter((one) => {
      if (one.connection.app !== app || one.connection.peerId !== peerId) return true;
      // The others may not have noticed yet that its node is gone: there is nothing to end for them.
      one.isSure = false;
      if (this.context.world.alive.includes(one.connection.node)) return false;
      return this.nowMs() - one.sinceMs < NOTICED_MS;
    });
  }

  /** A key was edited or revoked. */
  narrowed(): void {
    this.narrowedMs = this.nowMs();
    this.entries = this.entries.filter((one) => {
      const { connection, channel } = one;
      const isAllowed = may(connection, "subscribe") && may(connection, "presence") && covers(connection, channel);
      return !connection.key.revoked && isAllowed;
    });
  }

  private of(app: string, channel: string, peerId: string): Lingering[] {
    return this.entries.filter(
      ({ connection, channel: of, latestMs }) =>
        connection.app === app && connection.peerId === peerId && of === channel && this.nowMs() < latestMs + SLACK_MS,
    );
  }

  /** The metadata with which a peer may still be shown as a member. */
  possible(app: string, channel: string, peerId: string): string[] {
    return this.of(app, channel, peerId).map(({ connection }) => connection.metadata);
  }

  /** The peer must still be shown as a member, though it has no connection. */
  mustLinger(app: string, channel: string, peerId: string): Lingering | undefined {
    return this.of(app, channel, peerId).find(({ isSure, untilMs }) => isSure && this.nowMs() < untilMs - SLACK_MS);
  }

  /** The service may expect the peer back because of one of its connections: it is not shown as lost until that is over. */
  mayBeHeld(app: string, channel: string, peerId: string): boolean {
    return this.of(app, channel, peerId).some(({ why }) => why === "held");
  }

  /**
   * Its node has died while this subscription was new: another node may have said who is there before it has noticed the death, and
   * the dead one has said nothing.
   */
  mayBeMissed({ connection }: Lingering, { rosterMs, ackedAfterMs }: Subscription): boolean {
    const diedMs = this.diedMs.get(connection.node);
    return diedMs !== undefined && ackedAfterMs < diedMs + NOTICED_MS && rosterMs > diedMs - NOTICED_MS;
  }

  /** The two have sent each other direct messages. */
  isCorrespondent({ app, peerId }: Connection, other: string): boolean {
    let [isSent, isReceived] = [false, false];
    for (const { connection, to } of this.context.messages.values()) {
      if (connection.app !== app) continue;
      isSent ||= connection.peerId === peerId && to === other;
      isReceived ||= connection.peerId === other && to === peerId;
    }
    return isSent && isReceived;
  }

  /** Those of a channel that may be shown, or must be. */
  peersIn(app: string, channel: string): string[] {
    return this.entries.flatMap(({ connection, channel: of }) =>
      connection.app === app && of === channel ? connection.peerId : [],
    );
  }

  /** A send to that peer may wait for its return. It was held in any channel, or in none. */
  mayHold(app: string, peerId: string): boolean {
    if (this.context.world.history && this.mayAwaitRoster(app, peerId)) return true;
    return this.held.some(
      (one) => one.app === app && one.peerId === peerId && this.nowMs() < one.atMs + HOLD_MS + HANDED_OVER_MS,
    );
  }

  /** A connection of that peer has ended since then. */
  hasEndedSince(app: string, peerId: string, sinceMs: number): boolean {
    for (const [connection, atMs] of this.endedMs)
      if (connection.app === app && connection.peerId === peerId && atMs > sinceMs) return true;
    return false;
  }

  /** It was lost, or has left behind messages that were not committed: when it is back, sends wait for its roster. */
  private mayAwaitRoster(app: string, peerId: string): boolean {
    const since = this.nowMs() - HOLD_MS - COMMIT_MAX_MS;
    if (this.entries.some(({ connection }) => connection.app === app && connection.peerId === peerId)) return true;
    if (this.hasEndedSince(app, peerId, since)) return true;
    // An edit of the key has ended a subscription of a connection that goes on: its member stays until its messages are committed.
    const isCommitting = (one: Connection): boolean => this.context.isCommitting(one);
    return (
      this.narrowedMs > since &&
      this.context.open.some((one) => one.app === app && one.peerId === peerId && isCommitting(one))
    );
  }

  /** A send to that peer must wait for its return. */
  mustHold(app: string, peerId: string): boolean {
    return this.entries.some(
      ({ connection, why, isSure, isBack, untilMs }) =>
        connection.app === app &&
        connection.peerId === peerId &&
        why === "held" &&
        isSure &&
        !isBack &&
        this.nowMs() < untilMs - SLACK_MS,
    );
  }

  get untilMs(): number {
    return Math.max(
      0,
      ...this.entries.map(({ latestMs }) => latestMs + SLACK_MS),
      ...this.held.map(({ atMs }) => atMs + HOLD_MS + SLACK_MS),
    );
  }
}

const isSamePeer = (a: Connection, b: Connection): boolean => a.app === b.app && a.peerId === b.peerId;
