/**
 * What this node publishes on channels: one stream per channel, with sequence numbers. Items are kept for a while, so that a node
 * that finds a gap can request a replay. When a stream becomes idle its last sequence number is repeated a few times: otherwise no
 * node would notice that the very last item was lost.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { Position, StreamState } from "../wire/messages.ts";
import { RememberedStreams, type StreamEnd } from "./remembered-streams.ts";

/** Idle delays after which a stream's last sequence number is repeated. */
const REPEAT_AFTER_MS = [1000, 4000, 15_000] as const;
/** A stream that is idle for this time is reduced: only its end is remembered. */
const REDUCE_AFTER_MS = 60_000;
/**
 * Above this number of streams, streams are reduced after a shorter idle time, and the items kept for replay are dropped: a client
 * that publishes to ever new channels must not fill the memory. A node that requests such an item resynchronises the channel.
 */
export const STREAMS_CROWDED = 100_000;
export const REDUCE_CROWDED_AFTER_MS = 5000;
/** Bounds of the items kept for replay, over all streams; the oldest are dropped first. */
const KEEP_MS = 30_000;
const KEEP_BYTES = 32 * 1024 * 1024;
/** The list of kept items is compacted from this number of dropped entries on, so that dropping one takes constant time. */
const COMPACT_FROM = 1024;

class OutgoingStream implements StreamEnd {
  readonly epoch: number;
  n: number;
  messageMs: number;
  readonly earlierMs: number;
  lastMs = 0;
  /** How often the last sequence number was repeated since the stream became idle. */
  repeats = 0;
  /**
   * Kept items in order; their sequence numbers have no gap and end with `n`. Bound: KEEP_BYTES over all channels, and 30 s; the
   * oldest is dropped.
   */
  readonly kept: string[] = [];

  constructor(
    readonly app: SpaceId,
    readonly channel: string,
    readonly subject: string,
    { epoch, n, messageMs, earlierMs }: StreamEnd,
  ) {
    this.epoch = epoch;
    this.n = n;
    this.messageMs = messageMs;
    this.earlierMs = earlierMs;
  }
}

export class OutgoingStreams {
  /** Bound: channels that were published to in the last 60 s, above STREAMS_CROWDED in the last 5 s. */
  private readonly streams = new Map<string, OutgoingStream>();
  /** The ends of streams that are not among them. */
  private readonly remembered = new RememberedStreams();
  /** All kept items from the oldest to the newest; those before `first` are dropped already. Bound: as `kept`. */
  private readonly order: { stream: OutgoingStream; bytes: number; atMs: number }[] = [];
  private first = 0;
  private bytes = 0;
  private lastEpoch = 0;
  /** Total time without a connection. Kept items do not age meanwhile: other nodes can request them only afterwards. */
  private unreachableMs = 0;
  private lastTickMs: number;

  constructor(
    private readonly node: string,
    private readonly subjectOf: (app: SpaceId, channel: string) => string,
    private readonly nowMs: () => number,
    /** The transport reports each loss: sequence numbers are repeated only after it has. */
    private readonly areLossesReported = false,
  ) {
    this.lastTickMs = nowMs();
  }

  /** Adds the next item to a channel's stream. `encode` makes its text; the caller publishes it. */
  append(
    app: SpaceId,
    channel: string,
    encode: (position: Position) => string,
    isMessage = true,
  ): { readonly subject: string; readonly item: string } {
    const stream = this.stream(app, channel);
    stream.n++;
    stream.lastMs = this.nowMs();
    if (isMessage) stream.messageMs = stream.lastMs;
    stream.repeats = this.areLossesReported ? REPEAT_AFTER_MS.length : 0;
    const item = encode({ node: this.node, app, channel, epoch: stream.epoch, n: stream.n });
    stream.kept.push(item);
    this.order.push({ stream, bytes: item.length, atMs: stream.lastMs - this.unreachableMs });
    this.bytes += item.length;
    while (this.bytes > KEEP_BYTES) this.dropOldest();
    return { subject: stream.subject, item };
  }

  /** Where a channel's stream is. Epoch and sequence number are 0 when there is none, or its end is not remembered any more. */
  state(app: SpaceId, channel: string): Omit<StreamState, "app" | "channel" | "members"> {
    const name = key(app, channel);
    const end = this.streams.get(name) ?? this.remembered.get(name);
    const earlierMs = end?.earlierMs ?? this.remembered.forgottenMs;
    const now = this.nowMs();
    return {
      epoch: end?.epoch ?? 0,
      n: end?.n ?? 0,
      idleMs: ageMs(now, Math.max(earlierMs, end?.messageMs ?? earlierMs)),
      earlierIdleMs: ageMs(now, earlierMs),
      clockMs: Math.floor(now),
    };
  }

  /** Items from a position up to sequence number `to`; undefined: not all of them are kept any more. */
  replay({ app, channel, epoch, n }: Position, to: number): readonly string[] | undefined {
    const stream = this.streams.get(key(app, channel));
    if (!stream || stream.epoch !== epoch || to > stream.n) return undefined;
    const firstKept = stream.n - stream.kept.length + 1;
    return n < firstKept ? undefined : stream.kept.slice(n - firstKept, to - firstKept + 1);
  }

  /** Called periodically: drops what is old, and returns the streams whose last sequence number must be repeated now. */
  tick(isReachable: boolean): OutgoingStream[] {
    const now = this.nowMs();
    if (isReachable) this.dropOlderThan(now - this.unreachableMs - KEEP_MS);
    else this.unreachableMs += now - this.lastTickMs;
    this.lastTickMs = now;
    const due: OutgoingStream[] = [];
    const isCrowded = isReachable && this.streams.size > STREAMS_CROWDED;
    for (const [name, stream] of this.streams) {
      const idleMs = now - stream.lastMs;
      const repeatAfterMs = REPEAT_AFTER_MS[stream.repeats];
      if (repeatAfterMs !== undefined && idleMs >= repeatAfterMs) {
        stream.repeats++;
        due.push(stream);
      } else if (isCrowded ? idleMs >= REDUCE_CROWDED_AFTER_MS : idleMs >= REDUCE_AFTER_MS && stream.kept.length === 0)
        this.reduce(name, stream);
    }
    return due;
  }

  /** After an outage the repeats of every stream start from the beginning. */
  repeatAll(): void {
    for (const stream of this.streams.values()) stream.repeats = 0;
  }

  private stream(app: SpaceId, channel: string): OutgoingStream {
    const name = key(app, channel);
    let stream = this.streams.get(name);
    if (!stream) {
      stream = new OutgoingStream(
        app,
        channel,
        this.subjectOf(app, channel),
        this.remembered.take(name) ?? this.begin(),
      );
      this.streams.set(name, stream);
    }
    return stream;
  }

  private begin(): StreamEnd {
    const earlierMs = this.remembered.forgottenMs;
    return { epoch: ++this.lastEpoch, n: 0, messageMs: Number.NEGATIVE_INFINITY, earlierMs };
  }

  private reduce(name: string, { epoch, n, messageMs, earlierMs }: OutgoingStream): void {
    this.streams.delete(name);
    this.remembered.add(name, { epoch, n, messageMs, earlierMs });
  }

  private dropOlderThan(atMs: number): void {
    while (this.first < this.order.length && (this.order[this.first]?.atMs ?? atMs) < atMs) this.dropOldest();
  }

  private dropOldest(): void {
    const entry = this.order[this.first++];
    if (!entry) return;
    entry.stream.kept.shift();
    this.bytes -= entry.bytes;
    if (this.first < COMPACT_FROM || this.first * 2 < this.order.length) return;
    this.order.splice(0, this.first);
    this.first = 0;
  }
}

/** Unambiguous: an application's id contains no space. */
const key = (app: SpaceId, channel: string): string => `${app} ${channel}`;

/** In whole milliseconds, and never more than it is. */
const ageMs = (now: number, atMs: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.floor(now - atMs));
