/**
 * Sends how many peers and connections a channel has to the subscriptions that asked for it (history 5): at once, and when it has
 * changed, at most once a second. Members are known here from all nodes. Connections of other nodes are asked for once a second,
 * for all channels together, and only while a subscription here wants to know.
 */
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { asSpaceId } from "../../base/ids.ts";
import { lazily } from "../../base/lazily.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { occupancy } from "../../protocol/encode.ts";
import { CHANNEL_MAX_BYTES } from "../../protocol/limits.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Channel } from "../state/channel.ts";
import type { Broadcast } from "../state/socket.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Subscription } from "../state/subscription.ts";

const EVERY_MS = 1000;
/** Channels that are new here within this time are asked for together. */
const FIRST_MS = 20;
const CHANNELS_PER_REQUEST = 500;

const REQUEST = "channel connections";
const wanted = lazily(() =>
  z.array(z.tuple([z.string().max(128), z.string().max(CHANNEL_MAX_BYTES)])).max(CHANNELS_PER_REQUEST),
);
const counts = lazily(() => z.array(z.int().min(0)).max(CHANNELS_PER_REQUEST));

interface Watched {
  /** Connections on other nodes; `undefined` until they are known. */
  elsewhere: number | undefined;
  /** The frame that the topic was sent last. */
  sent: string | undefined;
}

interface OccupancyFramesParts {
  readonly clock: Clock;
  readonly broadcast: Broadcast;
  readonly nodeRequests: NodeRequests;
  readonly spaces: Spaces;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
}

export class OccupancyFrames {
  /** Channels with subscriptions that want to know. Bound: channels in use here. */
  private readonly watched = new Map<Channel, Watched>();
  private isTimerSet = false;
  private isFirstSet = false;

  constructor(private readonly parts: OccupancyFramesParts) {
    parts.nodeRequests.onRequest(REQUEST, (payload) =>
      wanted()
        .parse(payload)
        .map(([app, name]) => connectionsOf(parts.spaces.channel(asSpaceId(app), name))),
    );
  }

  /** The subscribe is acked; it may be repeated with another wish. */
  acked(subscription: Subscription, wants: boolean): void {
    this.set(subscription, wants);
    if (!wants) return;
    const { channel, connection } = subscription;
    const watched = this.watched.get(channel);
    // What is not known yet goes to the topic as soon as it is.
    if (watched?.elsewhere !== undefined) connection.socket.send(frameOf(channel, watched.elsewhere));
    else this.askSoon();
  }

  /** The subscription has ended, or may not know any more. */
  set(subscription: Subscription, wants: boolean): void {
    const { channel, connection } = subscription;
    if (subscription.withOccupancy === wants) return;
    subscription.withOccupancy = wants;
    channel.occupancySubscribers += wants ? 1 : -1;
    if (wants) connection.socket.subscribe(channel.occupancyTopic);
    else connection.socket.unsubscribe(channel.occupancyTopic);
    if (channel.occupancySubscribers === 0) this.watched.delete(channel);
    else if (!this.watched.has(channel)) this.watched.set(channel, { elsewhere: undefined, sent: undefined });
    this.setTimer();
  }

  private askSoon(): void {
    if (this.isFirstSet) return;
    this.isFirstSet = true;
    this.parts.clock.after(FIRST_MS, () => {
      this.isFirstSet = false;
      void this.ask([...this.watched].flatMap(([channel, { elsewhere }]) => (elsewhere === undefined ? channel : [])));
    });
  }

  private setTimer(): void {
    if (this.isTimerSet || this.watched.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(EVERY_MS, () => {
      this.isTimerSet = false;
      void this.ask([...this.watched.keys()]);
      this.setTimer();
    });
  }

  /** Asks the other nodes, and then sends what has changed. Never rejects. */
  private async ask(channels: readonly Channel[]): Promise<void> {
    try {
      for (let at = 0; at < channels.length; at += CHANNELS_PER_REQUEST) {
        const some = channels.slice(at, at + CHANNELS_PER_REQUEST);
        const payload = some.map(({ space, name }) => [space.id, name]);
        const { answers, isComplete } = await this.parts.nodeRequests.gather(REQUEST, payload, (one) =>
          counts().parse(one),
        );
        const [, ...others] = answers;
        for (const [i, channel] of some.entries())
          this.answered(
            channel,
            others.reduce((sum, one) => sum + (one[i] ?? 0), 0),
            isComplete,
          );
      }
    } catch (error) {
      this.parts.faults.caught("engine", error);
    }
  }

  private answered(channel: Channel, elsewhere: number, isComplete: boolean): void {
    const watched = this.watched.get(channel);
    if (!watched) return;
    // Without the answer of every node, what was known before is nearer to the truth.
    if (isComplete || watched.elsewhere === undefined) watched.elsewhere = elsewhere;
    const frame = frameOf(channel, watched.elsewhere);
    if (frame === watched.sent) return;
    watched.sent = frame;
    this.parts.metrics.occupancyFrames.inc(channel.occupancySubscribers);
    this.parts.broadcast(channel.occupancyTopic, frame, undefined);
  }
}

const connectionsOf = (channel: Channel | undefined): number => (channel ? channel.subscribers + channel.replaying : 0);

const frameOf = (channel: Channel, elsewhere: number): string =>
  occupancy(channel.json, channel.members.size, connectionsOf(channel) + elsewhere);
