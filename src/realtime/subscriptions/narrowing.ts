/** Ends what a connection holds and may hold no longer, because its key was edited, its token replaced, or its room has changed. */
import { bitOf } from "../../protocol/actions.ts";
import * as encode from "../../protocol/encode.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Connection } from "../state/connection.ts";
import type { Subscription } from "../state/subscription.ts";
import type { Channels } from "./channels.ts";

const PRESENCE = bitOf("presence");
const SUBSCRIBE = bitOf("subscribe");

export const unseenText = (room: string): string =>
  `Subscribe to ${room} first, so that the room's participants see each other.`;

type Narrow = "key" | "token" | "room";

interface NarrowingParts {
  readonly channels: Channels;
  readonly metrics: RealtimeMetrics;
  readonly emitter: Emitter;
}

export class Narrowing {
  constructor(private readonly parts: NarrowingParts) {}

  /**
   * `narrow` has changed, and is named in the errors. `covers`: whether what has changed covers a channel; for an edit of a key that
   * is the key alone, and the caller remembers the answers. Returns how many subscriptions have ended or lost their presence.
   */
  endFor(connection: Connection, narrow: Narrow, covers: (channel: string) => boolean): number {
    const { channels } = this.parts;
    let changed = 0;
    for (const subscription of [...connection.subscriptions]) {
      // A fault may have closed the connection meanwhile.
      if (subscription.isEnded) continue;
      changed++;
      const { name } = subscription.channel;
      if (!connection.mayOn(SUBSCRIBE, name) || !covers(name)) this.revoke(subscription, narrow);
      else if ((subscription.member || subscription.withOccupancy) && !connection.mayOn(PRESENCE, name))
        channels.withdrawPresence(subscription);
      else changed--;
    }
    return changed;
  }

  /** A participant is not shown in its room any more, or not yet: every subscription ends but that to the channel `room`, which would show it. */
  endUnseen(connection: Connection, room: string): void {
    for (const subscription of [...connection.subscriptions])
      if (!subscription.isEnded && subscription.channel.name !== room) this.end(subscription, unseenText(room));
  }

  private revoke(subscription: Subscription, narrow: Narrow): void {
    this.end(subscription, `The ${narrow} no longer allows subscribing to the channel ${subscription.channel.json}.`);
  }

  private end(subscription: Subscription, message: string): void {
    const { connection, channel } = subscription;
    this.parts.channels.end(subscription, "revoked");
    this.parts.metrics.errors.inc();
    connection.socket.send(encode.channelError("channel_not_authorized", channel.json, message));
    this.parts.emitter.failed(connection, "channel_not_authorized", channel.name);
  }
}
