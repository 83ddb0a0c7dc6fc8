/** This node's connections and channels: who comes and goes, who subscribes to what, and what a change of a key ends. */
import type { Grant } from "../access/admit.ts";
import type { Blocks } from "../access/blocks.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Claim, Engine, NodeEnd, NodeId, RemoteMembers } from "../engine/engine.ts";
import { bitOf } from "../protocol/actions.ts";
import { type Closing, KICKED, RESYNC, TOKEN_EXPIRED } from "../protocol/close.ts";
import type { Code } from "../protocol/codes.ts";
import * as encode from "../protocol/encode.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import { Boundary } from "./boundary.ts";
import { Census } from "./census.ts";
import { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import { Deadlines } from "./deadlines.ts";
import { Delivery } from "./delivery.ts";
import { EngineEnd } from "./engine-end.ts";
import { GuardedEnd } from "./guarded-end.ts";
import { Liveness } from "./liveness.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { Narrowing } from "./narrowing.ts";
import { Peer } from "./peer.ts";
import { Presence } from "./presence.ts";
import type { Broadcast, Socket } from "./socket.ts";
import { Space } from "./space.ts";
import { type EndReason, Subscription } from "./subscription.ts";
import type { Usage } from "./usage.ts";

const PRESENCE = bitOf("presence");

/** Why a request is refused; undefined: it is not. */
type Answer = (refused: Code | undefined) => void;

export interface HubParts {
  readonly id: NodeId;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly broadcast: Broadcast;
  readonly presenceTickMs: number;
  readonly framesBurst: number;
  /** Bytes that may wait for one connection before it is cut. */
  readonly maxPendingBytes: number;
  readonly blocks?: Blocks;
  /** Another node asks that what all share be seen to. */
  readonly nudged?: (app?: string) => Promise<void>;
}

export class Hub {
  readonly delivery: Delivery;
  /** What the engine speaks to. */
  readonly end: NodeEnd;
  readonly census: Census;
  /** What a fault of ours costs. */
  readonly boundary: Boundary;
  private readonly spaces = new Map<string, Space>();
  private readonly byKey = new Map<string, Set<Peer>>();
  private readonly presence: Presence;
  private readonly deadlines: Deadlines;
  private readonly liveness: Liveness;
  private readonly narrowing: Narrowing;
  /** Channels whose subscribers are closed at the end of this turn. */
  private readonly lost = new Set<Channel>();
  private lastConnectedMs = 0;
  private connected = 0;

  constructor(private readonly parts: HubParts) {
    const { clock, engine, broadcast, metrics, faults } = parts;
    this.boundary = new Boundary({
      faults,
      engine,
      spaces: this.spaces,
      close: (peer, closing) => this.close(peer, closing),
      // At once: the state of a channel that had a fault must serve nobody until the end of the turn.
      resync: (channel) => this.closeLost([channel]),
    });
    this.presence = new Presence({
      clock,
      engine,
      broadcast,
      tickMs: parts.presenceTickMs,
      maxPendingBytes: parts.maxPendingBytes,
      tidy: (channel) => this.tidy(channel),
      boundary: this.boundary,
      cut: (peer) => {
        metrics.slowCuts.inc();
        this.disconnect(peer);
        peer.socket.terminate();
      },
      count: {
        changes: (n) => metrics.presenceChanges.inc(n),
        frames: (n) => metrics.presenceFrames.inc(n),
      },
    });
    this.delivery = new Delivery({ ...parts, spaces: this.spaces, presence: this.presence });
    this.census = new Census(this.spaces, engine);
    this.deadlines = new Deadlines(clock, this.boundary, (peer) => this.expire(peer));
    this.liveness = new Liveness(clock, this.boundary, (peer) => {
      metrics.silentDrops.inc();
      this.disconnect(peer);
      peer.socket.terminate();
    });
    this.narrowing = new Narrowing({
      clock,
      errors: metrics.errors,
      deadlines: this.deadlines,
      presence: this.presence,
      boundary: this.boundary,
      close: (peer, closing) => this.close(peer, closing),
      expire: (peer) => this.expire(peer),
      drop: (subscription, why) => this.drop(subscription, why),
    });
    const end = new EngineEnd({
      ...parts,
      spaces: this.spaces,
      delivery: this.delivery,
      presence: this.presence,
      census: this.census,
      kicked: (app, peerId) => this.kicked(app, peerId),
      resync: (channel) => this.resync(channel),
    });
    this.end = new GuardedEnd({ end, boundary: this.boundary, faults, spaces: this.spaces });
    engine.attach(this.end);
  }

  get connections(): number {
    return this.connected;
  }

  get channelCount(): number {
    let count = 0;
    for (const space of this.spaces.values()) count += space.channels.size;
    return count;
  }

  /** The life of a connection */

  connect(grant: Grant, socket: Socket): Peer {
    const { clock, engine, framesBurst } = this.parts;
    const elsewhere = engine.connections(grant.app);
    const space = this.space(grant.app);
    // Later by at least a bit than any before: which connection is the newest must never be a tie.
    this.lastConnectedMs = Math.max(clock.nowMs(), this.lastConnectedMs + 0.001);
    const identity = space.identity(grant.peerId);
    const peer = new Peer(identity, socket, grant, this.lastConnectedMs, clock.monotonicMs(), framesBurst);
    identity.peers.push(peer);
    this.keyPeers(peer.keyId).add(peer);
    this.liveness.add(peer);
    this.deadlines.set(peer);
    this.parts.usage.connected(space.app, elsewhere);
    try {
      this.count(space, 1);
      if (identity.peers.length === 1) engine.hold(space.app, grant.peerId);
      this.welcome(peer, grant);
    } catch (error) {
      // The caller has no peer that it could end.
      this.disconnect(peer);
      throw error;
    }
    return peer;
  }

  private welcome({ peerId, socket }: Peer, { expiresAtMs, metadataJson }: Grant): void {
    const { clock, metrics } = this.parts;
    metrics.connects.inc();
    const expiresAt = expiresAtMs === null ? null : Math.floor(expiresAtMs / 1000);
    metrics.welcomes.inc();
    socket.send(encode.welcome(peerId, expiresAt, Math.floor(clock.nowMs() / 1000), metadataJson));
  }

  /**
   * Everything that a connection held ends now; calling it again does nothing. It does not throw: a step that fails must not
   * leave the rest behind.
   */
  disconnect(peer: Peer): void {
    if (!peer.open) return;
    peer.open = false;
    const { identity } = peer;
    const { space } = identity;
    const { boundary } = this;
    for (const subscription of [...peer.subscriptions]) this.drop(subscription, "left");
    identity.peers.splice(identity.peers.indexOf(peer), 1);
    if (identity.peers.length === 0)
      boundary.attempt("socket", () => this.parts.engine.release(space.app, peer.peerId));
    this.byKey.get(peer.keyId)?.delete(peer);
    if (this.byKey.get(peer.keyId)?.size === 0) this.byKey.delete(peer.keyId);
    this.liveness.remove(peer);
    this.deadlines.remove(peer);
    boundary.attempt("socket", () => this.count(space, -1));
    this.parts.usage.disconnected(space.app);
    space.tidy(identity);
    if (space.isEmpty) this.spaces.delete(space.app);
  }

  private count(space: Space, by: 1 | -1): void {
    space.connections += by;
    this.connected += by;
    this.parts.engine.counted(space.app, space.connections);
  }

  /** Room for one more of the connections that an application may have; undefined: there is none. */
  claim(app: string, cap: number): Claim | undefined | Promise<Claim | undefined> {
    return this.parts.engine.claim(app, cap);
  }

  close(peer: Peer, { code, reason }: Closing): void {
    this.disconnect(peer);
    this.boundary.attempt("socket", () => peer.socket.close(code, reason));
  }

  /** A token's time is up, or the grace of the secret that signed it. */
  expire(peer: Peer): void {
    const graceIsOver = peer.secretEndsMs !== null && peer.secretEndsMs <= this.parts.clock.nowMs();
    if (graceIsOver) {
      this.parts.metrics.errors.inc();
      peer.socket.send(encode.error("token_expired"));
    }
    this.close(peer, TOKEN_EXPIRED);
  }

  pong(peer: Peer, seq: number): void {
    this.presence.pong(peer, seq);
  }

  drained(peer: Peer): void {
    this.presence.drained(peer);
  }

  *everybody(): Iterable<Peer> {
    for (const peers of this.byKey.values()) yield* peers;
  }

  /** Channels */

  /** `answer` is called when messages flow, at once or when the engine has found out who is there; or with why they never will. */
  subscribe(peer: Peer, name: string, withMetadata: boolean, answer: Answer): void {
    const held = peer.subscriptionTo(name);
    if (held) {
      this.setVariant(held, withMetadata);
      // The key has been given the presence action since.
      if (peer.may(PRESENCE) && !held.member) held.join(held.channel.member(peer.identity));
      return this.welcomeTo(held, answer);
    }
    const channel = this.channel(peer.identity.space, name);
    const subscription = new Subscription(peer, channel);
    if (peer.may(PRESENCE)) subscription.join(channel.member(peer.identity));
    subscription.withMetadata = withMetadata;
    peer.addSubscription(subscription);
    channel.subscribers++;
    if (withMetadata) channel.metadataSubscribers++;
    peer.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
    this.welcomeTo(subscription, answer);
  }

  private welcomeTo(subscription: Subscription, answer: Answer): void {
    const enter = (): void => {
      const { state } = subscription;
      answer(state.at === "ended" && state.why === "revoked" ? "channel_not_authorized" : undefined);
      this.presence.acked(subscription);
    };
    const { opening } = subscription.channel;
    if (!opening) return enter();
    this.presence.opening(subscription);
    opening.push(enter);
  }

  unsubscribe(peer: Peer, name: string): void {
    const subscription = peer.subscriptionTo(name);
    if (subscription) this.drop(subscription, "left");
  }

  private setVariant(subscription: Subscription, withMetadata: boolean): void {
    if (subscription.withMetadata === withMetadata) return;
    const { channel, peer } = subscription;
    subscription.withMetadata = withMetadata;
    channel.metadataSubscribers += withMetadata ? 1 : -1;
    peer.socket.unsubscribe(withMetadata ? channel.plainTopic : channel.metadataTopic);
    peer.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
  }

  /** A fault resynchronises the channel: it may still show the member that has left. */
  private drop(subscription: Subscription, why: EndReason): void {
    this.boundary.forChannel("socket", subscription.channel, () => this.remove(subscription, why));
  }

  private remove(subscription: Subscription, why: EndReason): void {
    const { peer, channel, member, withMetadata } = subscription;
    subscription.end(why);
    // A fault on the way can end a connection, and with it all its subscriptions, while they are being ended one by one.
    if (!peer.removeSubscription(subscription)) return;
    peer.socket.unsubscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
    channel.subscribers--;
    if (withMetadata) channel.metadataSubscribers--;
    if (member) this.presence.left(subscription, member);
    this.tidy(channel);
  }

  publish(peer: Peer, name: string, dataJson: string): boolean {
    return this.delivery.publish(peer, name, dataJson);
  }

  send(peer: Peer, to: string, dataJson: string): number | Promise<number> {
    return this.delivery.send(peer, to, dataJson);
  }

  /** Closes a peer's connections on every node, and blocks it first, if it is to be blocked: how many. */
  async kick(app: string, peerId: string, blockedUntilMs?: number): Promise<number> {
    const { blocks, engine } = this.parts;
    if (blockedUntilMs !== undefined) {
      // In force everywhere before its connections close: it must not slip in again in between.
      blocks?.add({ app, peerId, untilMs: blockedUntilMs });
      await engine.block(app, peerId, blockedUntilMs);
    }
    return this.kicked(app, peerId) + (await engine.kick(app, peerId));
  }

  /** On this node: how many there were. */
  kicked(app: string, peerId: string): number {
    const peers = [...(this.spaces.get(app)?.identities.get(peerId)?.peers ?? [])];
    for (const peer of peers) this.close(peer, KICKED);
    return peers.length;
  }

  /**
   * Closes every connection that subscribes to the channel, so that its client resynchronises. All channels lost in one turn share one
   * scan of the connections: with one scan per channel, 500 lost channels stall the node for more than a second. A microtask and not a
   * timer: no message that arrives later may reach these clients before the close.
   */
  private resync(channel: Channel): void {
    if (this.lost.size === 0)
      queueMicrotask(() => {
        const channels = [...this.lost];
        this.lost.clear();
        this.closeLost(channels);
      });
    this.lost.add(channel);
  }

  private closeLost(channels: readonly Channel[]): void {
    const lost = new Set(channels);
    const peers = [...this.everybody()].filter((peer) => peer.subscriptions.some(({ channel }) => lost.has(channel)));
    for (const peer of peers) this.boundary.forPeer("engine", peer, () => this.close(peer, RESYNC));
  }

  /** A key has changed: its connections follow it. */
  keyChanged(keyId: string): void {
    const peers = this.byKey.get(keyId);
    if (peers) this.narrowing.follow(peers, this.parts.keyring.key(keyId));
  }

  /** Housekeeping */

  private space(app: string): Space {
    let space = this.spaces.get(app);
    if (!space) {
      space = new Space(app);
      this.spaces.set(app, space);
    }
    return space;
  }

  private keyPeers(keyId: string): Set<Peer> {
    let peers = this.byKey.get(keyId);
    if (!peers) {
      peers = new Set();
      this.byKey.set(keyId, peers);
    }
    return peers;
  }

  /** The channel, watched: the engine is asked who is in it elsewhere when it is new here. */
  private channel(space: Space, name: string): Channel {
    const present = space.channels.get(name);
    if (present) return present;
    const channel = new Channel(space, name);
    space.channels.set(name, channel);
    this.parts.engine.watch(space.app, name, (remote) =>
      this.boundary.forChannel("engine", channel, () => this.opened(channel, remote)),
    );
    // A fault while it was opened has detached it; who asked for it would never hear anything there.
    if (space.channels.get(name) !== channel) throw new Error("a channel could not be opened");
    return channel;
  }

  private opened(channel: Channel, remote: RemoteMembers): void {
    const waiting = channel.opening ?? [];
    channel.opening = undefined;
    // It may have been forgotten while the answer was under way.
    const isStillHere = channel.space.channels.get(channel.name) === channel;
    if (isStillHere) for (const [node, members] of remote) this.presence.remoteChanged(node, channel, members, []);
    for (const enter of waiting) enter();
  }

  /** A channel that nobody here subscribes to, and about which nothing is left to tell, is forgotten. */
  private tidy(channel: Channel): void {
    if (channel.subscribers > 0) return;
    const { space } = channel;
    if (space.channels.get(channel.name) !== channel) return;
    if ([...channel.members.values()].some((member) => member.announced)) return;
    for (const member of [...channel.members.values()]) {
      member.identity.removePending(member);
      channel.forget(member);
    }
    space.channels.delete(channel.name);
    this.parts.engine.unwatch(space.app, channel.name);
    if (space.isEmpty) this.spaces.delete(space.app);
  }
}
