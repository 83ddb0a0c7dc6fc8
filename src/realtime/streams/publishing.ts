/**
 * Publishing to a channel with history: a message is accepted and delivered when it is stored. Its publisher gets the ack behind all
 * earlier messages of the channel: a client that reconnects with the position of an ack must have got everything before it.
 */
import type { Envelope } from "../../engine/engine.ts";
import { Appender } from "../../history/appender.ts";
import type { Appended, HistoryStore, NewMessage } from "../../history/history.ts";
import type { Retention } from "../../protocol/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Boundary } from "../boundary.ts";
import type { Clock } from "../clock.ts";
import type { Connection } from "../connection.ts";
import type { Delivery, PublishRefusal } from "../delivery.ts";
import { safely } from "../safely.ts";
import type { Spaces } from "../spaces.ts";
import { committed } from "./backlog.ts";
import { whenPassed } from "./replay.ts";
import { type Streams, storedMessage } from "./streams.ts";

/** A message that is stored. `isDuplicate`: it was published before under the same id, and this is where it is. */
export interface Published extends Position {
  readonly isDuplicate: boolean;
}

export type Outcome = Published | PublishRefusal;

export interface Publication {
  readonly app: string;
  readonly channel: string;
  readonly keep: Retention;
  readonly envelope: Envelope;
  /** Within which ids are unique. */
  readonly idScope: string;
  /** Absent for REST. */
  readonly sender?: Connection;
}

export interface PublishingParts {
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

export class Publishing {
  private readonly appender: Appender;
  /** Messages by application that the store has not answered for. Bound: applications with such messages. */
  private readonly uncommitted = new Map<string, number>();
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
    parts.streams.unanswered = () => this.appender.unanswered;
  }

  /** `answer` is called once, later: or within this call, if the message is refused at once. */
  publish(publication: Publication, answer: (outcome: Outcome) => void): void {
    const { app, channel, keep, envelope, idScope, sender } = publication;
    const waiting = this.uncommitted.get(app) ?? 0;
    if (this.parts.delivery.isOverQuota(app, waiting)) return answer("over_message_quota");
    const { from, metadataJson, dataJson, id } = envelope;
    const connection = sender?.id;
    const message: NewMessage = { app, channel, keep, from, metadataJson, dataJson, connection, id, idScope };
    const isTaken = this.appender.append(message, (appended) => {
      this.decrement(app);
      this.answered(publication, connection, appended, answer);
    });
    if (!isTaken) return answer("backend_error");
    this.uncommitted.set(app, waiting + 1);
    if (!sender) return;
    sender.uncommitted++;
    sender.uncommittedIn = channel;
    // Its next message without history must not be delivered at once.
    sender.publishesTo = undefined;
  }

  /** Resolves when no message waits for the store any more. */
  close(): Promise<void> {
    return this.appender.close();
  }

  private answered(
    { app, channel, envelope, sender }: Publication,
    connection: string | undefined,
    appended: Appended | undefined,
    answer: (outcome: Outcome) => void,
  ): void {
    if (!appended) {
      answer("backend_error");
      return this.finish(sender);
    }
    const { epoch, offset, check, time, isDuplicate } = appended;
    const stored = isDuplicate ? undefined : { ...envelope, stored: { epoch, offset, check, time, connection } };
    if (stored) this.parts.delivery.accept(app, channel, stored, sender);
    const stream = this.parts.spaces.channel(app, channel)?.stream;
    const published: Published = { epoch, offset, check, isDuplicate };
    const subscription = sender?.subscriptionTo(channel);
    if (!subscription) answer(published);
    const delivered = (): void => {
      if (subscription && stream?.isOpen && stream.epoch === epoch)
        whenPassed(subscription, offset, () => answer(published));
      else if (subscription?.isEnded) answer(published);
      else if (subscription) {
        // The store has begun another epoch: earlier messages of it were not delivered here, so subscribers must not know this
        // position. They are closed at the end of this turn; one that has unsubscribed by then still waits for an answer.
        if (stream) this.parts.streams.resync(stream);
        this.parts.clock.after(0, () => answer(published));
      }
      this.finish(sender);
    };
    // Before the delivery, which also releases later messages that have waited for this one.
    if (stream) stream.whenDelivered(epoch, offset, delivered);
    else delivered();
    if (stored) this.deliver(app, channel, stored);
  }

  private deliver(app: string, name: string, envelope: Envelope): void {
    const { spaces, streams, boundary } = this.parts;
    const channel = spaces.channel(app, name);
    const { stored } = envelope;
    // Without a stream, the rule has ended meanwhile: the subscribers were closed.
    if (!channel?.stream || !stored) return;
    const { stream } = channel;
    boundary.forChannel("history", channel, () => {
      // The store has just said where it is: the stream is another one by now.
      if (!streams.offer(stream, stored.epoch, storedMessage(envelope, stored))) streams.resync(stream);
    });
  }

  /** A message whose publisher got `backend_error` is stored all the same. */
  private lateStored(message: NewMessage, { epoch, offset, check, time }: Appended): void {
    const { app, channel, from, metadataJson, dataJson, id, connection } = message;
    const stored = { epoch, offset, check, time, connection };
    const envelope: Envelope = { from, metadataJson, dataJson, id, stored };
    this.parts.delivery.accept(app, channel, envelope, undefined);
    this.deliver(app, channel, envelope);
  }

  private finish(sender: Connection | undefined): void {
    if (sender) this.parts.boundary.forConnection("history", sender, () => committed(sender, this.keepsOrder));
  }

  private decrement(app: string): void {
    const left = (this.uncommitted.get(app) ?? 1) - 1;
    if (left > 0) this.uncommitted.set(app, left);
    else this.uncommitted.delete(app);
  }
}
