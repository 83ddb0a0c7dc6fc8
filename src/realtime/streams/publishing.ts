/**
 * Publishing to a channel, for connections, REST and the service itself. The rule of the channel decides: without history a message
 * is delivered at once, with history it is accepted and delivered when it is stored. Its publisher gets the ack behind all earlier
 * messages of the channel: a client that reconnects with the position of an ack must have got everything before it.
 *
 *     a message is            its publisher gets         it is delivered
 *     without history         delivered, or a refusal    at once
 *     over the quota          over_message_quota         never
 *     one too many waiting    unconfirmed                never
 *     not answered for        unconfirmed                if the store says later that it has it: lateStored()
 *     stored, then deleted    its position               never
 *     a duplicate             its position, in order     before
 *     stored                  its position, in order     accept() for other nodes, offer() to the stream of this one
 *
 * In order: when the stream of this node has reached that offset, and a replay to the publisher, if there is one, has passed it. A
 * publisher without a subscription to the channel does not wait.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import { type Append, Appender } from "../../history/appender.ts";
import type { Appended, HistoryStore, NewMessage, StoredMessage } from "../../history/contract/history.ts";
import { messageBytes } from "../../history/contract/size.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Delivery } from "../messages/delivery.ts";
import { latePayerOf, payerOf } from "../messages/payer.ts";
import { committed } from "../state/backlog.ts";
import type { Connection } from "../state/connection.ts";
import { connectionOf } from "../state/receivers.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Stream } from "../state/stream.ts";
import type { Subscription } from "../state/subscription.ts";
import type { CreatedPublisher, Outcome, Published } from "./outcomes.ts";
import type { Streams } from "./streams.ts";

type Answer = (outcome: Outcome) => void;

/** A message of a channel with history. */
interface Publication {
  readonly spaceId: SpaceId;
  readonly channel: string;
  readonly keep: Retention;
  readonly envelope: Envelope;
  /** Absent for REST and for the service itself. */
  readonly sender: Connection | undefined;
}

interface PublishingParts {
  readonly history: HistoryStore;
  readonly streams: Streams;
  readonly delivery: Delivery;
  readonly spaces: Spaces;
  readonly boundary: Boundary;
  readonly clock: Clock;
  readonly faults: FaultLog;
  /** Calls back when what has arrived already has been read from its sockets. */
  readonly defer: (callback: () => void) => void;
}

/** A message that the store has not answered for. One object per message: there is one for every publish. */
class Pending implements Append {
  constructor(
    readonly message: NewMessage,
    readonly sinceMs: number,
    readonly sender: Connection | undefined,
    readonly answer: Answer,
    private readonly answered: (pending: Pending, appended: Appended | undefined, nowMs: number) => void,
  ) {}

  done(appended: Appended | undefined, nowMs: number): void {
    this.answered(this, appended, nowMs);
  }
}

export class Publishing {
  private readonly appender: Appender;
  /** Messages by application that the store has not answered for. Bound: applications with such messages. */
  private readonly uncommitted = new Map<string, number>();
  /** For channels that are created streams. Built after this. */
  created: CreatedPublisher | undefined;
  /** The embedded store answers in the order of the calls, and nothing of other nodes comes in between. */
  readonly keepsOrder: boolean;

  constructor(private readonly parts: PublishingParts) {
    const { history, clock, faults } = parts;
    this.keepsOrder = !history.isShared;
    this.appender = new Appender({
      store: history,
      clock,
      defer: (callback) => parts.defer(() => safely(faults, "history", callback)),
      lateStored: (message, appended) => this.lateStored(message, appended),
      failed: (error) => faults.caught("history", error),
    });
  }

  /**
   * `answer` is called once: within this call if the message is delivered or refused at once, otherwise when it is stored. `sender`
   * is the connection it comes from, absent for REST and for the service itself.
   */
  publish(spaceId: SpaceId, channel: string, envelope: Envelope, answer: Answer, sender?: Connection): void {
    const rule = this.parts.streams.ruleOf(spaceId, channel);
    if (rule?.history) this.store({ spaceId, channel, keep: rule.history, envelope, sender }, answer);
    else if (rule?.stream) this.created?.publish(spaceId, channel, rule.stream, envelope, answer, sender);
    else answer(this.parts.delivery.publish(spaceId, channel, envelope, sender) ?? "delivered");
  }

  /** The same for a caller that knows what the rule of the channel keeps. */
  store({ spaceId, channel, keep, envelope, sender }: Publication, answer: Answer): void {
    const waiting = this.uncommitted.get(spaceId) ?? 0;
    if (this.parts.delivery.isOverQuota(spaceId, payerOf(spaceId, channel, sender), waiting))
      return answer("over_message_quota");
    const { from, metadataJson, dataJson, id } = envelope;
    const connection = sender?.id;
    const bytes = messageBytes({ from, metadataJson, dataJson, connection, id });
    const idScope = id === undefined ? "" : ((sender ? sender.idScope : envelope.idScope) ?? "");
    const message = { spaceId, channel, keep, from, metadataJson, dataJson, connection, id, idScope, bytes };
    const sinceMs = sender ? sender.lastSeenMs : this.parts.clock.monotonicMs();
    if (!this.appender.append(new Pending(message, sinceMs, sender, answer, this.answered)))
      return answer("unconfirmed");
    this.uncommitted.set(spaceId, waiting + 1);
    if (!sender) return;
    const { withExtras } = sender;
    withExtras.uncommitted++;
    withExtras.uncommittedIn = channel;
    // Its next message without history must not be delivered at once.
    withExtras.publishesTo = undefined;
  }

  /** Whether this is the check of what is appended and not answered. */
  isUnanswered(check: string): boolean {
    return this.appender.unanswered === check;
  }

  /** Resolves when no message waits for the store any more. */
  close(): Promise<void> {
    return this.appender.close();
  }

  private readonly answered = (
    { message, sender, answer }: Pending,
    appended: Appended | undefined,
    nowMs: number,
  ): void => {
    const { spaceId, channel } = message;
    this.decrement(spaceId);
    if (!appended) {
      answer("unconfirmed");
      return this.finish(sender);
    }
    // Its history was deleted since: no stream has its position, and nothing is to be delivered.
    if (appended.isRemoved) {
      answer(appended);
      return this.finish(sender);
    }
    const isNew = !appended.isDuplicate;
    if (isNew) this.parts.delivery.accept(spaceId, channel, envelopeOf(message, appended), sender);
    const stream = this.parts.spaces.channel(spaceId, channel)?.stream;
    const subscription = sender?.subscriptionTo(channel);
    if (!subscription) answer(appended);
    // Almost always it is the next message of its stream.
    if (isNew && stream?.isNext(appended)) {
      this.offer(stream, message, appended, nowMs);
      return this.delivered(stream, sender, subscription, appended, answer);
    }
    const delivered = (): void => this.delivered(stream, sender, subscription, appended, answer);
    // Before the delivery, which also releases later messages that have waited for this one.
    this.whenDelivered(stream, appended, delivered);
    // The channel may have another stream by now, or none.
    if (isNew) this.deliver(message, appended, nowMs);
  };

  /** The same for a message that is delivered already, or will be without this. */
  answerInOrder(
    sender: Connection,
    channel: string,
    appended: Published,
    answer: (published: Published) => void,
  ): void {
    const { stream } = sender.peer.space.channels.get(channel) ?? {};
    const subscription = sender.subscriptionTo(channel);
    if (!subscription) answer(appended);
    const delivered = (): void => this.delivered(stream, sender, subscription, appended, answer);
    this.whenDelivered(stream, appended, delivered);
  }

  /** The subscribers here have the message, if they are to get it. */
  private delivered(
    stream: Stream | undefined,
    sender: Connection | undefined,
    subscription: Subscription | undefined,
    appended: Published,
    answer: (published: Published) => void,
  ): void {
    if (subscription) {
      if (stream?.isOpen && stream.epoch === appended.epoch) {
        if (subscription.replay) subscription.replay.whenPassed(appended.offset, () => answer(appended));
        else answer(appended);
      } else if (subscription.isEnded) answer(appended);
      else {
        // The store has begun another epoch: earlier messages of it were not delivered here, so subscribers must not know this
        // position. They are closed at the end of this turn; one that has unsubscribed by then still waits for an answer.
        if (stream) this.parts.streams.resync(stream);
        this.parts.clock.after(0, () => answer(appended));
      }
    }
    this.finish(sender);
  }

  /** Calls back when the subscribers here have the message: now, or when its stream has reached it. */
  private whenDelivered(stream: Stream | undefined, appended: Published, delivered: () => void): void {
    if (stream) stream.whenDelivered(appended.epoch, appended.offset, delivered);
    else delivered();
  }

  private deliver(message: NewMessage, appended: Appended, nowMs: number): void {
    // Without a stream, the rule has ended meanwhile: the subscribers were closed.
    const stream = this.parts.spaces.channel(message.spaceId, message.channel)?.stream;
    if (stream) this.offer(stream, message, appended, nowMs);
  }

  private offer(stream: Stream, message: NewMessage, appended: Appended, nowMs: number): void {
    const { streams, boundary } = this.parts;
    try {
      // The store has just said where it is: if it does not fit, the stream is another one by now.
      if (!streams.offer(stream, appended.epoch, storedMessage(message, appended), nowMs)) streams.resync(stream);
    } catch (error) {
      boundary.channelFailed("history", stream.channel, error);
    }
  }

  /** Messages of a write over HTTP are stored (created.ts). */
  stored(spaceId: SpaceId, messages: readonly NewMessage[], appended: readonly Appended[]): void {
    const nowMs = this.parts.clock.monotonicMs();
    for (const [at, message] of messages.entries()) {
      const result = appended[at];
      if (!result || result.isDuplicate) continue;
      const here = message.spaceId === spaceId ? message : { ...message, spaceId };
      this.parts.delivery.accept(spaceId, message.channel, envelopeOf(here, result), undefined);
      this.deliver(here, result, nowMs);
    }
  }

  /** A message whose publisher got `backend_error` is stored all the same. */
  private lateStored(message: NewMessage, appended: Appended): void {
    const { spaceId, channel, from, connection } = message;
    const sender =
      connection === undefined ? undefined : connectionOf(this.parts.spaces.peer(spaceId, from), connection);
    const payer = latePayerOf(spaceId, channel, connection, sender);
    this.parts.delivery.accept(spaceId, channel, envelopeOf(message, appended), undefined, payer);
    this.deliver(message, appended, this.parts.clock.monotonicMs());
  }

  /** The store has answered for a message of this connection: what has waited for it goes on. */
  finish(sender: Connection | undefined): void {
    if (!sender) return;
    try {
      committed(sender, this.keepsOrder);
    } catch (error) {
      this.parts.boundary.connectionFailed("history", sender, error);
    }
  }

  private decrement(spaceId: SpaceId): void {
    const left = (this.uncommitted.get(spaceId) ?? 1) - 1;
    if (left > 0) this.uncommitted.set(spaceId, left);
    else this.uncommitted.delete(spaceId);
  }
}

function envelopeOf(message: NewMessage, { epoch, offset, check, time }: Appended): Envelope {
  const { from, metadataJson, dataJson, id, connection } = message;
  return { from, metadataJson, dataJson, id, stored: { epoch, offset, check, time, connection } };
}

function storedMessage(message: NewMessage, { offset, check, time }: Appended): StoredMessage {
  const { from, metadataJson, dataJson, id, connection, bytes } = message;
  return { offset, check, time, from, metadataJson, dataJson, connection, id, bytes };
}
