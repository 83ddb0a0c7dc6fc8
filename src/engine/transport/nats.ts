/**
 * The connection to NATS. It reconnects for ever, notices a dead link within seconds, and says when it is down: what is
 * published then would be thrown away without a word. It is the one place that knows the payload limit of the server;
 * longer texts are sent in fragments. Publishing never throws, and an error thrown by a subscriber is caught here and reported.
 */
import { randomBytes } from "node:crypto";
import { connect, errors, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import type { FaultContext } from "../cluster/failure-boundary.ts";
import { Fragments, fragmentsOf } from "../cluster/fragments.ts";
import { PAYLOAD_ADVISED_BYTES, PAYLOAD_MIN_BYTES, TEXT_MAX_BYTES } from "../cluster/payload.ts";

/**
 * A link that stalls is given up and another taken before the others take this node for gone, which is when what it has acked
 * meanwhile would be lost: three pings, and one connect in vain, since the client tries the server that it was on once more.
 */
const PING_EVERY_MS = 400;
const PINGS_OUT_MAX = 2;
const RECONNECT_MS = { least: 100, jitter: 400 } as const;
const CONNECT_MS = 1000;
const NO_RESPONDERS = 503;
const SENDER_BYTES = 12;
/** A server that gets a longer line of subject and reply subject drops the connection: 4 KiB by default. Ours are a fraction of it. */
const SUBJECT_MAX_CHARS = 1536;
/** Bytes of UTF-8 that one character of a JavaScript string needs at most. */
const BYTES_PER_CHAR_MAX = 3;

export interface LinkOptions {
  /** nats://user:password@a:4222,b:4222 or tls://… */
  readonly url: string;
  /** Shown by the server's own tools. */
  readonly name: string;
  /** A sentence for the log. */
  readonly warn?: (text: string) => void;
}

export interface Heard {
  readonly subject: string;
  readonly text: string;
  /** Nobody was there to hear what was sent with this subject as its answer's. */
  readonly isNobody: boolean;
  respond(text: string): void;
}

export interface Topic {
  end(): void;
}

export interface LinkEvents {
  down(): void;
  up(): void;
  /** A subscriber has thrown: the message that arrived is lost. */
  misheard(error: unknown, context: FaultContext): void;
  /** Another error that was caught. */
  failed(error: unknown, context: FaultContext): void;
}

export class Link {
  private isConnected = true;
  private events: LinkEvents = { down: nothing, up: nothing, misheard: nothing, failed: nothing };
  private readonly fragments = new Fragments();
  private readonly encoder = new TextEncoder();
  /** Identifies this connection in its fragments. */
  private readonly sender = randomBytes(SENDER_BYTES).toString("base64url");
  private lastNumber = 0;
  private lastLimit = 0;

  private constructor(
    private readonly connection: NatsConnection,
    private readonly warn: (text: string) => void,
  ) {
    this.noteLimit();
    void this.follow();
  }

  /** Throws when no server can be reached at first: a wrong address should be seen at the start. */
  static async open({ url, name, warn = () => undefined }: LinkOptions): Promise<Link> {
    const { servers, tls, user, pass, token } = addressOf(url);
    const connection = await connect({
      servers,
      name,
      noEcho: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS.least,
      reconnectJitter: RECONNECT_MS.jitter,
      reconnectJitterTLS: RECONNECT_MS.jitter,
      pingInterval: PING_EVERY_MS,
      maxPingOut: PINGS_OUT_MAX,
      timeout: CONNECT_MS,
      ...(tls && { tls: {} }),
      ...(user !== undefined && { user, pass: pass ?? "" }),
      ...(token !== undefined && { token }),
    });
    const limit = connection.info?.max_payload ?? PAYLOAD_ADVISED_BYTES;
    if (limit >= PAYLOAD_MIN_BYTES) return new Link(connection, warn);
    await connection.close();
    throw new Error(`its max_payload is ${limit} bytes, at least ${PAYLOAD_MIN_BYTES} are needed`);
  }

  get isUp(): boolean {
    return this.isConnected;
  }

  on(events: LinkEvents): void {
    this.events = events;
  }

  /** Never throws: a text that cannot be sent is lost, as any may be on its way. Only the last fragment carries `answerTo`. */
  publish(subject: string, text: string, answerTo?: string): void {
    // While the link is down, the payload limit of the next server is not known.
    if (!this.isConnected) return;
    if (subject.length > SUBJECT_MAX_CHARS || (answerTo?.length ?? 0) > SUBJECT_MAX_CHARS)
      return this.events.failed(new Error(`a subject of ${subject.length} characters is too long`), { in: "publish" });
    // Almost all texts are short enough to know without encoding them that they fit.
    const maxBytes = this.payloadMaxBytes;
    if (text.length * BYTES_PER_CHAR_MAX <= maxBytes) return this.write(subject, text, answerTo);
    const bytes = this.encoder.encode(text);
    if (bytes.length > TEXT_MAX_BYTES)
      return this.events.failed(new Error(`a text of ${bytes.length} bytes is too long for other nodes`), { subject });
    if (bytes.length <= maxBytes) return this.write(subject, bytes, answerTo);
    const fragments = fragmentsOf(bytes, this.sender, ++this.lastNumber, maxBytes);
    for (const [at, fragment] of fragments.entries())
      this.write(subject, fragment, at === fragments.length - 1 ? answerTo : undefined);
  }

  private write(subject: string, payload: string | Uint8Array, answerTo: string | undefined): void {
    try {
      this.connection.publish(subject, payload, answerTo === undefined ? undefined : { reply: answerTo });
    } catch (error) {
      if (!isEnding(error)) this.events.failed(error, { in: "publish", subject });
    }
  }

  /** Callbacks, never iterators: what arrives on several topics keeps its order. */
  subscribe(subject: string, heard: (message: Heard) => void): Topic {
    if (this.connection.isClosed() || this.connection.isDraining()) return { end: () => undefined };
    const subscription: Subscription = this.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error) return;
        try {
          const text = this.fragments.take(message.data);
          if (text === undefined) return;
          heard({
            subject: message.subject,
            text,
            isNobody: message.headers?.code === NO_RESPONDERS,
            respond: (answer) => {
              if (message.reply) this.publish(message.reply, answer);
            },
          });
        } catch (cause) {
          this.events.misheard(cause, { in: "callback", subject });
        }
      },
    });
    return { end: () => this.end(subscription) };
  }

  /** Now and then: forgets texts whose fragments have stopped coming. */
  sweep(): void {
    this.fragments.sweep();
  }

  private end(subscription: Subscription): void {
    try {
      subscription.unsubscribe();
    } catch (error) {
      if (!isEnding(error)) this.events.failed(error, { in: "unsubscribe" });
    }
  }

  /** Resolves when the server has seen everything that was published, and we everything it had for us before that. */
  async flush(): Promise<void> {
    if (!this.connection.isClosed()) await this.connection.flush();
  }

  /** Takes nothing new, sees to what has arrived, sends what it has, and closes. */
  async drain(): Promise<void> {
    await this.connection.drain();
  }

  async close(): Promise<void> {
    this.isConnected = false;
    await this.connection.close();
  }

  private async follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === "disconnect" && this.isConnected) {
        this.isConnected = false;
        this.tell("down");
      } else if (status.type === "reconnect" && !this.isConnected) {
        this.noteLimit();
        this.isConnected = true;
        this.tell("up");
      }
    }
  }

  private tell(event: "down" | "up"): void {
    try {
      this.events[event]();
    } catch (error) {
      this.events.failed(error, { in: event });
    }
  }

  /** Read each time: it may change with the server, and while a server runs. */
  private get payloadMaxBytes(): number {
    return Math.max(this.connection.info?.max_payload ?? this.lastLimit, PAYLOAD_MIN_BYTES);
  }

  private noteLimit(): void {
    const limit = this.payloadMaxBytes;
    if (limit !== this.lastLimit && limit < PAYLOAD_ADVISED_BYTES)
      this.warn(
        `max_payload of the NATS server is ${limit} bytes: larger messages between nodes are sent in many parts; ` +
          `set it to ${PAYLOAD_ADVISED_BYTES} or more`,
      );
    this.lastLimit = limit;
  }
}

const nothing = (): void => undefined;

/** Something may still be given while the connection ends: it reaches nobody any more, and that is no fault. */
const isEnding = (error: unknown): boolean =>
  error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError;

interface Address {
  readonly servers: string[];
  readonly tls: boolean;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/** `nats://user:pass@a:4222,b,c`: the credential stands once, before the first server. */
export function addressOf(url: string): Address {
  const [, scheme = "nats", rest = ""] = /^(\w+):\/\/(.*)$/.exec(url) ?? [];
  const at = rest.lastIndexOf("@");
  const servers = rest
    .slice(at + 1)
    .split(",")
    .map((one) =>
      one
        .trim()
        .replace(/^\w+:\/\//, "")
        .replace(/\/$/, ""),
    )
    .filter((one) => one !== "");
  const base = { servers, tls: scheme === "tls" };
  if (at < 0) return base;
  const [user = "", ...pass] = rest.slice(0, at).split(":").map(decodeURIComponent);
  return pass.length > 0 ? { ...base, user, pass: pass.join(":") } : { ...base, token: user };
}
