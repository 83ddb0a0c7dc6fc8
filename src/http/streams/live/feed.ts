/** A channel that is followed for the readers who wait for its messages. */
import type { Position } from "../../../protocol/position.ts";
import type { Follower } from "../../../realtime/state/channel.ts";
import type { Stream } from "../../../realtime/state/stream.ts";
import { SLICE_POLLS } from "../limits.ts";
import type { View } from "../read-query.ts";
import { Batches, type SharedBatch } from "./batches.ts";
import type { LiveReader } from "./reader.ts";
import type { Sliced, Slices } from "./slices.ts";

interface FeedParts {
  readonly slices: Slices;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly maxBytes: number;
  /** Runs a step of one reader, whose failure must not reach the others. */
  readonly guarded: (step: () => void) => void;
  readonly ended: (feed: Feed) => void;
}

export class Feed implements Follower, Sliced {
  /** Bound: READERS_MAX of a node. */
  private readonly readers = new Set<LiveReader>();
  private opened: Stream | undefined;
  private batches: Batches | undefined;
  private isOver = false;
  /** There is more than what those who were woken know of. */
  private isChanged = false;
  private pass: Iterator<LiveReader> | undefined;
  /** Monotonic ms since it has no readers. */
  idleSinceMs: number;

  constructor(private readonly parts: FeedParts) {
    this.idleSinceMs = parts.monotonicMs();
  }

  open(stream: Stream): void {
    this.opened = stream;
    this.batches = new Batches(stream, this.parts.wallMs, this.parts.maxBytes);
  }

  /** `undefined` until it is open. */
  get stream(): Stream | undefined {
    return this.opened;
  }

  /** For operators. */
  get readerCount(): number {
    return this.readers.size;
  }

  get isEmpty(): boolean {
    return this.readers.size === 0;
  }

  /** Whether what this node knows is the stream that the reader reads. */
  isOf(epoch: string): boolean {
    return !this.isOver && this.opened?.isOpen === true && this.opened.epoch === epoch;
  }

  /** What has come behind this place, or that nothing has; `undefined`: this node does not hold it. */
  behind(place: Position, view: View): SharedBatch | undefined {
    return this.batches?.at(place, view);
  }

  /** Whether there is something behind this place. */
  hasMore({ offset }: Position): boolean {
    const { opened } = this;
    return opened !== undefined && (opened.delivered > offset || (opened.isClosed && !opened.hasGap));
  }

  add(reader: LiveReader): void {
    this.readers.add(reader);
    if (this.isOver) this.parts.slices.add(this);
  }

  remove(reader: LiveReader): void {
    this.readers.delete(reader);
    if (this.readers.size === 0) this.idleSinceMs = this.parts.monotonicMs();
  }

  changed(): void {
    if (this.readers.size === 0) return;
    this.isChanged = true;
    this.parts.slices.add(this);
  }

  ended(): void {
    this.isOver = true;
    this.parts.ended(this);
    this.changed();
  }

  goOn(untilMs: number): boolean {
    const { monotonicMs, guarded } = this.parts;
    if (!this.pass) {
      this.pass = this.readers.values();
      this.isChanged = false;
    }
    let later = 0;
    do {
      const { value: reader } = this.pass.next();
      if (!reader) {
        this.pass = undefined;
        return !this.isChanged;
      }
      guarded(() => {
        if (this.isOver) reader.end();
        else later += reader.wake();
      });
    } while (monotonicMs() < untilMs && later < SLICE_POLLS);
    return false;
  }
}
