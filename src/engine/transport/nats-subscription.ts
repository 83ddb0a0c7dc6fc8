/**
 * A subscription as the NATS client keeps it in its list, without what callbacks do not need. The client's own object has an
 * iterator, three promises and the functions that settle them: 1,500 bytes, and a node has one subscription per connected peer.
 *
 * The client makes only its own objects, so this relies on what its protocol part (version 3.4, package.json has it exact) reads
 * and calls: `sid`, `subject`, `queue`, `max`, `received`, `callback`, `close`, `drain` and `unsubscribe`. The suite of transports
 * runs most of it against a server: messages, the end of a subscription, a reconnect and a drain.
 */
import type { FaultContext, Receiver, TransportSubscription } from "./transport.ts";

/** What is needed of the client. */
export interface NatsProtocol<Message> {
  readonly subscriptions: { cancel(subscription: NatsSubscription<Message>): void };
  subscribe(subscription: NatsSubscription<Message>): void;
  /** Sends the command and forgets the subscription. */
  unsubscribe(subscription: NatsSubscription<Message>): void;
  /** Sends the command only: what is on its way is still received. */
  unsub(subscription: NatsSubscription<Message>): void;
  flush(): Promise<void>;
}

/** The part of the client that keeps the subscriptions. Its types do not show it, so another version is refused at the start. */
export function protocolOf<Message>(connection: object): NatsProtocol<Message> {
  const { protocol } = connection as { readonly protocol?: Partial<NatsProtocol<Message>> };
  const needed = [
    protocol?.subscribe,
    protocol?.unsubscribe,
    protocol?.unsub,
    protocol?.flush,
    protocol?.subscriptions?.cancel,
  ];
  if (!needed.every((method) => typeof method === "function"))
    throw new Error("this version of the NATS client is not supported");
  return protocol as NatsProtocol<Message>;
}

/** One for all subscriptions of a connection. */
export interface SubscriptionOwner<Message> {
  readonly protocol: NatsProtocol<Message>;
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
    private readonly receive: Receiver,
  ) {}

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
    this.owner.protocol.unsubscribe(this);
  }

  async drain(): Promise<void> {
    const { protocol } = this.owner;
    protocol.unsub(this);
    try {
      await protocol.flush();
    } finally {
      protocol.subscriptions.cancel(this);
    }
  }

  /** The connection is closed, or the subscription was cancelled. */
  close(): void {}
}
