/**
 * How words reach connections: a message is written once per variant to a native topic, a direct message to the outbox of each
 * of its receiver's connections. Nothing here loops over subscribers. Before a message is written, its receivers are told what waits
 * to be told about its sender.
 */
import { type Engine, type Envelope, UNAVAILABLE } from "../engine/engine.ts";
import * as encode from "../protocol/encode.ts";
import { utf8Bytes } from "../protocol/names.ts";
import type { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import type { Presence } from "./presence.ts";
import type { Broadcast, Socket } from "./socket.ts";
import type { Identity, Space } from "./space.ts";
import type { Usage } from "./usage.ts";

/** How long after a write that had to wait a cut socket counts as a slow reader. */
const PRESSURE_MS = 1000;

export interface DeliveryParts {
  readonly spaces: ReadonlyMap<string, Space>;
  readonly presence: Presence;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly clock: Clock;
}

export class Delivery {
  private pressedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: DeliveryParts) {}

  /** false: the other nodes cannot be reached, and nothing was delivered to anybody. */
  publish(peer: Peer, name: string, dataJson: string): boolean {
    const { identity } = peer;
    const channel = identity.space.channels.get(name);
    if (identity.pending) this.parts.presence.beforeMessage(identity, hasReceiver(channel, peer));
    const envelope: Envelope = { from: peer.peerId, metadataJson: peer.metadataJson, dataJson };
    if (!this.parts.engine.publish(identity.space.app, name, envelope)) return false;
    if (channel) this.fanOut(channel, identity.json, envelope, peer);
    this.parts.usage.message(identity.space.app);
    return true;
  }

  /** A message that no connection of ours sent: REST's. */
  publishFrom(app: string, name: string, envelope: Envelope): boolean {
    const space = this.parts.spaces.get(app);
    const channel = space?.channels.get(name);
    if (space) this.settleSender(space, envelope.from, channel);
    if (!this.parts.engine.publish(app, name, envelope)) return false;
    if (channel) this.fanOut(channel, JSON.stringify(envelope.from), envelope, undefined);
    this.parts.usage.message(app);
    return true;
  }

  fanOut(channel: Channel, fromJson: string, envelope: Envelope, sender: Peer | undefined): void {
    const { subscribers, metadataSubscribers } = channel;
    if (subscribers === 0) return;
    const own = sender?.subscriptionTo(channel.name);
    const except = own && sender?.socket;
    const { metadataJson, dataJson } = envelope;
    const plain = encode.message(channel.json, fromJson, undefined, dataJson);
    const plainReaders = subscribers - metadataSubscribers - (own && !own.withMetadata ? 1 : 0);
    const fullReaders = metadataSubscribers - (own?.withMetadata ? 1 : 0);
    this.parts.metrics.messages.inc(plainReaders + fullReaders);
    if (plainReaders > 0) this.write(channel.plainTopic, plain, except, plainReaders);
    if (fullReaders > 0) {
      const full = metadataJson === undefined ? plain : encode.message(channel.json, fromJson, metadataJson, dataJson);
      this.write(channel.metadataTopic, full, except, fullReaders);
    }
  }

  private write(topic: string, text: string, except: Socket | undefined, readers: number): void {
    const { broadcast, metrics } = this.parts;
    const written = broadcast(topic, text, except);
    this.pressed(written);
    metrics.deliveries.inc(readers);
    metrics.bytesOut.inc(readers * (written > 0 ? written : utf8Bytes(text)));
  }

  /** Bytes wait for a reader somewhere: worth remembering when one is cut. */
  private pressed(written: number): void {
    if (written < 0) this.pressedMs = this.parts.clock.monotonicMs();
  }

  get isUnderPressure(): boolean {
    return this.parts.clock.monotonicMs() - this.pressedMs < PRESSURE_MS;
  }

  /** How many connections it was handed to, UNAVAILABLE if that could not be found out. */
  send(peer: Peer, to: string, dataJson: string): number | Promise<number> {
    const { identity } = peer;
    if (identity.pending) this.parts.presence.announcePending(identity);
    const envelope: Envelope = { from: peer.peerId, metadataJson: peer.metadataJson, dataJson };
    return this.sendEnvelope(identity.space.app, identity.space, to, identity.json, envelope, peer);
  }

  sendFrom(app: string, to: string, envelope: Envelope): number | Promise<number> {
    return this.sendEnvelope(app, this.parts.spaces.get(app), to, JSON.stringify(envelope.from), envelope, undefined);
  }

  private sendEnvelope(
    app: string,
    space: Space | undefined,
    to: string,
    fromJson: string,
    envelope: Envelope,
    sender: Peer | undefined,
  ): number | Promise<number> {
    const target = space?.identities.get(to);
    const isHere = target !== undefined && isSomebodyElse(target.peers, sender);
    const elsewhere = this.parts.engine.send(app, to, envelope, isHere);
    if (elsewhere === UNAVAILABLE) return UNAVAILABLE;
    const here = target ? this.hand(target, fromJson, envelope, sender) : 0;
    if (typeof elsewhere === "number") return this.counted(app, here + elsewhere);
    return elsewhere.then((count) => {
      if (count === UNAVAILABLE) return here > 0 ? this.counted(app, here) : UNAVAILABLE;
      return this.counted(app, here + count);
    });
  }

  private counted(app: string, reached: number): number {
    if (reached > 0) this.parts.usage.message(app);
    return reached;
  }

  /** To this node's connections of a peer: how many there were. */
  handTo(app: string, to: string, envelope: Envelope): number {
    const target = this.parts.spaces.get(app)?.identities.get(to);
    return target ? this.hand(target, JSON.stringify(envelope.from), envelope, undefined) : 0;
  }

  private hand(target: Identity, fromJson: string, envelope: Envelope, sender: Peer | undefined): number {
    if (!isSomebodyElse(target.peers, sender)) return 0;
    const { metrics, presence } = this.parts;
    const from = sender?.identity ?? target.space.identities.get(envelope.from);
    if (from?.pending) presence.beforeDirect(from, target);
    const text = encode.direct(fromJson, envelope.metadataJson, envelope.dataJson);
    let reached = 0;
    for (const peer of target.peers) {
      if (peer === sender) continue;
      this.write(peer.outbox, text, undefined, 1);
      reached++;
    }
    metrics.directs.inc(reached);
    return reached;
  }

  /** The answer to something that may come many times in a turn. */
  answer(peer: Peer, text: string): void {
    this.pressed(this.parts.broadcast(peer.outbox, text, undefined));
  }

  /** Before a message that no connection of ours sent goes out in `channel`. */
  settleSender(space: Space, from: string, channel: Channel | undefined): void {
    const identity = space.identities.get(from);
    if (identity?.pending) this.parts.presence.beforeMessage(identity, hasReceiver(channel, undefined));
  }
}

/** Whether a message in this channel reaches anyone on this node. */
function hasReceiver(channel: Channel | undefined, sender: Peer | undefined): boolean {
  if (!channel) return false;
  return channel.subscribers > (sender?.subscriptionTo(channel.name) ? 1 : 0);
}

/** Without a closure: every send comes by here. */
function isSomebodyElse(peers: readonly Peer[], sender: Peer | undefined): boolean {
  const [first] = peers;
  return peers.length > 1 || (first !== undefined && first !== sender);
}
