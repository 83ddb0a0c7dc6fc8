/** For tests: a transport between nodes of one process. What is published is delivered in a later turn of the event loop. */
import {
  PAYLOAD_MIN_BYTES,
  type Receiver,
  SUBJECT_MAX_CHARS,
  type Transport,
  type TransportEvents,
  type TransportSubscription,
} from "../transport/transport.ts";

interface Published {
  readonly from: MemoryTransport;
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly replyTo: string | undefined;
}

/** Connects its transports to each other. */
export class MemoryNetwork {
  private readonly transports = new Set<MemoryTransport>();
  private readonly queue: Published[] = [];
  private isScheduled = false;

  constructor(readonly maxPayloadBytes = PAYLOAD_MIN_BYTES) {}

  connect(): MemoryTransport {
    const transport = new MemoryTransport(this);
    this.transports.add(transport);
    return transport;
  }

  /** Simulates the beginning or the end of an outage. */
  setUp(isUp: boolean): void {
    for (const transport of this.transports) transport.setUp(isUp);
  }

  remove(transport: MemoryTransport): void {
    this.transports.delete(transport);
  }

  get isIdle(): boolean {
    return this.queue.length === 0;
  }

  enqueue(published: Published): void {
    this.queue.push(published);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.deliverAll();
    });
  }

  /** Delivers everything, including what is published meanwhile. */
  deliverAll(): void {
    for (let next = this.queue.shift(); next; next = this.queue.shift()) {
      const { from, subject, payload, replyTo } = next;
      let receivers = 0;
      for (const transport of [...this.transports])
        if (transport !== from) receivers += transport.receive(subject, payload, replyTo);
      if (receivers === 0 && replyTo !== undefined) from.noResponders(replyTo);
    }
  }
}

export class MemoryTransport implements Transport {
  isUp = true;
  private isClosed = false;
  private events: TransportEvents | undefined;
  private readonly subscriptions = new Set<{ readonly subject: string; readonly receive: Receiver }>();
  private readonly encoder = new TextEncoder();
  /** What has arrived while it is suspended. */
  private unread: (() => void)[] | undefined;

  constructor(private readonly network: MemoryNetwork) {}

  get maxPayloadBytes(): number {
    return this.network.maxPayloadBytes;
  }

  on(events: TransportEvents): void {
    this.events = events;
  }

  /** Simulates the beginning or the end of an outage of this transport only. */
  setUp(isUp: boolean): void {
    this.isUp = isUp;
    if (isUp) this.events?.up();
    else this.events?.down();
  }

  publish(subject: string, payload: string | Uint8Array, replyTo?: string): void {
    if (!this.isUp || this.isClosed) return;
    const bytes = typeof payload === "string" ? this.encoder.encode(payload) : payload.slice();
    if (bytes.length > this.maxPayloadBytes) throw new Error(`a payload of ${bytes.length} bytes is above the limit`);
    if (subject.length > SUBJECT_MAX_CHARS || (replyTo?.length ?? 0) > SUBJECT_MAX_CHARS)
      return this.events?.failed(new Error("a subject is too long"), { in: "publish" });
    this.network.enqueue({ from: this, subject, payload: bytes, replyTo });
  }

  subscribe(subject: string, receive: Receiver): TransportSubscription {
    const subscription = { subject, receive };
    if (!this.isClosed) this.subscriptions.add(subscription);
    return { end: () => void this.subscriptions.delete(subscription) };
  }

  /** Simulates a process that is suspended: what arrives waits. Its timers go on, other than those of a real one. */
  suspend(): void {
    this.unread ??= [];
  }

  resume(): void {
    const unread = this.unread ?? [];
    this.unread = undefined;
    for (const read of unread) read();
  }

  /** Returns the number of matching subscriptions. */
  receive(subject: string, payload: Uint8Array, replyTo: string | undefined): number {
    if (!this.isUp) return 0;
    const matching = [...this.subscriptions].filter((one) => matches(one.subject, subject));
    if (this.unread) return this.unread.push(() => this.receive(subject, payload, replyTo)) && matching.length;
    for (const { receive } of matching) this.run(subject, () => receive(payload, subject, replyTo));
    return matching.length;
  }

  noResponders(replyTo: string): void {
    const isSubscribed = [...this.subscriptions].some((one) => matches(one.subject, replyTo));
    if (this.isUp && isSubscribed) this.run(replyTo, () => this.events?.noResponders(replyTo));
  }

  async flush(): Promise<void> {
    this.network.deliverAll();
  }

  async drain(): Promise<void> {
    this.network.deliverAll();
    await this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.subscriptions.clear();
    this.network.remove(this);
  }

  private run(subject: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.events?.receiverFailed(error, { in: "callback", subject });
    }
  }
}

const matches = (pattern: string, subject: string): boolean =>
  pattern === subject ||
  (pattern.endsWith(".*") && subject.slice(0, subject.lastIndexOf(".") + 1) === pattern.slice(0, -1));
