/**
 * What a client's frame does. Its checks are here, in the order of the protocol; the message quota is checked by Delivery, as
 * for REST. A failed check leaves the connection open, except for the rate. Nothing here waits.
 */
import { type ChannelRefusal, channelRefusal, narrowForAction, narrowForChannel } from "../access/permissions.ts";
import type { Envelope } from "../engine/engine.ts";
import { type ActionSet, bitOf } from "../protocol/actions.ts";
import { OVER_RATE } from "../protocol/close.ts";
import type { Code } from "../protocol/codes.ts";
import * as encode from "../protocol/encode.ts";
import { type ClientFrame, decodeFrame, PLAIN_PING } from "../protocol/frames.ts";
import { CHANNELS_PER_CONNECTION_MAX } from "../protocol/limits.ts";
import { isChannelName, isPeerId, utf8Bytes } from "../protocol/names.ts";
import { subscribeOptions } from "../protocol/subscribe-options.ts";
import type { Clock } from "./clock.ts";
import type { Connection } from "./connection.ts";
import type { SendRefusal } from "./delivery.ts";
import type { Hub } from "./hub.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { giveFrameBack, type Rates, refill, takeControl, takeFrame, takePing } from "./rates.ts";
import { PRESENCE, type StateRefusal } from "./states.ts";

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
  text(connection: Connection, text: string): void {
    if (!this.arrived(connection, utf8Bytes(text))) return;
    connection.countFrame(this.parts.hub.rateWindow.number);
    if (text === PLAIN_PING) return this.ping(connection, undefined);
    const { hub, rates } = this.parts;
    const paid = takeFrame(connection, rates);
    const frame = decodeFrame(text);
    if (frame?.type === "ping") {
      if (paid) giveFrameBack(connection);
      return this.ping(connection, frame.requestId);
    }
    if (!paid) return this.cut(connection);
    if (!frame) {
      this.parts.metrics.framesIn.other.inc();
      return this.refuse(connection, "malformed_message", undefined);
    }
    const { framesIn } = this.parts.metrics;
    switch (frame.type) {
      case "publish":
        framesIn.publish.inc();
        return this.publish(connection, frame);
      case "send":
        framesIn.send.inc();
        return this.send(connection, frame);
      case "subscribe":
        framesIn.subscribe.inc();
        return this.subscribe(connection, frame);
      case "unsubscribe":
        framesIn.unsubscribe.inc();
        if (!isChannelName(frame.channel)) return this.refuse(connection, "invalid_channel", frame);
        hub.channels.unsubscribe(connection, frame.channel);
        return this.ack(connection, frame.requestId);
      case "state": {
        framesIn.state.inc();
        const refusal = hub.states.set(connection, frame, text);
        if (!refusal) return this.ack(connection, frame.requestId);
        return this.refuseState(connection, refusal, frame);
      }
      default:
        framesIn.other.inc();
        return this.refuse(connection, "unknown_type", frame);
    }
  }

  /** A binary frame counts against the rate like any other, and is always malformed. */
  binary(connection: Connection, bytes: number): void {
    if (!this.arrived(connection, bytes)) return;
    connection.countFrame(this.parts.hub.rateWindow.number);
    if (!takeFrame(connection, this.parts.rates)) return this.cut(connection);
    this.parts.metrics.framesIn.other.inc();
    this.refuse(connection, "malformed_message", undefined);
  }

  /** A client's WebSocket ping. The runtime has already answered it. */
  controlPing(connection: Connection): void {
    if (this.arrived(connection, 0) && !takeControl(connection, this.parts.rates)) this.cut(connection);
  }

  /** A client's WebSocket pong. Pongs that answer the pings after acks do not count: there are as many as there were subscribes. */
  controlPong(connection: Connection, payload: Buffer): void {
    if (!this.arrived(connection, 0)) return;
    const seq = payload.length === 0 ? undefined : connection.answeredPing(payload.toString("latin1"));
    if (seq !== undefined) this.parts.hub.presence.onPong(connection, seq);
    else if (!takeControl(connection, this.parts.rates)) this.cut(connection);
  }

  /** Returns false if the connection has ended, or ends now. */
  private arrived(connection: Connection, size: number): boolean {
    if (!connection.open) return false;
    const { clock, rates, metrics, hub } = this.parts;
    metrics.bytesIn.inc(size);
    // The timer may be late when the machine was suspended: an expired token must not be used in between.
    if (connection.deadlineMs <= clock.nowMs()) {
      hub.connections.expire(connection);
      return false;
    }
    const now = clock.monotonicMs();
    connection.lastSeenMs = now;
    refill(connection, rates, now);
    return true;
  }

  private ping(connection: Connection, requestId: string | undefined): void {
    if (!takePing(connection)) return this.cut(connection);
    this.parts.metrics.framesIn.ping.inc();
    this.parts.metrics.pongs.inc();
    connection.socket.send(encode.pong(requestId));
  }

  private publish(connection: Connection, frame: ClientFrame): void {
    const { channel, data, requestId } = frame;
    const { clock, hub } = this.parts;
    if (typeof channel !== "string" || channel !== connection.publishesTo) {
      if (typeof channel !== "string") return this.refuse(connection, "invalid_channel", frame);
      // A subscribed channel is allowed: an edit of the key that no longer covers the channel ends the subscription too.
      const isHeld = connection.subscriptionTo(channel) !== undefined;
      const refusal = channelRefusal(channel, PUBLISH, connection, isHeld);
      if (refusal) return this.refuseChannel(connection, refusal, PUBLISH, channel, frame);
      connection.publishesTo = channel;
    }
    if (data === undefined) return this.refuse(connection, "missing_data", frame);
    const refused = hub.delivery.publish(connection.peer.space.app, channel, envelopeOf(connection, data), connection);
    if (refused) return this.refuse(connection, refused, frame);
    connection.published++;
    this.ackMessage(connection, requestId);
    connection.peer.space.counters.latency.observeMs(clock.monotonicMs() - connection.lastSeenMs);
  }

  private send(connection: Connection, frame: ClientFrame): void {
    const { to, data } = frame;
    if (!isPeerId(to)) return this.refuse(connection, "invalid_peer_id", frame);
    if (!connection.may(SEND)) return this.refuseAction(connection, SEND, frame);
    if (data === undefined) return this.refuse(connection, "missing_data", frame);
    const { delivery, boundary } = this.parts.hub;
    const sent = delivery.send(connection.peer.space.app, to, envelopeOf(connection, data), connection);
    if (sent instanceof Promise)
      sent
        .then((refused) => this.answerSend(connection, refused, frame))
        .catch((error) => boundary.connectionFailed("engine", connection, error));
    else this.answerSend(connection, sent, frame);
  }

  private answerSend(connection: Connection, refused: SendRefusal | undefined, frame: ClientFrame): void {
    if (refused) return this.refuse(connection, refused, frame);
    connection.published++;
    this.ackMessage(connection, frame.requestId);
  }

  private subscribe(connection: Connection, frame: ClientFrame): void {
    const { channel, requestId } = frame;
    const options = subscribeOptions(frame.fields);
    if (!options) return this.refuse(connection, "malformed_message", frame);
    if (typeof channel !== "string") return this.refuse(connection, "invalid_channel", frame);
    const refusal = channelRefusal(channel, SUBSCRIBE, connection, false);
    if (refusal) return this.refuseChannel(connection, refusal, SUBSCRIBE, channel, frame);
    if (connection.subscriptions.length >= CHANNELS_PER_CONNECTION_MAX && !connection.subscriptionTo(channel))
      return this.refuse(connection, "channel_limit_exceeded", frame);
    this.parts.hub.channels.subscribe(connection, channel, options, (refused, fields) => {
      if (refused) this.refuse(connection, refused, frame);
      else this.ack(connection, requestId, fields);
    });
  }

  private ack(connection: Connection, requestId: string | undefined, fields?: string): void {
    if (requestId === undefined || !connection.open) return;
    this.parts.metrics.acks.inc();
    connection.socket.send(encode.ack(requestId, fields));
  }

  /** The ack of a publish or send, of which many may come in one turn. */
  private ackMessage(connection: Connection, requestId: string | undefined): void {
    if (requestId === undefined || !connection.open) return;
    this.parts.metrics.acks.inc();
    this.parts.hub.delivery.answer(connection, encode.ack(requestId));
  }

  private refuseChannel(
    connection: Connection,
    refusal: ChannelRefusal,
    action: ActionSet,
    channel: string,
    frame: ClientFrame,
  ): void {
    if (refusal === "action_not_permitted") return this.refuseAction(connection, action, frame);
    if (refusal !== "channel_not_authorized") return this.refuse(connection, refusal, frame);
    const narrow = narrowForChannel(connection, channel);
    this.refuse(connection, refusal, frame, `The ${narrow} does not cover this channel.`);
  }

  private refuseState(connection: Connection, { code, message }: StateRefusal, frame: ClientFrame): void {
    if (code === "action_not_permitted") return this.refuseAction(connection, PRESENCE, frame);
    this.refuse(connection, code, frame, message);
  }

  private refuseAction(connection: Connection, action: ActionSet, frame: ClientFrame): void {
    const narrow = narrowForAction(connection, action);
    this.refuse(connection, "action_not_permitted", frame, `The ${narrow} does not permit this action.`);
  }

  private refuse(connection: Connection, code: Code, frame: ClientFrame | undefined, message?: string): void {
    if (!connection.open) return;
    const { metrics, hub } = this.parts;
    metrics.errors.inc();
    connection.socket.send(encode.error(code, frame?.requestId, message));
    hub.emitter.failed(connection, code, isChannelName(frame?.channel) ? frame.channel : undefined);
  }

  private cut(connection: Connection): void {
    this.parts.metrics.rateCuts.inc();
    this.parts.hub.connections.close(connection, OVER_RATE);
  }
}

const envelopeOf = ({ peerId, metadataJson }: Connection, dataJson: string): Envelope => ({
  from: peerId,
  metadataJson,
  dataJson,
});
