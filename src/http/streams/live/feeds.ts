/** Which channels are followed on this node, each once for all its readers over HTTP. */
import { type AppId, spaceOf } from "../../../base/ids.ts";
import type { Stream } from "../../../realtime/state/stream.ts";
import type { Channels } from "../../../realtime/subscriptions/channels.ts";
import { FEED_KEPT_MS } from "../limits.ts";
import { Feed } from "./feed.ts";
import type { Slices } from "./slices.ts";

interface FeedsParts {
  readonly channels: Pick<Channels, "follow">;
  readonly slices: Slices;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly maxBytes: number;
  readonly guarded: (step: () => void) => void;
}

interface Followed {
  readonly feed: Feed;
  readonly key: string;
  /** `undefined`: it cannot be followed. */
  readonly ready: Promise<Feed | undefined>;
  readonly settle: (feed: Feed | undefined) => void;
  stop: () => void;
}

export class Feeds {
  /** By application and channel. Bound: READERS_MAX, and channels that were read in the last seconds. */
  private readonly followed = new Map<string, Followed>();
  /** The same by feed. Bound: as `followed`. */
  private readonly byFeed = new Map<Feed, Followed>();

  constructor(private readonly parts: FeedsParts) {}

  get size(): number {
    return this.followed.size;
  }

  of(app: AppId, channel: string): Promise<Feed | undefined> {
    const key = `${app} ${channel}`;
    return (this.followed.get(key) ?? this.follow(app, channel, key)).ready;
  }

  private follow(app: AppId, channel: string, key: string): Followed {
    const feed = new Feed({ ...this.parts, ended: () => this.forget(feed) });
    const { promise: ready, resolve: settle } = Promise.withResolvers<Feed | undefined>();
    const followed: Followed = { feed, key, ready, settle, stop: () => undefined };
    this.followed.set(key, followed);
    this.byFeed.set(feed, followed);
    const opened = (stream: Stream | undefined): void => {
      if (stream) feed.open(stream);
      else this.forget(feed);
      settle(stream && feed);
    };
    followed.stop = this.parts.channels.follow(spaceOf(app), channel, feed, opened);
    // It may have been answered, or be over, within the call.
    if (this.byFeed.get(feed) !== followed) followed.stop();
    return followed;
  }

  private forget(feed: Feed): void {
    const followed = this.byFeed.get(feed);
    if (!followed) return;
    this.byFeed.delete(feed);
    if (this.followed.get(followed.key) === followed) this.followed.delete(followed.key);
    followed.settle(undefined);
    followed.stop();
  }

  /** Stops following the channels that have no readers any more. */
  sweep(): void {
    const nowMs = this.parts.monotonicMs();
    for (const feed of this.byFeed.keys())
      if (feed.isEmpty && nowMs - feed.idleSinceMs >= FEED_KEPT_MS) this.forget(feed);
  }
}
