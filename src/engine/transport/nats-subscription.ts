/**
 * A subscription as the NATS client keeps it in its list, without what callbacks do not need. The client's own object has an
 * iterator, three promises and the functions that settle them: 1,500 bytes, and a node has one subscription per connected peer.
 *
 * The client makes only its own objects, so this relies on what its protocol part (version 3.4, package.json has it exact) reads
 * and calls: `sid`, `subject`, `queue`, `max`, `received`, `callback`, `close`, `drain` and `unsubscribe`. The suite of transports
 * runs most of it against a server: messages, the end of a subscription, a reconnect and a drain.
 */
import type { FaultContext, Receiver, TransportSubscription } from "./transport.ts";

/** What is needed of the client's list of subscriptions. */
export interface NatsSubscriptions<Message> {
  /** Gives it a number. */
  add(subscription: NatsSubscription<Message>): void;
  get(sid: number): NatsSubscription<Message> | undefined;
  /** Forgets it. */
  cancel(subscription: NatsSubscription<Message>): void;
}

/** One for all subscriptions of a connection. */
export interface SubscriptionOwner<Message> {
  readonly subscriptions: NatsSubscriptions<Message>;
  /** Sends a command, in the order of what is published. While there is no connection it is not needed: the client subscribes again. */
  readonly send: (command: string) => void;
  /** What was sent in this turn has reached the server, and what it held for these subscriptions was received. */
  readonly flushed: () => Promise<void>;
  /** What the client has read itself. */
  readonly received: (message: Message, receive: Receiver) => void;
  readonly failed: (error: unknown, context: FaultContext) => void;
}

export class NatsSubscription<Message> implements TransportSubscription {
  /** Set by the client, which numbers its subscriptions. */
  sid = 0;
  received = 0;
  max: number | undefined;

  constructor(
    private readonly owner: SubscriptionOwner<Message>,
    readonly subject: string,
    readonly receive: Receiver,
  ) {
    owner.subscriptions.add(this);
    owner.send(`SUB ${subject} ${this.sid}\r\n`);
  }

  /** The subject of what has arrived: only a wildcard needs to read it. */
  subjectIn(bytes: Buffer, from: number, to: number): string {
    return this.subject.endsWith("*") ? bytes.toString("utf8", from, to) : this.subject;
  }

  end(): void {
    try {
      this.unsubscribe();
    } catch (error) {
      this.owner.failed(error, { in: "unsubscribe", subject: this.subject });
    }
  }

  /** `error`: the server has refused the subject, and the client forgets the subscription. */
  callback(error: Error | null, message: Message): void {
    if (error) this.owner.failed(error, { in: "subscribe", subject: this.subject });
    else this.owner.received(message, this.receive);
  }

  unsubscribe(): void {
    this.sendEnd();
    this.owner.subscriptions.cancel(this);
  }

  async drain(): Promise<void> {
    const { subscriptions, flushed } = this.owner;
    this.sendEnd();
    try {
      await flushed();
    } finally {
      subscriptions.cancel(this);
    }
  }

  /** What is on its way is still received. */
  private sendEnd(): void {
    this.owner.send(`UNSUB ${this.sid}\r\n`);
  }

  /** The connection is closed, or the subscription was cancelled. */
  close(): void {}
}
