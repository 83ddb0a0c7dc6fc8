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
  type Start,
  type Subscription,
} from "./model.ts";
import { nameOf } from "./rule-broken.ts";

/** What a subscribe asks for beside its channel, in a world with rules. */
export interface Asked {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly start: Start | undefined;
  readonly wantsStates: boolean;
}

export class Requests {
  constructor(
    protected readonly context: Context,
    private readonly checks: Checks,
  ) {}

  protected request(connection: Connection, frame: Readonly<Record<string, unknown>>, request: Request): void {
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

  subscribeTo(connection: Connection, channel: string, includeSenderMetadata: boolean, asked?: Asked): void {
    const metadata = includeSenderMetadata && { includeSenderMetadata };
    const frame = { type: "subscribe", channel, ...metadata, ...asked?.fields };
    const refusal = this.refusal(connection, "subscribe", channel);
    // When its turn comes, the key may allow it again.
    if (refusal && this.isWaiting(connection) && !connection.mustClose) return;
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
    this.context.graces.returned(connection, channel, false);
    const start = asked && { start: asked.start, wantsStates: asked.wantsStates, sentMs: this.context.nowMs() };
    this.request(connection, frame, { expect: "ack", subscription, ...start });
  }

  unsubscribe(connection: Connection, choices: Choices): void {
    this.unsubscribeFrom(connection, choices.of(CHANNEL_CHOICES));
  }

  unsubscribeFrom(connection: Connection, channel: string): void {
    const ends = connection.mustClose ? undefined : connection.subscriptions.get(channel);
    // A connection that has expired does nothing more: it is closed, and its members are held.
    if (!connection.mustClose) {
      endSubscription(connection, channel);
      this.context.graces.saidGoodbye(connection, channel, ends);
    }
    this.request(connection, { type: "unsubscribe", channel }, { expect: "ack", leaves: channel, ends });
  }

  private refusal(connection: Connection, action: "subscribe" | "publish", channel: string): string | undefined {
    if (!may(connection, action)) return "action_not_permitted";
    return covers(connection, channel) ? undefined : "channel_not_authorized";
  }

  private addMessage(message: Omit<Message, "atMs" | "metadata">): number {
    const number = this.context.messages.size + 1;
    const { metadata } = message.connection;
    this.context.messages.set(number, { ...message, metadata, atMs: this.context.nowMs() });
    return number;
  }

  /** The id that a message is published with. */
  protected idFor(_choices: Choices, _number: number): string | undefined {
    return undefined;
  }

  /** To a channel with history. It is committed some time, or refused with `backend_error`. */
  protected publishStored(connection: Connection, channel: string, choices: Choices): void {
    const id = this.idFor(choices, this.context.messages.size + 1);
    const wasMember = isShown(connection, channel);
    const memberAs = wasMember ? connection.subscriptions.get(channel) : undefined;
    const number = this.addMessage({ connection, channel, to: undefined, wasMember, memberAs, id });
    const frame = { type: "publish", channel, data: { n: number }, ...(id !== undefined && { id }) };
    const refusal = this.refusal(connection, "publish", channel);
    const sentMs = this.context.nowMs();
    if (!refusal) this.context.lastStoredMs.set(connection, sentMs);
    const request = refusal ? { expect: refusal } : { expect: "ack", message: number, channel, sentMs };
    this.request(connection, frame, request);
  }

  /** It may have published messages that are not committed and delivered yet: what it sends next waits for them. */
  private isWaiting(connection: Connection): boolean {
    return this.context.isCommitting(connection);
  }

  publish(connection: Connection, choices: Choices): void {
    const channel = choices.of(CHANNEL_CHOICES);
    if (this.context.histories.has(channel)) return this.publishStored(connection, channel, choices);
    const isWaiting = this.isWaiting(connection);
    const wasMember = isShown(connection, channel);
    const number = this.addMessage({ connection, channel, to: undefined, wasMember, isWaiting });
    const expect = this.refusal(connection, "publish", channel) ?? "ack";
    const receivers = this.context.open.filter(
      (other) => other !== connection && other.app === connection.app && other.subscriptions.get(channel)?.acked,
    );
    const isReceived = expect === "ack" && !connection.mustClose;
    if (isReceived && !isWaiting) for (const other of receivers) other.due.set(number, channel);
    const frame = { type: "publish", channel, data: { n: number } };
    if (isWaiting) this.publishWaiting(connection, frame, expect, receivers, number);
    else if (choices.number() % 8 === 7) this.sendWithoutId(connection, frame, expect);
    else this.request(connection, frame, { expect });
    if (isReceived && !isWaiting) this.checks.mustHaveReceived(connection, receivers, number);
  }

  private publishWaiting(
    connection: Connection,
    frame: { readonly type: string; readonly channel: string },
    expect: string,
    to: readonly Connection[],
    message: number,
  ): void {
    const receivers = to.flatMap((other) => {
      const subscription = other.subscriptions.get(frame.channel);
      return subscription ? { connection: other, subscription } : [];
    });
    this.request(connection, frame, { expect, message, receivers });
  }

  send(connection: Connection, choices: Choices): void {
    const peer = choices.of(PEERS);
    const sameApp = this.context.open.filter((one) => one.app === connection.app);
    this.sendTo(connection, choices.of([peer, ...sameApp.map((one) => one.peerId)]));
  }

  private sendTo(connection: Connection, to: string): void {
    const { open } = this.context;
    const number = this.addMessage({ connection, channel: undefined, to, wasMember: false });
    const frame = { type: "send", to, data: { n: number } };
    if (!may(connection, "send") || connection.mustClose)
      return this.request(connection, frame, { expect: "action_not_permitted" });
    const targets = open.filter((other) => other !== connection && other.app === connection.app && other.peerId === to);
    const isWaiting = this.isWaiting(connection);
    const mayWait = isWaiting || this.context.graces.mayHold(connection.app, to);
    if (!isWaiting) for (const other of targets) other.due.set(number, "");
    this.request(connection, frame, { expect: "sent", message: number, targets: isWaiting ? [] : targets, mayWait });
    if (!mayWait) this.checks.mustHaveReceived(connection, targets, number);
  }
}
