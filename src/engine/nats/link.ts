/**
 * The connection to NATS. It reconnects for ever, notices a dead link within seconds, and says when it is down: what is
 * published then would be thrown away without a word.
 */
import { connect, errors, type NatsConnection, type Subscription } from "@nats-io/transport-node";

/**
 * A link that stalls is given up and another taken before the others take this node for gone, which is when what it has acked
 * meanwhile would be lost: three pings, and one connect in vain, since the client tries the server that it was on once more.
 */
const PING_EVERY_MS = 400;
const PINGS_OUT_MAX = 2;
const RECONNECT_MS = { least: 100, jitter: 400 } as const;
const CONNECT_MS = 1000;
const NO_RESPONDERS = 503;

export interface LinkOptions {
  /** nats://user:password@a:4222,b:4222 or tls://… */
  readonly url: string;
  /** Shown by the server's own tools. */
  readonly name: string;
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
}

export class Link {
  private isConnected = true;
  private events: LinkEvents = { down: () => undefined, up: () => undefined };

  private constructor(private readonly connection: NatsConnection) {
    void this.follow();
  }

  /** Throws when no server can be reached at first: a wrong address should be seen at the start. */
  static async open({ url, name }: LinkOptions): Promise<Link> {
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
    return new Link(connection);
  }

  get isUp(): boolean {
    return this.isConnected;
  }

  /** The largest payload the server takes, in bytes. */
  get maxBytes(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  on(events: LinkEvents): void {
    this.events = events;
  }

  publish(subject: string, text: string, answerTo?: string): void {
    unlessEnding(() =>
      this.connection.publish(subject, text, answerTo === undefined ? undefined : { reply: answerTo }),
    );
  }

  /** Callbacks, never iterators: what arrives on several topics keeps its order. */
  subscribe(subject: string, heard: (message: Heard) => void): Topic {
    if (this.connection.isClosed() || this.connection.isDraining()) return { end: () => undefined };
    const subscription: Subscription = this.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error) return;
        heard({
          subject: message.subject,
          text: message.string(),
          isNobody: message.headers?.code === NO_RESPONDERS,
          respond: (text) => unlessEnding(() => void message.respond(text)),
        });
      },
    });
    return { end: () => unlessEnding(() => subscription.unsubscribe()) };
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
        this.events.down();
      } else if (status.type === "reconnect" && !this.isConnected) {
        this.isConnected = true;
        this.events.up();
      }
    }
  }
}

/** Something may still be given while the connection ends: it reaches nobody any more, and that is no fault. */
function unlessEnding(give: () => void): void {
  try {
    give();
  } catch (error) {
    if (!(error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError))
      throw error;
  }
}

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
