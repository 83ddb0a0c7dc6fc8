/** Core NATS as a transport. It reconnects without a limit and notices a dead connection within seconds. */
import { errors, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { type NatsProtocol, protocolOf } from "./nats/protocol.ts";
import { connectNats, type NatsReading } from "./nats/socket.ts";
import { parseNatsUrl } from "./nats-address.ts";
import { NatsSubscription, type SubscriptionOwner } from "./nats-subscription.ts";
import {
  NO_EVENTS,
  PAYLOAD_MIN_BYTES,
  type Receiver,
  SUBJECT_MAX_CHARS,
  type Transport,
  type TransportEvents,
  type TransportSubscription,
} from "./transport.ts";

/**
 * A stalled connection must be replaced before the other nodes consider this node gone: messages acknowledged in between would be
 * lost. It takes three unanswered pings and one failed attempt to connect, because the client first retries the same server.
 */
const PING_EVERY_MS = 400;
const PINGS_OUT_MAX = 2;
const RECONNECT_MS = { least: 100, jitter: 400 } as const;
const CONNECT_TIMEOUT_MS = 1000;
/** Status code of the message that the server sends to the reply subject of a request without a subscriber. */
const NO_RESPONDERS = 503;
/** What ends a token of a command. */
const BLANK = /\s/;
/** Below this payload limit everything still works, but messages need many fragments: a warning says so. */
const PAYLOAD_ADVISED_BYTES = 64 * 1024;

type Subscription = NatsSubscription<Msg>;

export interface NatsOptions {
  /** nats://user:password@a:4222,b:4222 or tls://… */
  readonly url: string;
  /** Shown by the server's own tools. */
  readonly name: string;
  /** Gets a sentence for the log. */
  readonly warn?: (text: string) => void;
}

/** Below PAYLOAD_MIN_BYTES. */
class UnusableServer extends Error {}

const isLoginRefused = (error: unknown): boolean =>
  error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError;

/** Why `connect` failed, for people: a server that is down and one that refuses are repaired in different places. */
export function connectProblem(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (isLoginRefused(error)) return `the server refused the login: ${reason}`;
  if (error instanceof UnusableServer) return `the server cannot be used: ${reason}`;
  return `no server is reachable there (${reason}): start it, or correct the address`;
}

/** Whether waiting may help: there is no server, or it does not answer. */
export const isUnreachable = (error: unknown): boolean => !isLoginRefused(error) && !(error instanceof UnusableServer);

export class NatsTransport implements Transport {
  private isConnected = true;
  private events: TransportEvents = NO_EVENTS;
  private lastPayloadLimit = 0;
  private flushed: Promise<void> | undefined;
  private readonly protocol: NatsProtocol<Subscription>;
  private readonly subscriptionOwner: SubscriptionOwner<Msg>;

  private constructor(
    private readonly connection: NatsConnection,
    reading: NatsReading,
    private readonly warn: (text: string) => void,
  ) {
    const protocol = protocolOf<Subscription>(connection);
    this.protocol = protocol;
    this.subscriptionOwner = {
      subscriptions: protocol.subscriptions,
      send: (command) => {
        if (protocol.connected) protocol.transport.outbox.command(command);
      },
      // The client drains all subscriptions in one turn: one ping behind the ends of all of them is enough.
      flushed: () => {
        this.flushed ??= Promise.resolve()
          .then(() => protocol.flush())
          .finally(() => {
            this.flushed = undefined;
          });
        return this.flushed;
      },
      received: (message, receive) => this.received(message, receive),
      failed: (error, context) => {
        if (!isClosing(error)) this.events.failed(error, context);
      },
    };
    reading.output = {
      get parserState() {
        return protocol.parser.state;
      },
      message: (sid, bytes, subjectFrom, subjectTo, replyTo, payload) => {
        const subscription = protocol.subscriptions.get(sid);
        if (subscription)
          this.take(subscription, subscription.subjectIn(bytes, subjectFrom, subjectTo), payload, replyTo);
      },
      parse: (bytes) => protocol.parser.parse(bytes),
      failed: (error) => this.events.failed(error, { in: "read" }),
    };
    this.checkPayloadLimit();
    void this.followStatus();
  }

  /** Throws when no server can be reached: a wrong address should be noticed at the start. */
  static async connect({ url, name, warn = () => undefined }: NatsOptions): Promise<NatsTransport> {
    const { servers, tls, user, pass, token } = parseNatsUrl(url);
    const reading: NatsReading = {};
    const options = {
      servers,
      name,
      noEcho: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS.least,
      reconnectJitter: RECONNECT_MS.jitter,
      reconnectJitterTLS: RECONNECT_MS.jitter,
      pingInterval: PING_EVERY_MS,
      maxPingOut: PINGS_OUT_MAX,
      timeout: CONNECT_TIMEOUT_MS,
      ...(tls && { tls: {} }),
      ...(user !== undefined && { user, pass: pass ?? "" }),
      ...(token !== undefined && { token }),
    };
    const connection = await connectNats(options, reading);
    const limit = connection.info?.max_payload ?? PAYLOAD_ADVISED_BYTES;
    if (limit >= PAYLOAD_MIN_BYTES) return new NatsTransport(connection, reading, warn);
    await connection.close();
    throw new UnusableServer(`its max_payload is ${limit} bytes, but Parley needs at least ${PAYLOAD_MIN_BYTES}`);
  }

  get isUp(): boolean {
    return this.isConnected;
  }

  /** Read from the client each time: a server can change it while it runs. */
  get maxPayloadBytes(): number {
    return Math.max(this.connection.info?.max_payload ?? this.lastPayloadLimit, PAYLOAD_MIN_BYTES);
  }

  on(events: TransportEvents): void {
    this.events = events;
  }

  publish(subject: string, payload: string | Uint8Array, replyTo?: string): void {
    const { protocol } = this;
    // It would be sent after the outage.
    if (!this.isConnected || !protocol.connected) return;
    // A server drops a connection whose subject and reply subject are longer than its limit for one line, 4 KiB by default.
    if (subject.length > SUBJECT_MAX_CHARS || (replyTo !== undefined && replyTo.length > SUBJECT_MAX_CHARS))
      return this.events.failed(new Error(`a subject of ${subject.length} characters is too long`), { in: "publish" });
    // It would end the command in its middle.
    if (BLANK.test(subject) || (replyTo !== undefined && BLANK.test(replyTo)))
      return this.events.failed(new Error("a subject contains a blank"), { in: "publish" });
    const bytes = typeof payload === "string" ? Buffer.byteLength(payload) : payload.length;
    // A server closes the connection over it.
    if (bytes > this.maxPayloadBytes)
      return this.events.failed(new Error(`a payload of ${bytes} bytes is too long`), { in: "publish", subject });
    protocol.transport.outbox.publish(subject, payload, bytes, replyTo);
  }

  /** Callbacks instead of iterators: iterators would lose the order between subscriptions. */
  subscribe(subject: string, receive: Receiver): TransportSubscription {
    if (this.connection.isClosed() || this.connection.isDraining()) return { end: () => undefined };
    return new NatsSubscription(this.subscriptionOwner, subject, receive);
  }

  async flush(): Promise<void> {
    if (!this.connection.isClosed()) await this.connection.flush();
  }

  async drain(): Promise<void> {
    await this.connection.drain();
  }

  async close(): Promise<void> {
    this.isConnected = false;
    await this.connection.close();
  }

  private take({ receive }: Subscription, subject: string, payload: Uint8Array, replyTo: string | undefined): void {
    try {
      receive(payload, subject, replyTo);
    } catch (cause) {
      this.events.receiverFailed(cause, { in: "callback", subject });
    }
  }

  /** What the client has read: a message with headers or a very long one. */
  private received(message: Msg, receive: Receiver): void {
    try {
      if (message.headers?.code === NO_RESPONDERS) this.events.noResponders(message.subject);
      else receive(message.data, message.subject, message.reply);
    } catch (cause) {
      this.events.receiverFailed(cause, { in: "callback", subject: message.subject });
    }
  }

  private async followStatus(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === "disconnect" && this.isConnected) {
        this.isConnected = false;
        this.emit("down");
      } else if (type === "reconnect" && !this.isConnected) {
        this.checkPayloadLimit();
        this.isConnected = true;
        this.emit("up");
      }
    }
  }

  private emit(event: "down" | "up"): void {
    try {
      this.events[event]();
    } catch (error) {
      this.events.failed(error, { in: event });
    }
  }

  private checkPayloadLimit(): void {
    const limit = this.maxPayloadBytes;
    if (limit !== this.lastPayloadLimit && limit < PAYLOAD_ADVISED_BYTES)
      this.warn(
        `max_payload of the NATS server is ${limit} bytes: larger messages between nodes are sent in many parts; ` +
          `set it to ${PAYLOAD_ADVISED_BYTES} or more`,
      );
    this.lastPayloadLimit = limit;
  }
}

/** Publishing or unsubscribing while the connection closes is not a fault: it no longer has an effect. */
const isClosing = (error: unknown): boolean =>
  error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError;
