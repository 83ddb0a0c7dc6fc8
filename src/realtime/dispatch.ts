/**
 * What a client's frame does. Its checks are here, in the order of the protocol; the message quota is checked by Delivery, as
 * for REST. A failed check leaves the connection open, except for the rate. Nothing here waits.
 */
import type { Envelope } from "../engine/engine.ts";
import { type ActionSet, bitOf } from "../protocol/actions.ts";
import { OVER_RATE } from "../protocol/close.ts";
import type { Code } from "../protocol/codes.ts";
import * as encode from "../protocol/encode.ts";
import { type ClientFrame, decodeFrame, PLAIN_PING } from "../protocol/frames.ts";
import { CHANNELS_PER_CONNECTION_MAX } from "../protocol/limits.ts";
import { isChannelName, isPeerId, isReserved, utf8Bytes } from "../protocol/names.ts";
import type { Clock } from "./clock.ts";
import type { SendRefusal } from "./delivery.ts";
import type { Hub } from "./hub.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import { giveFrameBack, type Rates, refill, takeControl, takeFrame, takePing } from "./rates.ts";

const PUBLISH = bitOf("publish");
const SUBSCRIBE = bitOf("subscribe");
const SEND = bitOf("send");

export interface DispatchParts {
  readonly hub: Hub;
  readonly metrics: RealtimeMetrics;
  readonly clock: Clock;
  readonly rates: Rates;
}

export class Dispatch {
  constructor(private readonly parts: DispatchParts) {}

  /** A text frame. */
  text(peer: Peer, text: string): void {
    if (!this.arrived(peer, utf8Bytes(text))) return;
    if (text === PLAIN_PING) return this.ping(peer, undefined);
    const { hub, rates } = this.parts;
    const paid = takeFrame(peer, rates);
    const frame = decodeFrame(text);
    if (frame?.type === "ping") {
      if (paid) giveFrameBack(peer);
      return this.ping(peer, frame.requestId);
    }
    if (!paid) return this.cut(peer);
    if (!frame) {
      this.parts.metrics.framesIn.other.inc();
      return this.refuse(peer, "malformed_message", undefined);
    }
    const { framesIn } = this.parts.metrics;
    switch (frame.type) {
      case "publish":
        framesIn.publish.inc();
        return this.publish(peer, frame);
      case "send":
        framesIn.send.inc();
        return this.send(peer, frame);
      case "subscribe":
        framesIn.subscribe.inc();
        return this.subscribe(peer, frame);
      case "unsubscribe":
        framesIn.unsubscribe.inc();
        if (!isChannelName(frame.channel)) return this.refuse(peer, "invalid_channel", frame.requestId);
        hub.channels.unsubscribe(peer, frame.channel);
        return this.ack(peer, frame.requestId);
      default:
        framesIn.other.inc();
        return this.refuse(peer, "unknown_type", frame.requestId);
    }
  }

  /** A binary frame counts against the rate like any other, and is always malformed. */
  binary(peer: Peer, bytes: number): void {
    if (!this.arrived(peer, bytes)) return;
    if (!takeFrame(peer, this.parts.rates)) return this.cut(peer);
    this.parts.metrics.framesIn.other.inc();
    this.refuse(peer, "malformed_message", undefined);
  }

  /** A client's WebSocket ping. The runtime has already answered it. */
  controlPing(peer: Peer): void {
    if (this.arrived(peer, 0) && !takeControl(peer, this.parts.rates)) this.cut(peer);
  }

  /** A client's WebSocket pong. Answers to the pings behind acks do not count: there are as many as there were subscribes. */
  controlPong(peer: Peer, payload: Buffer): void {
    if (!this.arrived(peer, 0)) return;
    const seq = payload.length === 0 ? undefined : peer.answeredPing(payload.toString("latin1"));
    if (seq !== undefined) this.parts.hub.presence.pong(peer, seq);
    else if (!takeControl(peer, this.parts.rates)) this.cut(peer);
  }

  /** false: the connection has ended, or ends now. */
  private arrived(peer: Peer, size: number): boolean {
    if (!peer.open) return false;
    const { clock, rates, metrics, hub } = this.parts;
    metrics.bytesIn.inc(size);
    // The timer may be late when the machine was suspended: an expired token must not be used in between.
    if (peer.deadlineMs <= clock.nowMs()) {
      hub.connections.expire(peer);
      return false;
    }
    const now = clock.monotonicMs();
    peer.lastSeenMs = now;
    refill(peer, rates, now);
    return true;
  }

  private ping(peer: Peer, requestId: string | undefined): void {
    if (!takePing(peer)) return this.cut(peer);
    this.parts.metrics.framesIn.ping.inc();
    this.parts.metrics.pongs.inc();
    peer.socket.send(encode.pong(requestId));
  }

  private publish(peer: Peer, frame: ClientFrame): void {
    const { channel, data, requestId } = frame;
    const { clock, hub, metrics } = this.parts;
    if (typeof channel !== "string" || channel !== peer.publishesTo) {
      if (!isChannelName(channel)) return this.refuse(peer, "invalid_channel", requestId);
      if (isReserved(channel)) return this.refuse(peer, "channel_reserved", requestId);
      if (!peer.may(PUBLISH)) return this.refuseAction(peer, PUBLISH, requestId);
      // A channel that it subscribes to is allowed: an edit of the key that takes it away ends the subscription too.
      if (!peer.subscriptionTo(channel) && !peer.covers(channel)) return this.refuseChannel(peer, channel, requestId);
      peer.publishesTo = channel;
    }
    if (data === undefined) return this.refuse(peer, "missing_data", requestId);
    const refused = hub.delivery.publish(peer.identity.space.app, channel, envelopeOf(peer, data), peer);
    if (refused) return this.refuse(peer, refused, requestId);
    this.ackMessage(peer, requestId);
    metrics.frameSeconds.observe((clock.monotonicMs() - peer.lastSeenMs) / 1000);
  }

  private send(peer: Peer, frame: ClientFrame): void {
    const { to, data, requestId } = frame;
    if (!isPeerId(to)) return this.refuse(peer, "invalid_peer_id", requestId);
    if (!peer.may(SEND)) return this.refuseAction(peer, SEND, requestId);
    if (data === undefined) return this.refuse(peer, "missing_data", requestId);
    const { delivery, boundary } = this.parts.hub;
    const sent = delivery.send(peer.identity.space.app, to, envelopeOf(peer, data), peer);
    if (sent instanceof Promise)
      sent
        .then((refused) => this.answerSend(peer, refused, requestId))
        .catch((error) => boundary.peerFailed("engine", peer, error));
    else this.answerSend(peer, sent, requestId);
  }

  private answerSend(peer: Peer, refused: SendRefusal | undefined, requestId: string | undefined): void {
    if (refused) this.refuse(peer, refused, requestId);
    else this.ackMessage(peer, requestId);
  }

  private subscribe(peer: Peer, frame: ClientFrame): void {
    const { channel, includeSenderMetadata: wanted, requestId } = frame;
    if (wanted !== undefined && typeof wanted !== "boolean") return this.refuse(peer, "malformed_message", requestId);
    if (!isChannelName(channel)) return this.refuse(peer, "invalid_channel", requestId);
    if (isReserved(channel)) return this.refuse(peer, "channel_reserved", requestId);
    if (!peer.may(SUBSCRIBE)) return this.refuseAction(peer, SUBSCRIBE, requestId);
    if (!peer.covers(channel)) return this.refuseChannel(peer, channel, requestId);
    if (peer.subscriptions.length >= CHANNELS_PER_CONNECTION_MAX && !peer.subscriptionTo(channel))
      return this.refuse(peer, "channel_limit_exceeded", requestId);
    this.parts.hub.channels.subscribe(peer, channel, wanted === true, (refused) => {
      if (refused) this.refuse(peer, refused, requestId);
      else this.ack(peer, requestId);
    });
  }

  private ack(peer: Peer, requestId: string | undefined): void {
    if (requestId === undefined || !peer.open) return;
    this.parts.metrics.acks.inc();
    peer.socket.send(encode.ack(requestId));
  }

  /** The ack of a publish or send, of which many may come in one turn. */
  private ackMessage(peer: Peer, requestId: string | undefined): void {
    if (requestId === undefined || !peer.open) return;
    this.parts.metrics.acks.inc();
    this.parts.hub.delivery.answer(peer, encode.ack(requestId));
  }

  /** The text says whether the token or the key is too narrow: they are changed in different places. */
  private refuseChannel(peer: Peer, channel: string, requestId: string | undefined): void {
    const narrow = peer.keyScope.matches(channel) ? "token" : "key";
    this.refuse(peer, "channel_not_authorized", requestId, `The ${narrow} does not cover this channel.`);
  }

  private refuseAction(peer: Peer, action: ActionSet, requestId: string | undefined): void {
    const { tokenActions } = peer;
    const narrow = tokenActions !== undefined && (tokenActions & action) === 0 ? "token" : "key";
    this.refuse(peer, "action_not_permitted", requestId, `The ${narrow} does not permit this action.`);
  }

  private refuse(peer: Peer, code: Code, requestId: string | undefined, message?: string): void {
    if (!peer.open) return;
    this.parts.metrics.errors.inc();
    peer.socket.send(encode.error(code, requestId, message));
  }

  private cut(peer: Peer): void {
    this.parts.metrics.rateCuts.inc();
    this.parts.hub.connections.close(peer, OVER_RATE);
  }
}

const envelopeOf = ({ peerId, metadataJson }: Peer, dataJson: string): Envelope => ({
  from: peerId,
  metadataJson,
  dataJson,
});
