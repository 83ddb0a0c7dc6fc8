/** Which connections subscribe to which channels on this node. */
import type { Keyring } from "../access/keyring.ts";
import type { Engine, RemoteMembers } from "../engine/engine.ts";
import { bitOf } from "../protocol/actions.ts";
import type { Code } from "../protocol/codes.ts";
import type { SubscribeOptions } from "../protocol/subscribe-options.ts";
import type { Boundary } from "./boundary.ts";
import { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionObserver } from "./connections.ts";
import type { Emitter } from "./emitter.ts";
import type { Presence } from "./presence.ts";
import type { Space } from "./space.ts";
import type { Spaces } from "./spaces.ts";
import { type EndReason, Subscription } from "./subscription.ts";

const PRESENCE = bitOf("presence");

/** `refused` says why a subscribe is refused; `undefined` if it is accepted. `fields`: more members of the ack (encode.ts). */
export type Answer = (refused: Code | undefined, fields?: string) => void;

export interface ChannelsParts {
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly spaces: Spaces;
  readonly presence: Presence;
  readonly boundary: Boundary;
  readonly emitter: Emitter;
}

export class Channels implements ConnectionObserver {
  constructor(private readonly parts: ChannelsParts) {}

  /**
   * `answer` is called when messages flow: at once, or when the engine has found out the members on other nodes. A subscription
   * that has lost its channel meanwhile is answered with a refusal.
   */
  subscribe(connection: Connection, name: string, options: SubscribeOptions, answer: Answer): void {
    const { withMetadata } = options;
    const held = connection.subscriptionTo(name);
    if (held) {
      this.setVariant(held, withMetadata);
      held.withStates = options.withStates;
      // The key has been given the presence action since.
      if (connection.may(PRESENCE) && !held.member) held.join(held.channel.member(connection.peer));
      return this.acknowledge(held, answer);
    }
    const channel = this.channel(connection.peer.space, name);
    const subscription = new Subscription(connection, channel);
    if (connection.may(PRESENCE)) subscription.join(channel.member(connection.peer));
    subscription.withMetadata = withMetadata;
    subscription.withStates = options.withStates;
    connection.addSubscription(subscription);
    channel.subscribers++;
    if (withMetadata) channel.metadataSubscribers++;
    connection.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
    this.parts.emitter.subscribed(connection, channel.name);
    this.acknowledge(subscription, answer);
  }

  private acknowledge(subscription: Subscription, answer: Answer): void {
    const { presence } = this.parts;
    const acknowledge = (): void => {
      const { state } = subscription;
      answer(state.kind === "ended" && state.why === "revoked" ? "channel_not_authorized" : undefined);
      presence.onAcked(subscription);
    };
    const { opening } = subscription.channel;
    if (!opening) return acknowledge();
    presence.onOpening(subscription);
    opening.push(acknowledge);
  }

  /** The channel rules of an application have changed. */
  rulesChanged(app: string): void {
    const { spaces, keyring } = this.parts;
    const rules = keyring.rulesOf(app);
    for (const channel of spaces.get(app)?.channels.values() ?? [])
      channel.graceSec = rules.ruleFor(channel.name)?.graceSec ?? 0;
  }

  unsubscribe(connection: Connection, name: string): void {
    const subscription = connection.subscriptionTo(name);
    if (subscription) this.end(subscription, "left");
  }

  disconnected(connection: Connection): void {
    for (const subscription of [...connection.subscriptions]) this.end(subscription, "left");
  }

  /** The subscription stays, but gets no presence and is not shown. */
  withdrawPresence(subscription: Subscription): void {
    const { member } = subscription;
    subscription.withdraw();
    if (member) this.parts.presence.onLeft(subscription, member);
  }

  /** A fault resynchronises the channel, which may still show the member that has left. */
  end(subscription: Subscription, why: EndReason): void {
    this.parts.boundary.forChannel("socket", subscription.channel, () => this.remove(subscription, why));
  }

  private remove(subscription: Subscription, why: EndReason): void {
    const { connection, channel, member, withMetadata } = subscription;
    subscription.end(why);
    // A fault can end a connection, and with it all its subscriptions, while they are being ended one by one.
    if (!connection.removeSubscription(subscription)) return;
    // Subscriptions that end with their connection are not reported one by one: a close says so.
    if (connection.open) this.parts.emitter.unsubscribed(connection, channel.name);
    connection.socket.unsubscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
    channel.subscribers--;
    if (withMetadata) channel.metadataSubscribers--;
    if (member) this.parts.presence.onLeft(subscription, member);
    this.parts.spaces.forgetIfUnused(channel);
  }

  private setVariant(subscription: Subscription, withMetadata: boolean): void {
    if (subscription.withMetadata === withMetadata) return;
    const { channel, connection } = subscription;
    subscription.withMetadata = withMetadata;
    channel.metadataSubscribers += withMetadata ? 1 : -1;
    connection.socket.unsubscribe(withMetadata ? channel.plainTopic : channel.metadataTopic);
    connection.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
  }

  /** The channel, watched: the engine is asked for its members on other nodes when it is new here. */
  private channel(space: Space, name: string): Channel {
    const present = space.channels.get(name);
    if (present) return present;
    const channel = new Channel(space, name);
    channel.graceSec = this.parts.keyring.rulesOf(space.app).ruleFor(name)?.graceSec ?? 0;
    space.channels.set(name, channel);
    const { engine, boundary } = this.parts;
    engine.watch(space.app, name, (remote) =>
      boundary.forChannel("engine", channel, () => this.opened(channel, remote)),
    );
    // A fault during `watch` has detached the channel: a subscriber would never receive anything on it.
    if (!channel.isInUse) throw new Error("a channel could not be opened");
    return channel;
  }

  private opened(channel: Channel, remote: RemoteMembers): void {
    const waiting = channel.opening ?? [];
    channel.opening = undefined;
    // The channel may have been forgotten before the engine answered.
    if (channel.isInUse)
      for (const [node, members] of remote) this.parts.presence.onRemoteChanged(node, channel, members, []);
    for (const acknowledge of waiting) acknowledge();
  }
}
