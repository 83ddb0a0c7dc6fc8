/**
 * Texts over a transport. Texts above the transport's payload limit are sent in fragments. Publishing never throws: a text that
 * cannot be sent is lost like any payload may be, and the receiving node repairs it.
 */
import { randomBytes } from "node:crypto";
import type { Receiver, Transport, TransportEvents, TransportSubscription } from "../../transport/transport.ts";
import { COMPACT_FORMAT, type Format, JSON_FORMAT } from "./format.ts";
import { Fragments, fragmentsOf } from "./fragments.ts";
import { TEXT_MAX_BYTES } from "./payload.ts";

const SENDER_BYTES = 12;
/** Bytes of UTF-8 that one character of a JavaScript string needs at most. */
const BYTES_PER_CHAR_MAX = 3;

export interface Received {
  readonly subject: string;
  readonly text: string;
  /** Has no effect when the text is not a request. */
  respond(text: string): void;
}

export type Receive = (received: Received) => void;

export class Wire {
  private readonly fragments = new Fragments();
  private readonly encoder = new TextEncoder();
  /** Identifies this object in its fragments. */
  private readonly sender = randomBytes(SENDER_BYTES).toString("base64url");
  private lastNumber = 0;
  private failed: TransportEvents["failed"] = () => undefined;

  readonly format: Format;

  constructor(private readonly transport: Transport) {
    this.format = transport.isPrivate ? COMPACT_FORMAT : JSON_FORMAT;
  }

  get isUp(): boolean {
    return this.transport.isUp;
  }

  get reportsLosses(): boolean {
    return this.transport.reportsLosses ?? false;
  }

  get isDirect(): boolean {
    return this.transport.isDirect ?? false;
  }

  get reports(): boolean {
    return this.transport.reports ?? false;
  }

  get isPrivate(): boolean {
    return this.transport.isPrivate ?? false;
  }

  on(events: TransportEvents): void {
    this.failed = (error, context) => events.failed(error, context);
    this.transport.on(events);
  }

  /** Only the last fragment carries `replyTo`: the text is complete with it. */
  publish(subject: string, text: string, replyTo?: string): void {
    const { transport } = this;
    // While the transport is down, the payload limit of the next server is not known.
    if (!transport.isUp) return;
    // Almost all texts are short enough to know without encoding them that they fit.
    const maxBytes = transport.maxPayloadBytes;
    if (text.length * BYTES_PER_CHAR_MAX <= maxBytes) return transport.publish(subject, text, replyTo);
    const bytes = this.encoder.encode(text);
    if (bytes.length > TEXT_MAX_BYTES)
      return this.failed(new Error(`a text of ${bytes.length} bytes is too long for other nodes`), { subject });
    if (bytes.length <= maxBytes) return transport.publish(subject, bytes, replyTo);
    const fragments = fragmentsOf(bytes, this.sender, ++this.lastNumber, maxBytes);
    for (const [at, fragment] of fragments.entries())
      transport.publish(subject, fragment, at === fragments.length - 1 ? replyTo : undefined);
  }

  subscribe(subject: string, receive: Receive): TransportSubscription {
    return this.subscribeWith(subject, this.receiver(receive));
  }

  /** For texts that are not answered; the subscription is tracked. */
  subscribeTexts(subject: string, take: (text: string) => void): TransportSubscription {
    const receive: Receiver = (payload) => {
      const text = this.fragments.take(payload);
      if (text !== undefined) take(text);
    };
    return this.transport.subscribe(subject, receive, true);
  }

  /** With a receiver that many subscriptions share. */
  subscribeWith(subject: string, receiver: Receiver): TransportSubscription {
    return this.transport.subscribe(subject, receiver);
  }

  /** Whether another node is known to be subscribed; false where only servers know. */
  hasSubscriber(subject: string): boolean {
    return this.transport.hasSubscriber?.(subject) === true;
  }

  receiver(receive: Receive): Receiver {
    return (payload, from, replyTo) => {
      const text = this.fragments.take(payload);
      if (text === undefined) return;
      receive({
        subject: from,
        text,
        respond: (response) => {
          if (replyTo) this.publish(replyTo, response);
        },
      });
    };
  }

  /** Called periodically: forgets texts whose remaining fragments do not arrive. */
  sweep(): void {
    this.fragments.sweep();
  }

  flush(): Promise<void> {
    return this.transport.flush();
  }

  drain(): Promise<void> {
    return this.transport.drain();
  }

  close(): Promise<void> {
    return this.transport.close();
  }
}
