/**
 * How messages of channels reach connections, whether a connection, REST or another node sends them. A message is written once per
 * variant to a native topic. Nothing here loops over subscribers. Before a message is written, its receivers are shown the pending
 * presence changes of its sender. directs.ts does the same for direct messages.
 *
 *     call             the message is                           other nodes         counted   subscribers here
 *     publish()        without history, sent to this node       first, or refused   yes       all but its sender
 *     deliver()        without history, of another node         -                   there     all
 *     accept()         with history, stored by this node        if reachable        yes       with deliverStored()
 *     deliverStored()  with history, the next of its stream     -                   -         all but its sender
 *
 * A sender whose subscription is still being replayed earlier messages is not on the topic, and need not be left out.
 */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { appOfSpace, type SpaceId } from "../../base/ids.ts";
import type { Engine, Envelope } from "../../engine/engine.ts";
import type { StoredMessage } from "../../history/contract/history.ts";
import * as encode from "../../protocol/encode.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import type { TrafficCounters } from "../../telemetry/traffic.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { type Payer, Quota } from "../counting/quota.ts";
import type { Usage } from "../counting/usage.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Presence } from "../presence/presence.ts";
import type { Channel } from "../state/channel.ts";
import type { Connection } from "../state/connection.ts";
import { connectionOf, hasReceiver } from "../state/receivers.ts";
import type { Broadcast, Socket } from "../state/socket.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Subscription } from "../state/subscription.ts";
import { payerOf } from "./payer.ts";

/** A socket that is cut within this time after a write had to wait counts as a slow reader. */
const PRESSURE_MS = 1000;

interface DeliveryParts {
  readonly spaces: Spaces;
  readonly presence: Presence;
  readonly engine: Engine;
  readonly broadcast: Broadcast;
  readonly keyring: Keyring;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly clock: Clock;
  readonly emitter: Emitter;
}

/** Why a message was delivered to no one. `backend_error`: other nodes cannot be reached. */
export type PublishRefusal = "over_message_quota" | "backend_error";

export class Delivery {
  private readonly quota: Quota;
  private pressedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: DeliveryParts) {
    this.quota = new Quota(parts.keyring, parts.usage);
  }

  // Messages of channels

  /** Returns `undefined` if the message is published. `sender` is the connection it comes from, absent for REST. */
  publish(spaceId: SpaceId, name: string, envelope: Envelope, sender?: Connection): PublishRefusal | undefined {
    const payer = payerOf(spaceId, name, sender);
    if (this.quota.isUsedUp(spaceId, payer)) return "over_message_quota";
    const { spaces, presence, engine, emitter } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(spaceId);
    const channel = space?.channels.get(name);
    const from = sender ? sender.peer : space?.peers.get(envelope.from);
    if (from?.pending) presence.beforeMessage(from, hasReceiver(channel, sender));
    if (!engine.publish(spaceId, name, envelope)) return "backend_error";
    if (channel)
      this.fanOut(channel, fromJsonOf(envelope, sender), envelope, sender?.subscriptionTo(name), idField(envelope));
    if (space) space.countMessage(payer);
    else this.countMessage(spaceId, payer);
    if (emitter.events.listener !== undefined)
      emitter.published(spaceId, name, envelope.from, envelope.dataJson, sender);
    return undefined;
  }

  /** `more`: messages that are accepted, but not counted yet. */
  isOverQuota(spaceId: SpaceId, payer: Payer, more = 0): boolean {
    return this.quota.isUsedUp(spaceId, payer, more);
  }

  /** A message of a channel with history is stored: it is counted, and the other nodes get it. */
  accept(
    spaceId: SpaceId,
    name: string,
    envelope: Envelope,
    sender: Connection | undefined,
    payer: Payer = payerOf(spaceId, name, sender),
  ): void {
    const { spaces, presence, engine, emitter } = this.parts;
    const space = sender ? sender.peer.space : spaces.get(spaceId);
    if (space) space.countMessage(payer);
    else this.countMessage(spaceId, payer);
    if (emitter.events.listener !== undefined)
      emitter.published(spaceId, name, envelope.from, envelope.dataJson, sender);
    const from = spaces.peer(spaceId, envelope.from);
    if (from?.pending) presence.announcePending(from);
    // If they cannot be reached, they find it in the store.
    engine.publish(spaceId, name, envelope);
  }

  /** A message of another node. */
  deliver(channel: Channel, envelope: Envelope): void {
    const from = channel.space.peers.get(envelope.from);
    if (from?.pending) this.parts.presence.beforeMessage(from, hasReceiver(channel, undefined));
    this.fanOut(channel, JSON.stringify(envelope.from), envelope, undefined, idField(envelope));
  }

  /** A message of a channel with history: the next one of its stream, wherever it was published. `more`: more members of its frame. */
  deliverStored(channel: Channel, message: StoredMessage, epoch: string, more = ""): void {
    const from = channel.space.peers.get(message.from);
    const sender = message.connection === undefined ? undefined : connectionOf(from, message.connection);
    if (from?.pending) this.parts.presence.beforeMessage(from, hasReceiver(channel, sender));
    const { offset, check, time, id } = message;
    const fields = encode.storedFields({ epoch, offset, check }, time, id) + more;
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

  /** An accepted message in an application that may have no connection here. */
  countMessage(spaceId: SpaceId, payer: Payer = "app"): void {
    const app = appOfSpace(spaceId);
    this.parts.metrics.traffic.of(app).messages++;
    if (payer !== "service") this.parts.usage.message(app, payer === "guests");
  }

  // Writing

  /** An ack or another answer of which many may be written in one turn. */
  answer(connection: Connection, text: string): void {
    this.notePressure(this.parts.broadcast(connection.outbox, text, undefined));
  }

  /** Returns the bytes of the text. */
  write(topic: string, text: string, except: Socket | undefined, readers: number, counters: TrafficCounters): number {
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

export const idField = ({ id }: Envelope): string => (id === undefined ? "" : encode.idField(id));

/** The sender as JSON. */
export const fromJsonOf = (envelope: Envelope, sender: Connection | undefined): string =>
  sender ? sender.peer.json : JSON.stringify(envelope.from);
