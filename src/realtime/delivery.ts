/**
 * How messages reach connections, whether a connection, REST or another node sends them. A message is written once per variant
 * to a native topic, a direct message to the outbox of each of its receiver's connections. Nothing here loops over subscribers.
 * Before a message is written, its receivers are shown the pending presence changes of its sender.
 */
import type { Keyring } from "../access/keyring.ts";
import { appOfSpace } from "../access/room-space.ts";
import { type Engine, type Envelope, HELD, UNAVAILABLE } from "../engine/engine.ts";
import type { StoredMessage } from "../history/history.ts";
import * as encode from "../protocol/encode.ts";
import { utf8Bytes } from "../protocol/names.ts";
import type { TrafficCounters } from "../telemetry/traffic.ts";
import type { Channel } from "./channel.ts";
import type { Clock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { Emitter } from "./emitter.ts";
import { type EarlyDirect, EarlyDirects } from "./lingering/early-directs.ts";
import type { Holds } from "./lingering/holds.ts";
import { WaitingSends } from "./lingering/waiting-sends.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import type { Presence } from "./presence.ts";
import { Quota } from "./quota.ts";
import { connectionOf, hasReceiver } from "./receivers.ts";
import type { Broadcast, Socket } from "./socket.ts";
import type { Spaces } from "./spaces.ts";
import type { Subscription } from "./subscription.ts";
import type { Usage } from "./usage.ts";

/** A socket that is cut within this time after a write had to wait counts as a slow reader. */
const PRESSURE_MS = 1000;

export interface DeliveryParts {
  readonly spaces: Spaces;
  readonly presence: Presence;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly keyring: Keyring;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly clock: Clock;
  readonly emitter: Emitter;
  readonly holds: Holds;
}

/** Why a message was delivered to no one. `backend_error`: other nodes cannot be reached. */
export type PublishRefusal = "over_message_quota" | "backend_error";
export type SendRefusal = PublishRefusal | "peer_not_found";

export class Delivery {
  private readonly quota: Quota;
  /** Direct messages to peers that are expected back. */
  readonly waiting: WaitingSends;
  /** Direct messages to connections that are new after a loss. */
  readonly early: EarlyDirects;
  private lastSend = 0;
  private pressedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: DeliveryParts) {
    this.quota = new Quota(parts.keyring, parts.usage);
    this.early = new EarlyDirects({ clock: parts.clock, write: (to, direct) => this.writeEarly(to, direct) });
    this.waiting = new WaitingSends({
      clock: parts.clock,
      attempt: ({ app, to, envelope, sender }) => this.reach(app, to, { ...envelope, awaitsRoster: true }, sender),
    });
  }

  // Messages of channels

  /** Returns `undefined` if the message is published. `sender` is the connection it comes from, absent for REST. */
  publish(app: string, name: string, envelope: Envelope, sender?: Connection): PublishRefusal | undefined {
    if (this.quota.isUsedUp(app)) return "over_message_quota";
    const { spaces, presence, engine, emitter } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(app);
    const channel = space?.channels.get(name);
    const from = sender ? sender.peer : space?.peers.get(envelope.from);
    if (from?.pending) presence.beforeMessage(from, hasReceiver(channel, sender));
    if (!engine.publish(app, name, envelope)) return "backend_error";
    if (channel)
      this.fanOut(channel, fromJsonOf(envelope, sender), envelope, sender?.subscriptionTo(name), idField(envelope));
    if (space) space.countMessage();
    else this.countMessage(app);
    if (emitter.events.listener !== undefined) emitter.published(app, name, envelope.from, envelope.dataJson, sender);
    return undefined;
  }

  /** `more`: messages that are accepted, but not counted yet. */
  isOverQuota(app: string, more: number): boolean {
    return this.quota.isUsedUp(app, more);
  }

  /** A message of a channel with history is stored: it is counted, and the other nodes get it. */
  accept(app: string, name: string, envelope: Envelope, sender: Connection | undefined): void {
    const { spaces, presence, engine, emitter } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(app);
    if (space) space.countMessage();
    else this.countMessage(app);
    if (emitter.events.listener !== undefined) emitter.published(app, name, envelope.from, envelope.dataJson, sender);
    const from = spaces.peer(app, envelope.from);
    if (from?.pending) presence.announcePending(from);
    // If they cannot be reached, they find it in the store.
    engine.publish(app, name, envelope);
  }

  /** A message of another node. */
  deliver(channel: Channel, envelope: Envelope): void {
    const from = channel.space.peers.get(envelope.from);
    if (from?.pending) this.parts.presence.beforeMessage(from, hasReceiver(channel, undefined));
    this.fanOut(channel, JSON.stringify(envelope.from), envelope, undefined, idField(envelope));
  }

  /** A message of a channel with history: the next one of its stream, wherever it was published. */
  deliverStored(channel: Channel, message: StoredMessage, epoch: string): void {
    const from = channel.space.peers.get(message.from);
    const sender = message.connection === undefined ? undefined : connectionOf(from, message.connection);
    if (from?.pending) this.parts.presence.beforeMessage(from, hasReceiver(channel, sender));
    const { offset, check, time, id } = message;
    const fields = encode.storedFields({ epoch, offset, check }, time, id);
    const own = sender?.subscriptionTo(channel.name);
    const isOnTopic = own !== undefined && !own.replay;
    this.fanOut(channel, from ? from.json : JSON.stringify(message.from), message, isOnTopic ? own : undefined, fields);
  }

  /** `own`: the sender's subscription, which is left out. `fields`: more members of the frame. */
  private fanOut(
    channel: Channel,
    fromJson: string,
    envelope: Pick<Envelope, "metadataJson" | "dataJson">,
    own: Subscription | undefined,
    fields: string,
  ): void {
    const { subscribers, metadataSubscribers } = channel;
    if (subscribers === 0) return;
    const except = own?.connection.socket;
    const { metadataJson, dataJson } = envelope;
    const plain = encode.message(channel.json, fromJson, undefined, dataJson, fields);
    const plainReaders = subscribers - metadataSubscribers - (own && !own.withMetadata ? 1 : 0);
    const fullReaders = metadataSubscribers - (own?.withMetadata ? 1 : 0);
    this.parts.metrics.messages.inc(plainReaders + fullReaders);
    const { counters, rateWindow } = channel.space;
    let bytes = 0;
    if (plainReaders > 0) bytes = this.write(channel.plainTopic, plain, except, plainReaders, counters);
    if (fullReaders > 0) {
      const full =
        metadataJson === undefined ? plain : encode.message(channel.json, fromJson, metadataJson, dataJson, fields);
      bytes = this.write(channel.metadataTopic, full, except, fullReaders, counters);
    }
    channel.count(rateWindow.number, bytes);
  }

  // Direct messages

  /** Returns `undefined` if the message reached a connection, at once or when its receiver is back. `sender` is the connection it comes from and is not sent to. */
  send(
    app: string,
    to: string,
    envelope: Envelope,
    sender?: Connection,
  ): SendRefusal | undefined | Promise<SendRefusal | undefined> {
    if (this.quota.isUsedUp(app)) return "over_message_quota";
    if (sender?.peerId === to) return this.sendToOwn(app, to, envelope, sender);
    const order = ++this.lastSend;
    const reached = this.waiting.mustWait(app, to) ? HELD : this.reach(app, to, envelope, sender);
    if (typeof reached === "number" && reached !== HELD) return this.sent(app, to, envelope, sender, reached);
    return this.sentLater(app, to, envelope, sender, order, reached);
  }

  /** To the other connections of the same peer: it is connected, so that nothing has to wait for its return. */
  private sendToOwn(
    app: string,
    to: string,
    envelope: Envelope,
    sender: Connection,
  ): SendRefusal | undefined | Promise<SendRefusal | undefined> {
    const reached = this.reach(app, to, envelope, sender);
    if (typeof reached !== "number") return reached.then((count) => this.sent(app, to, envelope, sender, count));
    return this.sent(app, to, envelope, sender, reached);
  }

  /** HELD: the service itself has closed the connection of the receiver, which is expected back. */
  private async sentLater(
    app: string,
    to: string,
    envelope: Envelope,
    sender: Connection | undefined,
    order: number,
    reached: number | Promise<number>,
  ): Promise<SendRefusal | undefined> {
    const count = typeof reached === "number" ? reached : await reached;
    const decided = count === HELD ? await this.waiting.add({ app, to, envelope, sender, order }) : count;
    return this.sent(app, to, envelope, sender, decided);
  }

  /** To how many connections a direct message was handed; UNAVAILABLE; or HELD, if there is none and the peer is expected back. */
  private reach(app: string, to: string, envelope: Envelope, sender: Connection | undefined): number | Promise<number> {
    const { spaces, presence, engine } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(app);
    if (sender?.peer.pending) presence.announcePending(sender.peer);
    const target = space?.peers.get(to);
    if (target && sender) sender.peer.sentTo(target.peerId);
    const isOwn = target !== undefined && target === sender?.peer;
    const isHere = target?.hasOther(sender) === true;
    const elsewhere = engine.send(
      app,
      to,
      orAfterRoster(envelope, target),
      isHere,
      isOwn ? undefined : this.waiting.onHeld,
    );
    if (elsewhere === UNAVAILABLE) return UNAVAILABLE;
    const here = target && isHere ? this.hand(target, fromJsonOf(envelope, sender), envelope, sender) : 0;
    if (typeof elsewhere === "number") return this.orHeld(app, to, here, elsewhere);
    return this.orHeldLater(app, to, here, elsewhere);
  }

  private async orHeldLater(app: string, to: string, here: number, elsewhere: Promise<number>): Promise<number> {
    return this.orHeld(app, to, here, await elsewhere);
  }

  private orHeld(app: string, to: string, here: number, elsewhere: number): number {
    if (here > 0) return here + Math.max(0, elsewhere);
    return elsewhere === 0 && this.parts.holds.isHeld(app, to) ? HELD : elsewhere;
  }

  private sent(
    app: string,
    to: string,
    { from, dataJson }: Envelope,
    sender: Connection | undefined,
    reached: number,
  ): SendRefusal | undefined {
    if (reached === UNAVAILABLE) return "backend_error";
    if (reached === 0 || reached === HELD) return "peer_not_found";
    const { emitter } = this.parts;
    if (sender) sender.peer.space.countMessage();
    else this.countMessage(app);
    if (emitter.events.listener !== undefined) emitter.sent(app, to, from, dataJson, sender);
    return undefined;
  }

  /** Delivers a direct message of another node; returns the number of connections here that it was written to, or HELD. */
  deliverTo(app: string, to: string, envelope: Envelope): number {
    const target = this.parts.spaces.peer(app, to);
    const reached = target?.hasOther(undefined)
      ? this.hand(target, JSON.stringify(envelope.from), envelope, undefined)
      : 0;
    return reached === 0 && this.parts.holds.isHeld(app, to) ? HELD : reached;
  }

  /** To a peer that has a connection besides the sender's (`hasOther`). */
  private hand(target: Peer, fromJson: string, envelope: Envelope, sender: Connection | undefined): number {
    const { metrics, presence } = this.parts;
    const from = sender ? sender.peer : target.space.peers.get(envelope.from);
    if (!sender && from) from.sentTo(target.peerId);
    if (from?.pending) presence.beforeDirect(from, target);
    const text = encode.direct(fromJson, envelope.metadataJson, envelope.dataJson, idField(envelope));
    // From the return of a peer until its roster.
    const isEarly = target.lostMemberships > 0 || envelope.awaitsRoster === true;
    const { onlyConnection } = target;
    let reached = 0;
    if (onlyConnection) reached += this.handTo(onlyConnection, text, envelope, sender, isEarly);
    else
      for (const connection of target.connections) reached += this.handTo(connection, text, envelope, sender, isEarly);
    metrics.directs.inc(reached);
    return reached;
  }

  private handTo(
    connection: Connection,
    text: string,
    { from }: Envelope,
    sender: Connection | undefined,
    isEarly: boolean,
  ): 0 | 1 {
    // Messages that waited for a stream are sent while its last subscriber ends: that connection gets nothing any more.
    if (connection === sender || !connection.open) return 0;
    if (connection.extras?.earlyDirects || (isEarly && this.early.isTooEarly(connection)))
      this.early.add(connection, from, text);
    else this.writeDirect(connection, text);
    return 1;
  }

  private writeDirect({ outbox, peer }: Connection, text: string): void {
    this.write(outbox, text, undefined, 1, peer.space.counters);
  }

  /** With its rosters the receiver has learnt who is there, but not of senders that are still arriving. */
  private writeEarly(connection: Connection, { from, text }: EarlyDirect): void {
    const { peer } = connection;
    const sender = peer.space.peers.get(from);
    if (sender?.pending) this.parts.presence.beforeDirect(sender, peer);
    this.writeDirect(connection, text);
  }

  /** The peer has a roster again, or has sent a message. */
  returned({ connections }: Peer): void {
    for (const connection of connections) this.early.returned(connection);
  }

  /** An accepted message in an application that may have no connection here. */
  private countMessage(space: string): void {
    const app = appOfSpace(space);
    this.parts.metrics.traffic.of(app).messages++;
    this.parts.usage.message(app);
  }

  // Writing

  /** An ack or another answer of which many may be written in one turn. */
  answer(connection: Connection, text: string): void {
    this.notePressure(this.parts.broadcast(connection.outbox, text, undefined));
  }

  /** Returns the bytes of the text. */
  private write(
    topic: string,
    text: string,
    except: Socket | undefined,
    readers: number,
    counters: TrafficCounters,
  ): number {
    const written = this.parts.broadcast(topic, text, except);
    this.notePressure(written);
    const bytes = written > 0 ? written : utf8Bytes(text);
    counters.deliveries += readers;
    counters.bytesOut += readers * bytes;
    return bytes;
  }

  private notePressure(written: number): void {
    if (written < 0) this.pressedMs = this.parts.clock.monotonicMs();
  }

  /** Bytes have had to wait for a reader lately: a connection that ends now may have been cut as a slow reader. */
  get isUnderPressure(): boolean {
    return this.parts.clock.monotonicMs() - this.pressedMs < PRESSURE_MS;
  }
}

const idField = ({ id }: Envelope): string => (id === undefined ? "" : encode.idField(id));

/** The same for a node on which the receiver may have come back. */
const orAfterRoster = (envelope: Envelope, target: Peer | undefined): Envelope =>
  target && target.lostMemberships > 0 ? { ...envelope, awaitsRoster: true } : envelope;

const fromJsonOf = (envelope: Envelope, sender: Connection | undefined): string =>
  sender ? sender.peer.json : JSON.stringify(envelope.from);
