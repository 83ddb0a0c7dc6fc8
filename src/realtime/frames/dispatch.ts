/**
 * What a client's frame does: its rate is charged here, then its type decides where it is checked and carried out. A failed check
 * leaves the connection open, except for the rates that are charged here and an expired token. Nothing here waits.
 */
import type { Clock } from "../../base/clock.ts";
import { OVER_RATE } from "../../protocol/close.ts";
import * as encode from "../../protocol/encode.ts";
import { decodeFrame, PLAIN_PING } from "../../protocol/frames.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import type { Connections } from "../connections/connections.ts";
import { giveFrameBack, type Rates, takeControl, takeFrame, takePing } from "../connections/rates.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { RateWindow } from "../counting/rate-window.ts";
import type { Presence } from "../presence/presence.ts";
import type { Connection } from "../state/connection.ts";
import type { ChannelFrames } from "./channel-frames.ts";
import type { MessageFrames } from "./message-frames.ts";
import type { Renewals } from "./renewals.ts";
import type { Replies } from "./replies.ts";

interface DispatchParts {
  readonly replies: Replies;
  readonly messages: MessageFrames;
  readonly channels: ChannelFrames;
  readonly renewals: Renewals;
  readonly connections: Pick<Connections, "expire" | "close">;
  readonly presence: Pick<Presence, "onPong">;
  readonly clock: Clock;
  readonly metrics: RealtimeMetrics;
  readonly rates: Rates;
  /** For the live lists of operators; limits nothing. */
  readonly shownRates: Pick<RateWindow, "number">;
}

/** How long a reading of the wall clock is good for: thousands of frames may come within a few milliseconds. */
const WALL_CLOCK_FOR_MS = 1;

export class Dispatch {
  /** The wall clock, and the monotonic time at which it was read. */
  private wallMs = 0;
  private readMs = Number.NEGATIVE_INFINITY;
  private readonly replies: Replies;
  private readonly messages: MessageFrames;
  private readonly channels: ChannelFrames;
  private readonly renewals: Renewals;

  constructor(private readonly parts: DispatchParts) {
    this.replies = parts.replies;
    this.messages = parts.messages;
    this.channels = parts.channels;
    this.renewals = parts.renewals;
  }

  /** A text frame. */
  text(connection: Connection, text: string): void {
    if (!this.arrived(connection, utf8Bytes(text))) return;
    connection.countFrame(this.parts.shownRates.number);
    if (text === PLAIN_PING) return this.ping(connection, undefined);
    const { rates } = this.parts;
    const paid = takeFrame(connection, rates);
    const frame = decodeFrame(text);
    if (frame?.type === "ping") {
      if (paid) giveFrameBack(connection, rates);
      return this.ping(connection, frame.requestId);
    }
    if (!paid) return this.cut(connection);
    if (!frame) {
      this.parts.metrics.framesIn.other.inc();
      return this.replies.refuse(connection, "malformed_message", undefined);
    }
    const { framesIn } = this.parts.metrics;
    switch (frame.type) {
      case "publish":
        framesIn.publish.inc();
        return this.messages.publish(connection, frame);
      case "send":
        framesIn.send.inc();
        return this.messages.send(connection, frame);
      case "subscribe":
        framesIn.subscribe.inc();
        return this.channels.subscribe(connection, frame);
      case "unsubscribe":
        framesIn.unsubscribe.inc();
        return this.channels.unsubscribe(connection, frame);
      case "history":
        framesIn.history.inc();
        return this.channels.history(connection, frame);
      case "state":
        framesIn.state.inc();
        return this.channels.state(connection, frame, text);
      case "renew":
        framesIn.renew.inc();
        return this.renewals.request(connection, frame);
      default:
        framesIn.other.inc();
        return this.replies.refuse(connection, "unknown_type", frame);
    }
  }

  /** A binary frame counts against the rate like any other, and is always malformed. */
  binary(connection: Connection, bytes: number): void {
    if (!this.arrived(connection, bytes)) return;
    connection.countFrame(this.parts.shownRates.number);
    if (!takeFrame(connection, this.parts.rates)) return this.cut(connection);
    this.parts.metrics.framesIn.other.inc();
    this.replies.refuse(connection, "malformed_message", undefined);
  }

  /** A client's WebSocket ping. The runtime has already answered it. */
  controlPing(connection: Connection): void {
    if (this.arrived(connection, 0) && !takeControl(connection, this.parts.rates)) this.cut(connection);
  }

  /** A client's WebSocket pong. Pongs that answer the pings after acks do not count: there are as many as there were subscribes. */
  controlPong(connection: Connection, payload: Buffer): void {
    if (!this.arrived(connection, 0)) return;
    const seq = payload.length === 0 ? undefined : connection.answeredPing(payload.toString("latin1"));
    if (seq !== undefined) this.parts.presence.onPong(connection, seq);
    else if (!takeControl(connection, this.parts.rates)) this.cut(connection);
  }

  /** Returns false if the connection has ended, or ends now. */
  private arrived(connection: Connection, size: number): boolean {
    if (!connection.open) return false;
    const { clock, metrics, connections } = this.parts;
    metrics.bytesIn.inc(size);
    const now = clock.monotonicMs();
    if (now - this.readMs >= WALL_CLOCK_FOR_MS) {
      this.readMs = now;
      this.wallMs = clock.wallMs();
    }
    // The timer may be late when the machine was suspended: an expired token must not be used in between.
    if (connection.deadlineMs <= this.wallMs) {
      connections.expire(connection);
      return false;
    }
    connection.lastSeenMs = now;
    return true;
  }

  private ping(connection: Connection, requestId: string | undefined): void {
    if (!takePing(connection)) return this.cut(connection);
    this.parts.metrics.framesIn.ping.inc();
    this.parts.metrics.pongs.inc();
    connection.socket.send(encode.pong(requestId));
  }

  private cut(connection: Connection): void {
    this.parts.metrics.rateCuts.inc();
    this.parts.connections.close(connection, OVER_RATE);
  }
}
