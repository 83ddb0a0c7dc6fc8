/** Which connections subscribe to which channels on this node. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { type AppId, type SpaceId, spaceOf } from "../../base/ids.ts";
import type { Engine, RemoteMembers } from "../../engine/engine.ts";
import { bitOf } from "../../protocol/actions.ts";
import { NO_CHECK, type Position, positionText } from "../../protocol/position.ts";
import type { SubscribeOptions } from "../../protocol/subscribe-options.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { ConnectionObserver } from "../connections/connections.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Notes } from "../presence/notes.ts";
import type { OccupancyFrames } from "../presence/occupancy-frames.ts";
import type { Presence } from "../presence/presence.ts";
import { Channel, type Follower } from "../state/channel.ts";
import type { Connection } from "../state/connection.ts";
import type { Space } from "../state/space.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Stream } from "../state/stream.ts";
import { type EndReason, Subscription } from "../state/subscription.ts";
import type { Replays } from "../streams/replays.ts";
import type { Streams } from "../streams/streams.ts";
import { type Answer, Unanswered } from "./unanswered.ts";

const PRESENCE = bitOf("presence");

interface ChannelsParts {
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly notes: Notes;
  readonly spaces: Spaces;
  readonly presence: Presence;
  readonly boundary: Boundary;
  readonly emitter: Emitter;
  readonly streams: Streams;
  readonly replays: Replays;
  readonly clock: Clock;
  readonly occupancyFrames: OccupancyFrames;
}

export class Channels implements ConnectionObserver {
  private readonly unanswered = new Unanswered();

  constructor(private readonly parts: ChannelsParts) {}

  /**
   * `answer` is called when messages flow: at once, or when the engine has found out the members on other nodes, the stream of a
   * channel with history is open, and it is decided which earlier messages follow. If the subscription ends before that, `answer` is
   * called then: with a refusal if it has lost its channel.
   */
  subscribe(connection: Connection, name: string, options: SubscribeOptions, answer: Answer): void {
    const existing = connection.subscriptionTo(name);
    if (existing) return this.subscribeAgain(existing, options, answer);
    const { withMetadata, start } = options;
    const { space } = connection.peer;
    const channel = space.channels.get(name) ?? this.open(space, name);
    const subscription = new Subscription(connection, channel);
    if (connection.mayOn(PRESENCE, name) && options.isPresent) subscription.join(channel.member(connection.peer));
    subscription.withMetadata = withMetadata;
    subscription.withStates = options.withStates;
    connection.addSubscription(subscription);
    if (channel.stream && start) {
      this.parts.replays.begin(subscription, start);
      channel.replaying++;
    } else this.goLive(subscription);
    this.parts.emitter.subscribed(connection, channel.name);
    const answerWithOccupancy = options.withOccupancy ? this.withOccupancy(subscription, true, answer) : answer;
    // Nearly always at once. What has to wait is in a method of its own: this one makes no closure.
    if (!channel.opening && !channel.stream) this.acked(subscription, answerWithOccupancy);
    else this.acknowledgeFirst(subscription, answerWithOccupancy);
  }

  private acknowledgeFirst(subscription: Subscription, answer: Answer): void {
    const waiting = this.unanswered.add(subscription, answer);
    this.acknowledge(subscription, (stream) => this.begin(subscription, stream, waiting));
  }

  private subscribeAgain(existing: Subscription, options: SubscribeOptions, answer: Answer): void {
    const { connection, channel } = existing;
    const { withOccupancy } = options;
    this.setVariant(existing, options.withMetadata);
    existing.withStates = options.withStates;
    // The key has been given the presence action since.
    if (!options.isPresent) this.withdrawPresence(existing);
    else if (connection.mayOn(PRESENCE, channel.name) && !existing.member)
      existing.join(channel.member(connection.peer));
    const waiting = channel.opening || channel.stream ? this.unanswered.add(existing, answer) : answer;
    this.acknowledge(existing, (stream) => {
      // Asked now: the subscribe before this one may have been waiting too.
      const changes = withOccupancy || existing.withOccupancy;
      this.acknowledgeAgain(existing, stream, changes ? this.withOccupancy(existing, withOccupancy, waiting) : waiting);
    });
  }

  /** The number of members comes behind the ack, if it is wanted from now on. */
  private withOccupancy(subscription: Subscription, withOccupancy: boolean, answer: Answer): Answer {
    return (refused, fields) => {
      answer(refused, fields);
      if (!refused && !subscription.isEnded) this.parts.occupancyFrames.acked(subscription, withOccupancy);
    };
  }

  /** Puts the subscription on its topic. */
  private goLive({ channel, connection, withMetadata }: Subscription): void {
    channel.subscribers++;
    if (withMetadata) channel.metadataSubscribers++;
    connection.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
  }

  /** Calls `ready` when the engine has answered for the channel: with its stream, if it keeps history. */
  private acknowledge(subscription: Subscription, ready: (stream: Stream | undefined) => void): void {
    const { opening, stream } = subscription.channel;
    if (!opening) {
      if (stream && !stream.isOpen) this.parts.presence.onOpening(subscription);
      return ready(stream);
    }
    this.parts.presence.onOpening(subscription);
    opening.push(() => this.whenOpened(subscription, ready));
  }

  /** Ack and ping leave in one write, as they do when the engine answers at once: no frame of the client is being handled here. */
  private whenOpened({ connection, channel }: Subscription, ready: (stream: Stream | undefined) => void): void {
    // A socket that is gone may not call back.
    if (!connection.open) return ready(channel.stream);
    connection.socket.cork(() => ready(channel.stream));
  }

  private begin(subscription: Subscription, stream: Stream | undefined, answer: Answer): void {
    if (!stream) return this.acked(subscription, answer);
    const { streams, replays } = this.parts;
    streams.whenOpen(stream, (isOpen) => {
      if (!isOpen) return this.refuse(subscription);
      const { replay, channel } = subscription;
      if (stream.isAbsent) return this.beginAbsent(subscription, answer);
      if (!replay) return this.acked(subscription, answer, positionField(stream.position));
      replays.start(replay, stream, {
        acknowledge: (fields) => this.acked(subscription, answer, fields),
        goLive: () => {
          channel.replaying--;
          this.goLive(subscription);
        },
        refuse: () => this.refuse(subscription),
      });
    });
  }

  /** There is no stream of that name yet: nothing to begin from. When it is created, its subscribers are closed and come back. */
  private beginAbsent(subscription: Subscription, answer: Answer): void {
    const { replay, channel } = subscription;
    if (replay) {
      subscription.replay = undefined;
      this.parts.replays.end(replay);
      channel.replaying--;
      this.goLive(subscription);
    }
    this.acked(subscription, answer);
  }

  private acknowledgeAgain(subscription: Subscription, stream: Stream | undefined, answer: Answer): void {
    if (!stream) return this.acked(subscription, answer);
    this.parts.streams.whenOpen(stream, (isOpen) => {
      if (!isOpen) return this.refuse(subscription);
      if (stream.isAbsent) return this.acked(subscription, answer);
      const { replay } = subscription;
      if (replay?.stage === "deciding")
        return void replay.whenAcked.push(() => this.acknowledgeAgain(subscription, stream, answer));
      const { epoch, position } = stream;
      const reached = replay ? { epoch, offset: replay.cursor, check: replay.check ?? NO_CHECK } : position;
      // Later than this turn: an ack overtakes the messages of the same turn, and its position says that they were sent.
      this.parts.clock.after(1, () => {
        if (subscription.connection.open) this.acked(subscription, answer, positionField(reached));
      });
    });
  }

  private acked(subscription: Subscription, answer: Answer, fields?: string): void {
    answer(undefined, fields);
    this.parts.presence.onAcked(subscription);
  }

  /** The store of history is unavailable, so it is not known where the subscription would begin. */
  private refuse(subscription: Subscription): void {
    // With its end it is answered as on any channel, also if that is what closes the stream.
    if (subscription.isEnded) return;
    // First: acks that have waited for this subscription do not say that it has got what is before them.
    this.unanswered.end(subscription, "backend_error");
    this.end(subscription, "left");
  }

  /** The channel rules of an application have changed. */
  rulesChanged(app: AppId): void {
    const { spaces, keyring } = this.parts;
    const space = spaceOf(app);
    const rules = keyring.rulesOf(space);
    for (const channel of spaces.get(space)?.channels.values() ?? [])
      channel.graceSec = rules.ruleFor(channel.name)?.graceSec ?? 0;
  }

  /**
   * Follows the stream of a channel without a connection: the channel stays in use, so this node gets its messages. `ready` is called once,
   * now or later, with the stream when it is open or known to be absent; `undefined`: it keeps nothing, or the store is unavailable.
   * Returns what ends it; after that, and after `ended`, nothing is called any more.
   */
  follow(spaceId: SpaceId, name: string, follower: Follower, ready: (stream: Stream | undefined) => void): () => void {
    const { spaces, streams } = this.parts;
    const space = spaces.open(spaceId);
    const channel = space.channels.get(name) ?? this.open(space, name);
    const { stream } = channel;
    channel.followers ??= new Set();
    channel.followers.add(follower);
    const stop = (): void => {
      if (!channel.followers?.delete(follower)) return;
      if (channel.followers.size === 0) channel.followers = undefined;
      spaces.forgetIfUnused(channel);
    };
    const opened = (): void => {
      if (!channel.followers?.has(follower)) return;
      if (!stream) return ready(undefined);
      streams.whenOpen(stream, (isOpen) => {
        if (channel.followers?.has(follower)) ready(isOpen ? stream : undefined);
      });
    };
    if (channel.opening) channel.opening.push(opened);
    else opened();
    return stop;
  }

  unsubscribe(connection: Connection, name: string): void {
    const subscription = connection.subscriptionTo(name);
    if (subscription) this.end(subscription, "left");
  }

  disconnected(connection: Connection): void {
    for (const subscription of connection.subscriptions) this.end(subscription, "left");
  }

  /** The subscription stays, but gets no presence and is not shown. */
  withdrawPresence(subscription: Subscription): void {
    const { member } = subscription;
    this.parts.occupancyFrames.set(subscription, false);
    subscription.withdraw();
    subscription.stateJson = undefined;
    if (member) this.parts.presence.onLeft(subscription, member);
  }

  /** A fault resynchronises the channel, which may still show the member that has left. */
  end(subscription: Subscription, why: EndReason): void {
    try {
      this.remove(subscription, why);
      this.unanswered.end(subscription, why === "revoked" ? "channel_not_authorized" : undefined);
    } catch (error) {
      this.parts.boundary.channelFailed("socket", subscription.channel, error);
    }
  }

  private remove(subscription: Subscription, why: EndReason): void {
    const { connection, channel, member, withMetadata, replay } = subscription;
    subscription.end(why);
    // A fault can end a connection, and with it all its subscriptions, while they are being ended one by one.
    if (!connection.removeSubscription(subscription)) return;
    // Subscriptions that end with their connection are not reported one by one: a close says so.
    if (connection.open) this.parts.emitter.unsubscribed(connection, channel.name);
    this.parts.occupancyFrames.set(subscription, false);
    if (replay) {
      subscription.replay = undefined;
      this.parts.replays.end(replay);
      channel.replaying--;
    } else {
      connection.socket.unsubscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
      channel.subscribers--;
      if (withMetadata) channel.metadataSubscribers--;
    }
    if (member) this.parts.presence.onLeft(subscription, member);
    this.parts.spaces.forgetIfUnused(channel);
  }

  private setVariant(subscription: Subscription, withMetadata: boolean): void {
    if (subscription.withMetadata === withMetadata) return;
    const { channel, connection } = subscription;
    subscription.withMetadata = withMetadata;
    if (subscription.replay) return;
    channel.metadataSubscribers += withMetadata ? 1 : -1;
    connection.socket.unsubscribe(withMetadata ? channel.plainTopic : channel.metadataTopic);
    connection.socket.subscribe(withMetadata ? channel.metadataTopic : channel.plainTopic);
  }

  /** A channel that is new here, watched: the engine is asked for its members on other nodes. */
  private open(space: Space, name: string): Channel {
    const channel = new Channel(space, name);
    space.channels.set(name, channel);
    const { engine, boundary, streams } = this.parts;
    const rule = streams.ruleOf(space.id, name);
    if (rule) channel.graceSec = rule.graceSec;
    if (rule?.history) streams.begin(channel, rule.history);
    else if (rule?.stream) streams.beginCreated(channel);
    engine.watch(space.id, name, (remote) =>
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
    if (channel.isInUse) {
      for (const [node, members] of remote) this.parts.presence.onRemoteChanged(node, channel, members, []);
      this.parts.notes.opened(channel, remote);
    }
    for (const acknowledge of waiting) acknowledge();
  }
}

const positionField = (position: Position): string => `,"pos":"${positionText(position)}"`;
