/** Live reads: what is there already is answered from the store; then the request waits on a feed of its channel. */
import type { Clock } from "../../../base/clock.ts";
import { Problem } from "../../../protocol/codes.ts";
import type { Kept } from "../../../realtime/streams/created.ts";
import type { Streams } from "../../../realtime/streams/streams.ts";
import type { Channels } from "../../../realtime/subscriptions/channels.ts";
import type { FaultLog } from "../../../telemetry/faults.ts";
import { safely } from "../../../telemetry/safely.ts";
import type { Call } from "../../request/call.ts";
import { endHeaders, pageAnswer, trimmedHeader } from "../answers.ts";
import { type Caller, permit } from "../caller.ts";
import { cursorFor } from "../cursor.ts";
import { EVENTS_MAX_MS, EVENTS_MIN_MS } from "../limits.ts";
import type { StreamPage, StreamPages } from "../pages.ts";
import type { ReadQuery } from "../read-query.ts";
import { EventReader } from "./events.ts";
import type { Feed } from "./feed.ts";
import { Feeds } from "./feeds.ts";
import { Poll } from "./poll.ts";
import { Readers, type ReadersParts } from "./readers.ts";
import { Slices } from "./slices.ts";

const FEED_TRIES = 3;
/** The end of a poll is noticed by the sweep: no poll takes longer than this setting for that. */
const POLL_EARLY_MS = 500;

interface LiveParts extends Omit<ReadersParts, "slices" | "guarded" | "swept"> {
  readonly channels: Pick<Channels, "follow">;
  readonly streams: Pick<Streams, "lookAgain" | "verify" | "loopShare">;
  readonly pages: StreamPages;
  readonly clock: Clock;
  readonly faults: FaultLog;
  readonly pollSeconds: number;
  readonly maxBytes: number;
  /** Checks a credential again. Throws if it is not valid any more. */
  readonly recheck: (caller: Caller) => Caller;
}

export class Live {
  readonly readers: Readers;
  private readonly feeds: Feeds;

  constructor(private readonly parts: LiveParts) {
    const { clock, faults, channels, maxBytes, streams } = parts;
    const { monotonicMs, wallMs } = clock;
    const guarded = (step: () => void): void => safely(faults, "socket", step);
    const slices = new Slices({ monotonicMs: () => clock.monotonicMs(), defer: streams.loopShare.defer });
    this.feeds = new Feeds({ channels, slices, wallMs, monotonicMs, maxBytes, guarded });
    this.readers = new Readers({ ...parts, slices, guarded, swept: () => this.feeds.sweep() });
  }

  async longPoll(
    call: Call,
    caller: Caller,
    channel: string,
    kept: Kept,
    query: ReadQuery,
    page: StreamPage,
  ): Promise<Response> {
    const { request } = call;
    const cursor = cursorFor(query.cursor, this.parts.clock.wallMs());
    if (page.messages.length > 0) return pageAnswer(request, caller, page, query, cursor);
    if (page.isClosed) return nothing(page, undefined);
    const seat = await this.readers.seat(call, caller, query.cursor === undefined);
    try {
      const feed = await this.feedFor(caller, channel, kept, page);
      if (!feed.hasMore(page.next) && (await this.wait(call, caller, channel, feed, page)) !== "more") {
        // Why it has ended, if it may not go on.
        permit(this.parts.recheck(caller), channel, "subscribe");
        if (feed.isOf(page.epoch)) return nothing(page, cursor);
      }
      // Its rule may have changed meanwhile; what it was is not removed from the store at once.
      const keptNow = this.parts.pages.keptNow(caller, channel);
      const next = await this.pageBehind(caller, channel, keptNow, query, feed, page);
      return next.messages.length > 0 ? pageAnswer(request, caller, next, query, cursor) : nothing(next, cursor);
    } finally {
      seat.end();
    }
  }

  private async wait(call: Call, caller: Caller, channel: string, feed: Feed, page: StreamPage): Promise<string> {
    const endsMs = this.parts.clock.monotonicMs() + this.parts.pollSeconds * 1000 - POLL_EARLY_MS;
    const poll = new Poll(caller, channel, { feed, at: page.next, endsMs });
    const gone = (): void => poll.end();
    // Longer than the usual idle timeout.
    call.suspendIdleTimeout();
    call.request.signal.addEventListener("abort", gone);
    feed.add(poll);
    this.readers.add(poll);
    try {
      return await poll.waited;
    } finally {
      this.readers.remove(poll);
      feed.remove(poll);
      call.request.signal.removeEventListener("abort", gone);
      call.restoreIdleTimeout();
    }
  }

  /** From this node if it holds it. */
  private async pageBehind(
    caller: Caller,
    channel: string,
    kept: Kept,
    { view }: ReadQuery,
    feed: Feed,
    page: StreamPage,
  ): Promise<StreamPage> {
    const shared = feed.isOf(page.epoch) ? feed.behind(page.next, view) : undefined;
    if (!shared) return this.parts.pages.read(caller, channel, kept, page.next);
    return { ...page, ...shared.batch, from: page.next.offset, body: shared.body };
  }

  async events(
    call: Call,
    caller: Caller,
    channel: string,
    kept: Kept,
    query: ReadQuery,
    page: StreamPage,
  ): Promise<Response> {
    // After any other status an EventSource comes back.
    if (query.isResumed && page.isClosed && page.messages.length === 0) return nothing(page, undefined);
    const { clock, pages, faults } = this.parts;
    const seat = await this.readers.seat(call, caller, true);
    try {
      const feed = await this.feedFor(caller, channel, kept, page);
      const lifeMs = EVENTS_MIN_MS + Math.random() * (EVENTS_MAX_MS - EVENTS_MIN_MS);
      const reader = new EventReader(caller, channel, page, {
        feed,
        view: query.view,
        cursor: cursorFor(query.cursor, clock.wallMs()),
        endsMs: clock.monotonicMs() + lifeMs,
        monotonicMs: clock.monotonicMs,
        read: (place) => pages.read(caller, channel, kept, place),
        faulted: (error) => faults.caught("socket", error),
        over: (one) => {
          this.readers.remove(one);
          feed.remove(one);
          seat.end();
          // A client that does not take the rest is disconnected by that.
          call.restoreIdleTimeout();
        },
      });
      call.suspendIdleTimeout();
      feed.add(reader);
      this.readers.add(reader);
      return reader.respond(trimmedHeader(page));
    } catch (error) {
      seat.end();
      throw error;
    }
  }

  /** A stream that was just created may not be known on this node yet. */
  private async feedFor(caller: Caller, channel: string, kept: Kept, page: StreamPage): Promise<Feed> {
    const { streams } = this.parts;
    for (let tries = 0; tries < FEED_TRIES; tries++) {
      const feed = await this.feeds.of(caller.app, channel);
      if (feed?.isOf(page.epoch)) return feed;
      if (feed?.stream) await (kept.kind === "created" ? streams.lookAgain(feed.stream) : streams.verify(feed.stream));
    }
    throw new Problem("backend_error", "The stream cannot be followed at the moment. Try again.", 1);
  }
}

/** Nothing has come; the stream may have been closed. */
function nothing(page: StreamPage, cursor: number | undefined): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...endHeaders(page.next, page.isClosed),
      ...trimmedHeader(page),
      "Stream-Up-To-Date": "true",
      ...(cursor !== undefined && { "Stream-Cursor": String(cursor) }),
    },
  });
}
