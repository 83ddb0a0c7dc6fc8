/**
 * A transport between the worker processes of one machine, over Unix sockets and without a server between them. Each worker knows
 * what the others are subscribed to, so a payload is only written to those that want it, and a request that no worker can answer is
 * known without asking. What is written in one turn of the event loop goes to the kernel at once.
 *
 * unix/: mesh.ts connects the workers, slots.ts decides what a lost connection means, worker-connection.ts is one socket with
 * frames.ts and outbox.ts, interests.ts holds the subscriptions of the others.
 */
import {
  NO_EVENTS,
  type Receiver,
  SUBJECT_MAX_CHARS,
  type Transport,
  type TransportEvents,
  type TransportSubscription,
} from "./transport.ts";
import { PAYLOAD_MAX_BYTES } from "./unix/frames.ts";
import { connectionOf, Interests, subscriptionOf, type Targets } from "./unix/interests.ts";
import { Mesh, type MeshEvents, type MeshOptions } from "./unix/mesh.ts";
import type { WorkerConnection } from "./unix/worker-connection.ts";

/** Bound: bytes that are queued for one worker that does not read. */
const QUEUE_MAX_BYTES = 64 * 1024 * 1024;
/** Longer strings are encoded first: room for the longest encoding of a string would leave chunks half empty. */
const DIRECT_MAX_CHARS = 4096;
const NUMBERS = 2 ** 32;

export type UnixOptions = Pick<MeshOptions, "folder" | "slot" | "slots"> & Partial<MeshOptions>;

class Subscription implements TransportSubscription {
  constructor(
    private readonly transport: Pick<UnixTransport, "unsubscribe" | "hasReadTurn">,
    private readonly number: number,
    readonly subject: string,
    readonly receive: Receiver,
    private readonly turn: number,
  ) {}

  isKnownTo(subject: string): boolean {
    return this.transport.hasReadTurn(this.turn, subject);
  }

  hasReportFrom(subject: string): boolean {
    return this.transport.hasReadTurn(this.turn, subject, true);
  }

  end(): void {
    this.transport.unsubscribe(this.number, this.subject);
  }
}

export class UnixTransport implements Transport {
  readonly maxPayloadBytes = PAYLOAD_MAX_BYTES;
  readonly reportsLosses = true;
  readonly isDirect = true;
  readonly isPrivate = true;
  readonly reports = true;
  private events: TransportEvents = NO_EVENTS;
  private readonly mesh: Mesh;
  private readonly interests = new Interests();
  /**
   * By the number that the other workers know it by. Numbers are not reused: a payload may still be in transit to an old one.
   * Bound: those of the node protocol: channels and peers that are here, and a few per node.
   */
  private readonly subscriptions = new Map<number, Subscription>();
  private lastNumber = 0;
  private readonly encoder = new TextEncoder();
  /** Connections that have something to write at the end of the turn. Bound: one per other worker. */
  private changed: WorkerConnection[] = [];
  /** Reply subjects of requests without a subscriber. Bound: requests of one turn. */
  private unanswered: string[] = [];
  private isTurnOpen = false;
  /** Counts the turns in which something tracked was subscribed to. */
  private turn = 0;
  private hasTracked = false;
  private isDraining = false;
  private isClosed = false;

  private constructor({
    warn = () => undefined,
    isServing = () => false,
    queueMaxBytes = QUEUE_MAX_BYTES,
    ...options
  }: UnixOptions) {
    const events: MeshEvents = {
      opened: (connection) => {
        connection.firstTurn = ++this.turn;
        connection.announce(this.isDraining ? [] : this.subscriptions);
        this.hasTracked = true;
      },
      closed: ({ index }) => this.interests.removeConnection(index),
      subscribed: ({ index }, number, subject) => this.interests.add(index, number, subject),
      asked: (connection, number, subject) => this.asked(connection, number, subject),
      unsubscribed: ({ index }, number, subject) => this.interests.remove(index, number, subject),
      unsubscribedAll: ({ index }) => this.interests.removeConnection(index),
      received: (connection, number, payload, subject, replyTo) =>
        this.received(connection, number, payload, subject, replyTo),
      unheard: (replyTo) => this.noResponders(replyTo),
      confirmed: () => this.run("reported", () => this.events.reported?.()),
      changed: (connection) => this.connectionChanged(connection),
      down: () => this.emit("down"),
      up: () => this.emit("up"),
      failed: (error) => this.events.failed(error, { in: "bus" }),
    };
    this.mesh = new Mesh({ ...options, warn, isServing, queueMaxBytes }, events);
  }

  /** Throws when the folder cannot be used, when a process runs in this slot, or when another worker does not answer. */
  static async join(options: UnixOptions): Promise<UnixTransport> {
    const transport = new UnixTransport(options);
    await transport.mesh.join();
    return transport;
  }

  get isUp(): boolean {
    return this.mesh.slots.isUp && !this.isClosed;
  }

  on(events: TransportEvents): void {
    this.events = events;
  }

  publish(subject: string, payload: string | Uint8Array, replyTo?: string): void {
    if (!this.isUp) return;
    if (subject.length > SUBJECT_MAX_CHARS || (replyTo !== undefined && replyTo.length > SUBJECT_MAX_CHARS))
      return this.events.failed(new Error(`a subject of ${subject.length} characters is too long`), { in: "publish" });
    const direct = this.interests.ofSubject(subject);
    const matched = this.interests.ofWildcards(subject);
    if (direct === undefined && matched === undefined) {
      if (replyTo !== undefined) this.noResponders(replyTo);
      return;
    }
    const content = this.shortened(payload);
    if (content.length > PAYLOAD_MAX_BYTES)
      return this.events.failed(new Error(`a payload of ${content.length} bytes is too long`), { in: "publish" });
    if (direct !== undefined) this.send(direct, content, undefined, replyTo);
    if (matched !== undefined) this.send(matched, content, subject, replyTo);
  }

  subscribe(subject: string, receive: Receiver, isTracked = false): TransportSubscription {
    if (this.isClosed || this.isDraining) return { end: () => undefined };
    const number = this.nextNumber();
    const subscription = new Subscription(this, number, subject, receive, this.turn);
    if (isTracked) this.hasTracked = true;
    this.subscriptions.set(number, subscription);
    for (const connection of this.mesh.connections)
      if (isTracked) connection?.open(number, subject);
      else connection?.subscribe(number, subject);
    return subscription;
  }

  hasSubscriber(subject: string): boolean {
    return this.interests.ofSubject(subject) !== undefined;
  }

  /** Called by the subscription. */
  unsubscribe(number: number, subject: string): void {
    if (!this.subscriptions.delete(number) || this.isDraining) return;
    for (const connection of this.mesh.connections) connection?.unsubscribe(number, subject);
  }

  /** Called by the subscription. */
  hasReadTurn(turn: number, subject: string, hasReported = false): boolean {
    const targets = this.interests.ofSubject(subject);
    if (targets === undefined) return false;
    const hasRead = (target: number): boolean => {
      const connection = this.mesh.connections[connectionOf(target)];
      if (!connection || connection.readTurn < turn) return false;
      return !hasReported || connection.firstTurn <= turn;
    };
    return typeof targets === "number" ? hasRead(targets) : targets.every(hasRead);
  }

  async flush(): Promise<void> {
    if (this.isTurnOpen) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(this.mesh.connections.map((connection) => connection?.ping()));
  }

  async drain(): Promise<void> {
    if (this.isDraining || this.isClosed) return;
    this.isDraining = true;
    for (const connection of this.mesh.connections) connection?.unsubscribeAll();
    await this.flush();
    // Responses to what has arrived until now.
    await this.flush();
    await this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.mesh.close();
    this.subscriptions.clear();
  }

  private send(targets: Targets, payload: string | Uint8Array, subject: string | undefined, replyTo?: string): void {
    if (typeof targets === "number") return this.sendTo(targets, payload, subject, replyTo);
    for (const target of targets) this.sendTo(target, payload, subject, replyTo);
  }

  private sendTo(target: number, payload: string | Uint8Array, subject: string | undefined, replyTo?: string): void {
    this.mesh.connections[connectionOf(target)]?.message(subscriptionOf(target), payload, subject, replyTo);
  }

  private nextNumber(): number {
    do this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    while (this.subscriptions.has(this.lastNumber));
    return this.lastNumber;
  }

  private received(
    connection: WorkerConnection,
    number: number,
    payload: Uint8Array,
    subject: string | undefined,
    replyTo: string | undefined,
  ): void {
    if (this.isClosed) return;
    const subscription = this.subscriptions.get(number);
    // It has ended while the payload was in transit. On a request that is as if it had ended before.
    if (!subscription) return replyTo === undefined ? undefined : connection.unheard(replyTo);
    const { receive } = subscription;
    try {
      receive(payload, subject ?? subscription.subject, replyTo);
    } catch (error) {
      this.events.receiverFailed(error, { in: "callback", subject: subscription.subject });
    }
  }

  /** Another worker has subscribed, and reads what there is here before anything else of the subject. */
  private asked(connection: WorkerConnection, number: number, subject: string): void {
    this.interests.add(connection.index, number, subject);
    if (this.isClosed || this.isDraining) return;
    this.run("subscribed", () =>
      this.events.subscribed?.(subject, (payload) => connection.message(number, this.shortened(payload), undefined)),
    );
  }

  private shortened(payload: string | Uint8Array): string | Uint8Array {
    const isLong = typeof payload === "string" && payload.length > DIRECT_MAX_CHARS;
    return isLong ? this.encoder.encode(payload) : payload;
  }

  /** In a later turn: the caller registers its request after it has published it. */
  private noResponders(replyTo: string): void {
    this.unanswered.push(replyTo);
    this.openTurn();
  }

  private connectionChanged(connection: WorkerConnection): void {
    this.changed.push(connection);
    this.openTurn();
  }

  private openTurn(): void {
    if (this.isTurnOpen) return;
    this.isTurnOpen = true;
    // No boundary: it catches and reports what its listener throws.
    setImmediate(this.endTurn);
  }

  /** One ping for all subscriptions of a turn: its pong shows that they were read. */
  private confirmSubscriptions(): void {
    this.hasTracked = false;
    const turn = this.turn++;
    for (const connection of this.mesh.connections) connection?.confirm(turn);
  }

  private readonly endTurn = (): void => {
    if (this.hasTracked) this.confirmSubscriptions();
    this.isTurnOpen = false;
    const { changed, unanswered } = this;
    this.changed = [];
    this.unanswered = [];
    for (const connection of changed) connection.flush();
    for (const replyTo of unanswered) this.reportUnanswered(replyTo);
  };

  private reportUnanswered(replyTo: string): void {
    if (this.isUp) this.run("noResponders", () => this.events.noResponders(replyTo));
  }

  private run(where: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.events.receiverFailed(error, { in: where });
    }
  }

  private emit(event: "down" | "up"): void {
    try {
      this.events[event]();
    } catch (error) {
      this.events.failed(error, { in: event });
    }
  }
}
