/**
 * What this node publishes on channels: one sequence per channel, with sequence numbers. Items are kept for a while, so that a node
 * that finds a gap can request a replay. When a sequence becomes idle its last sequence number is repeated a few times: otherwise no
 * node would notice that the very last item was lost.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { SequencePlace, SequenceState } from "../wire/messages.ts";
import { RememberedSequences, type SequenceEnd } from "./remembered-sequences.ts";

/** Idle delays after which a sequence's last sequence number is repeated. */
const REPEAT_AFTER_MS = [1000, 4000, 15_000] as const;
/** A sequence that is idle for this time is reduced: only its end is remembered. */
const REDUCE_AFTER_MS = 60_000;
/**
 * Above this number of sequences, sequences are reduced after a shorter idle time, and the items kept for replay are dropped: a client
 * that publishes to ever new channels must not fill the memory. A node that requests such an item resynchronises the channel.
 */
export const SEQUENCES_CROWDED = 100_000;
export const REDUCE_CROWDED_AFTER_MS = 5000;
/** Bounds of the items kept for replay, over all sequences; the oldest are dropped first. */
const KEEP_MS = 30_000;
const KEEP_BYTES = 32 * 1024 * 1024;
/** The list of kept items is compacted from this number of dropped entries on, so that dropping one takes constant time. */
const COMPACT_FROM = 1024;

class OutgoingSequence implements SequenceEnd {
  readonly epoch: number;
  n: number;
  messageMs: number;
  readonly earlierMs: number;
  lastMs = 0;
  /** How often the last sequence number was repeated since the sequence became idle. */
  repeats = 0;
  /**
   * Kept items in order; their sequence numbers have no gap and end with `n`. Bound: KEEP_BYTES over all channels, and 30 s; the
   * oldest is dropped.
   */
  readonly kept: string[] = [];

  constructor(
    readonly spaceId: SpaceId,
    readonly channel: string,
    readonly subject: string,
    { epoch, n, messageMs, earlierMs }: SequenceEnd,
  ) {
    this.epoch = epoch;
    this.n = n;
    this.messageMs = messageMs;
    this.earlierMs = earlierMs;
  }
}

export class OutgoingSequences {
  /** Bound: channels that were published to in the last 60 s, above SEQUENCES_CROWDED in the last 5 s. */
  private readonly sequences = new Map<string, OutgoingSequence>();
  /** The ends of sequences that are not among them. */
  private readonly remembered = new RememberedSequences();
  /** All kept items from the oldest to the newest; those before `first` are dropped already. Bound: as `kept`. */
  private readonly order: { sequence: OutgoingSequence; bytes: number; atMs: number }[] = [];
  private first = 0;
  private bytes = 0;
  private lastEpoch = 0;
  /** Total time without a connection. Kept items do not age meanwhile: other nodes can request them only afterwards. */
  private unreachableMs = 0;
  private lastTickMs: number;

  constructor(
    private readonly node: string,
    private readonly subjectOf: (spaceId: SpaceId, channel: string) => string,
    private readonly nowMs: () => number,
    /** The transport reports each loss: sequence numbers are repeated only after it has. */
    private readonly areLossesReported = false,
  ) {
    this.lastTickMs = nowMs();
  }

  /** Adds the next item to a channel's sequence. `encode` makes its text; the caller publishes it. */
  append(
    spaceId: SpaceId,
    channel: string,
    encode: (place: SequencePlace) => string,
    isMessage = true,
  ): { readonly subject: string; readonly item: string } {
    const sequence = this.sequence(spaceId, channel);
    sequence.n++;
    sequence.lastMs = this.nowMs();
    if (isMessage) sequence.messageMs = sequence.lastMs;
    sequence.repeats = this.areLossesReported ? REPEAT_AFTER_MS.length : 0;
    const item = encode({ node: this.node, app: spaceId, channel, epoch: sequence.epoch, n: sequence.n });
    sequence.kept.push(item);
    this.order.push({ sequence, bytes: item.length, atMs: sequence.lastMs - this.unreachableMs });
    this.bytes += item.length;
    while (this.bytes > KEEP_BYTES) this.dropOldest();
    return { subject: sequence.subject, item };
  }

  /** Where a channel's sequence is. Epoch and sequence number are 0 when there is none, or its end is not remembered any more. */
  state(spaceId: SpaceId, channel: string): Omit<SequenceState, "app" | "channel" | "members"> {
    const name = key(spaceId, channel);
    const end = this.sequences.get(name) ?? this.remembered.get(name);
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

  /** Items from a place up to sequence number `to`; undefined: not all of them are kept any more. */
  replay({ app, channel, epoch, n }: SequencePlace, to: number): readonly string[] | undefined {
    const sequence = this.sequences.get(key(app, channel));
    if (!sequence || sequence.epoch !== epoch || to > sequence.n) return undefined;
    const firstKept = sequence.n - sequence.kept.length + 1;
    return n < firstKept ? undefined : sequence.kept.slice(n - firstKept, to - firstKept + 1);
  }

  /** Called periodically: drops what is old, and returns the sequences whose last sequence number must be repeated now. */
  tick(isReachable: boolean): OutgoingSequence[] {
    const now = this.nowMs();
    if (isReachable) this.dropOlderThan(now - this.unreachableMs - KEEP_MS);
    else this.unreachableMs += now - this.lastTickMs;
    this.lastTickMs = now;
    const due: OutgoingSequence[] = [];
    const isCrowded = isReachable && this.sequences.size > SEQUENCES_CROWDED;
    for (const [name, sequence] of this.sequences) {
      const idleMs = now - sequence.lastMs;
      const repeatAfterMs = REPEAT_AFTER_MS[sequence.repeats];
      if (repeatAfterMs !== undefined && idleMs >= repeatAfterMs) {
        sequence.repeats++;
        due.push(sequence);
      } else if (
        isCrowded ? idleMs >= REDUCE_CROWDED_AFTER_MS : idleMs >= REDUCE_AFTER_MS && sequence.kept.length === 0
      )
        this.reduce(name, sequence);
    }
    return due;
  }

  /** After an outage the repeats of every sequence start from the beginning. */
  repeatAll(): void {
    for (const sequence of this.sequences.values()) sequence.repeats = 0;
  }

  private sequence(spaceId: SpaceId, channel: string): OutgoingSequence {
    const name = key(spaceId, channel);
    let sequence = this.sequences.get(name);
    if (!sequence) {
      sequence = new OutgoingSequence(
        spaceId,
        channel,
        this.subjectOf(spaceId, channel),
        this.remembered.take(name) ?? this.begin(),
      );
      this.sequences.set(name, sequence);
    }
    return sequence;
  }

  private begin(): SequenceEnd {
    const earlierMs = this.remembered.forgottenMs;
    return { epoch: ++this.lastEpoch, n: 0, messageMs: Number.NEGATIVE_INFINITY, earlierMs };
  }

  private reduce(name: string, { epoch, n, messageMs, earlierMs }: OutgoingSequence): void {
    this.sequences.delete(name);
    this.remembered.add(name, { epoch, n, messageMs, earlierMs });
  }

  private dropOlderThan(atMs: number): void {
    while (this.first < this.order.length && (this.order[this.first]?.atMs ?? atMs) < atMs) this.dropOldest();
  }

  private dropOldest(): void {
    const entry = this.order[this.first++];
    if (!entry) return;
    entry.sequence.kept.shift();
    this.bytes -= entry.bytes;
    if (this.first < COMPACT_FROM || this.first * 2 < this.order.length) return;
    this.order.splice(0, this.first);
    this.first = 0;
  }
}

/** Unambiguous: an application's id contains no space. */
const key = (spaceId: SpaceId, channel: string): string => `${spaceId} ${channel}`;

/** In whole milliseconds, and never more than it is. */
const ageMs = (now: number, atMs: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.floor(now - atMs));
