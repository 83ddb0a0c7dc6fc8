/** The frames that connections send, and what the model expects of them. */
import { CHANNEL_CHOICES, type Choices, PEERS } from "./acts.ts";
import type { Checks } from "./checks.ts";
import type { Context } from "./context.ts";
import {
  type Connection,
  covers,
  endSubscription,
  isShown,
  type Message,
  may,
  type Request,
  type Subscription,
} from "./model.ts";
import { nameOf } from "./rule-broken.ts";

export class Requests {
  constructor(
    private readonly context: Context,
    private readonly checks: Checks,
  ) {}

  private request(connection: Connection, frame: Readonly<Record<string, unknown>>, request: Request): void {
    const requestId = `r${++connection.requests}`;
    connection.unanswered.set(requestId, request);
    this.context.note(`${nameOf(connection)} ${requestId} ${JSON.stringify(frame)}`);
    connection.socket.message(JSON.stringify({ ...frame, requestId }));
  }

  /** Without a request id there is no ack, but errors are still sent. */
  private sendWithoutId(connection: Connection, frame: Readonly<Record<string, unknown>>, expect: string): void {
    if (expect !== "ack") connection.errors.push(expect);
    this.context.note(`${nameOf(connection)} ${JSON.stringify(frame)}`);
    connection.socket.message(JSON.stringify(frame));
  }

  subscribe(connection: Connection, choices: Choices): void {
    this.subscribeTo(connection, choices.of(CHANNEL_CHOICES), choices.of([false, true]));
  }

  subscribeTo(connection: Connection, channel: string, includeSenderMetadata: boolean): void {
    const frame = { type: "subscribe", channel, ...(includeSenderMetadata && { includeSenderMetadata }) };
    const refusal = this.refusal(connection, "subscribe", channel);
    if (refusal || connection.mustClose) return this.request(connection, frame, { expect: refusal ?? "" });
    const subscription: Subscription = connection.subscriptions.get(channel) ?? {
      channel,
      afterMessage: this.context.messages.size,
      wantsMetadata: false,
      presence: false,
      acked: false,
      ackedAfterMs: 0,
      ackedMs: 0,
      roster: undefined,
      rosterMs: Number.POSITIVE_INFINITY,
      isRevoked: false,
      ping: 0,
    };
    connection.subscriptions.set(channel, subscription);
    subscription.wantsMetadata = includeSenderMetadata;
    subscription.presence ||= may(connection, "presence");
    this.request(connection, frame, { expect: "ack", subscription });
  }

  unsubscribe(connection: Connection, choices: Choices): void {
    this.unsubscribeFrom(connection, choices.of(CHANNEL_CHOICES));
  }

  unsubscribeFrom(connection: Connection, channel: string): void {
    endSubscription(connection, channel);
    this.request(connection, { type: "unsubscribe", channel }, { expect: "ack" });
  }

  private refusal(connection: Connection, action: "subscribe" | "publish", channel: string): string | undefined {
    if (!may(connection, action)) return "action_not_permitted";
    return covers(connection, channel) ? undefined : "channel_not_authorized";
  }

  private addMessage(message: Omit<Message, "atMs">): number {
    const number = this.context.messages.size + 1;
    this.context.messages.set(number, { ...message, atMs: this.context.nowMs() });
    return number;
  }

  publish(connection: Connection, choices: Choices): void {
    const channel = choices.of(CHANNEL_CHOICES);
    const number = this.addMessage({ connection, channel, to: undefined, wasMember: isShown(connection, channel) });
    const expect = this.refusal(connection, "publish", channel) ?? "ack";
    const receivers = this.context.open.filter(
      (other) => other !== connection && other.app === connection.app && other.subscriptions.get(channel)?.acked,
    );
    const isReceived = expect === "ack" && !connection.mustClose;
    if (isReceived) for (const other of receivers) other.due.set(number, channel);
    const frame = { type: "publish", channel, data: { n: number } };
    if (choices.number() % 8 === 7) this.sendWithoutId(connection, frame, expect);
    else this.request(connection, frame, { expect });
    if (isReceived) this.checks.mustHaveReceived(connection, receivers, number);
  }

  send(connection: Connection, choices: Choices): void {
    const { open } = this.context;
    const sameApp = open.filter((one) => one.app === connection.app);
    const to = choices.of([choices.of(PEERS), ...sameApp.map((one) => one.peerId)]);
    const number = this.addMessage({ connection, channel: undefined, to, wasMember: false });
    const frame = { type: "send", to, data: { n: number } };
    if (!may(connection, "send") || connection.mustClose)
      return this.request(connection, frame, { expect: "action_not_permitted" });
    const targets = open.filter((other) => other !== connection && other.app === connection.app && other.peerId === to);
    for (const other of targets) other.due.set(number, "");
    this.request(connection, frame, { expect: "sent", message: number, targets });
    this.checks.mustHaveReceived(connection, targets, number);
  }
}
