/**
 * What this node gives to channels: numbered, one lane a channel, and kept for a while, so that a node which finds a number
 * missing can have it again. When a lane falls silent its last number is repeated a few times: else nobody would notice that
 * the very last message was lost.
 */
import type { Place } from "./encode.ts";

/** Of silence, after which the last number is told again. */
const REPEAT_AFTER_MS = [1000, 4000, 15_000] as const;
/** A lane that has been silent for so long is forgotten; its successor has another epoch. */
const FORGET_AFTER_MS = 60_000;
/**
 * With more lanes than this, those that have been silent for a shorter time are forgotten too, with what is kept of them: a client
 * that publishes to ever new channels must not fill the memory. A node that asks for such an item then resynchronises the channel.
 */
export const LANES_CROWDED = 100_000;
export const FORGET_CROWDED_AFTER_MS = 5000;
const KEEP_MS = 30_000;
const KEEP_BYTES = 32 * 1024 * 1024;

export class Lane {
  n = 0;
  lastMs = 0;
  /** How often its last number has been repeated since it fell silent. */
  repeats = 0;
  /** Kept items in order, numbers without a gap up to `n`. */
  readonly kept: string[] = [];

  constructor(
    readonly app: string,
    readonly channel: string,
    readonly subject: string,
    readonly epoch: number,
  ) {}
}

export class Lanes {
  private readonly lanes = new Map<string, Lane>();
  /** In the order they were given: whose item is dropped next. */
  private readonly order: { lane: Lane; bytes: number; atMs: number }[] = [];
  private first = 0;
  private bytes = 0;
  private lastEpoch = 0;
  /** How long nothing could be heard, all in all: what is kept does not age meanwhile, nor is it too old when that ends. */
  private silencedMs = 0;
  private lastDueMs: number;

  constructor(
    private readonly node: string,
    private readonly subjectOf: (app: string, channel: string) => string,
    private readonly nowMs: () => number,
  ) {
    this.lastDueMs = nowMs();
  }

  /** The next item of a channel's lane, as `write` makes it of its place; kept, and to be sent. */
  give(
    app: string,
    channel: string,
    write: (place: Place) => string,
  ): { readonly subject: string; readonly item: string } {
    const lane = this.lane(app, channel);
    lane.n++;
    lane.lastMs = this.nowMs();
    lane.repeats = 0;
    const item = write({ node: this.node, app, channel, epoch: lane.epoch, n: lane.n });
    lane.kept.push(item);
    this.order.push({ lane, bytes: item.length, atMs: lane.lastMs - this.silencedMs });
    this.bytes += item.length;
    this.dropOverflow();
    return { subject: lane.subject, item };
  }

  /** Where a channel's lane stands; 0, 0: there is none. */
  state(app: string, channel: string): { readonly epoch: number; readonly n: number } {
    const lane = this.lanes.get(key(app, channel));
    return lane ? { epoch: lane.epoch, n: lane.n } : { epoch: 0, n: 0 };
  }

  /** Items from the place on, up to number `to`; undefined: not all of them are kept any more. */
  again({ app, channel, epoch, n }: Place, to: number): readonly string[] | undefined {
    const lane = this.lanes.get(key(app, channel));
    if (!lane || lane.epoch !== epoch || to > lane.n) return undefined;
    const firstKept = lane.n - lane.kept.length + 1;
    return n < firstKept ? undefined : lane.kept.slice(n - firstKept, to - firstKept + 1);
  }

  /** Lanes whose last number is to be repeated now. `isSilenced`: nothing ages, for nothing of it could be heard. */
  due(isSilenced: boolean): Lane[] {
    const now = this.nowMs();
    if (isSilenced) this.silencedMs += now - this.lastDueMs;
    else this.dropOld(now - this.silencedMs);
    this.lastDueMs = now;
    const due: Lane[] = [];
    const isCrowded = !isSilenced && this.lanes.size > LANES_CROWDED;
    for (const [name, lane] of this.lanes) {
      const silence = now - lane.lastMs;
      const after = REPEAT_AFTER_MS[lane.repeats];
      if (after !== undefined && silence >= after) {
        lane.repeats++;
        due.push(lane);
      } else if (isCrowded ? silence >= FORGET_CROWDED_AFTER_MS : silence >= FORGET_AFTER_MS && lane.kept.length === 0)
        this.lanes.delete(name);
    }
    return due;
  }

  /** After a time in which nothing got through: every last number is worth repeating. */
  repeatAll(): void {
    for (const lane of this.lanes.values()) lane.repeats = 0;
  }

  private lane(app: string, channel: string): Lane {
    const name = key(app, channel);
    let lane = this.lanes.get(name);
    if (!lane) {
      lane = new Lane(app, channel, this.subjectOf(app, channel), ++this.lastEpoch);
      this.lanes.set(name, lane);
    }
    return lane;
  }

  private dropOverflow(): void {
    while (this.bytes > KEEP_BYTES) this.dropFirst();
  }

  private dropOld(now: number): void {
    while (this.first < this.order.length && now - (this.order[this.first]?.atMs ?? now) > KEEP_MS) this.dropFirst();
  }

  private dropFirst(): void {
    const entry = this.order[this.first++];
    if (!entry) return;
    entry.lane.kept.shift();
    this.bytes -= entry.bytes;
    // Now and then, so that leaving costs nothing.
    if (this.first < 1024 || this.first * 2 < this.order.length) return;
    this.order.splice(0, this.first);
    this.first = 0;
  }
}

/** An application's id has no space in it. */
const key = (app: string, channel: string): string => `${app} ${channel}`;
