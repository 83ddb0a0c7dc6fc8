/**
 * Messages of one sender's connection to one place (a channel, or a peer's inbox), numbered from 1. Only of one connection:
 * nothing is promised about the order of what a peer says over two.
 */
import { Ranges } from "./ranges.ts";

/** What became of a message: `unknown`, the answer did not say, or never came. */
export type Outcome = "acked" | "refused" | "unknown";

/** The sender's side: which messages are promised to whoever listens. */
export class Stream {
  sent = 0;
  /** Neither loss nor delivery of these is a fault: without an answer yet, or one that does not say. */
  readonly open = new Ranges();
  readonly refused = new Ranges();
  readonly unknown = new Ranges();

  constructor(
    readonly connection: number,
    /** Which of its place's streams it is, by age. */
    readonly index: number,
  ) {}

  next(): number {
    this.sent++;
    this.open.add(this.sent);
    return this.sent;
  }

  /** false: there was an answer before, or no such message. */
  answered(number: number, outcome: Outcome): boolean {
    if (!this.open.has(number) || this.refused.has(number) || this.unknown.has(number)) return false;
    if (outcome === "acked") this.open.delete(number);
    else this[outcome].add(number);
    return true;
  }

  get unanswered(): Ranges {
    return this.open.without(this.refused).without(this.unknown);
  }
}

/** What one delivery was to its receiver. */
export type Taken = "new" | "doubled" | "late";

/** The receiver's side. Holds numbers that did not come, not those that did: nearly all do. */
export class Track {
  private isBegun = false;
  private from = Number.POSITIVE_INFINITY;
  private first = this.from;
  private last = this.from;
  private readonly holes = new Ranges();

  constructor(readonly stream: Stream) {}

  /** What was sent before the receiver knew that it listens may come or not; from this number on all must. */
  promise(from: number): this {
    this.from = from;
    if (!this.isBegun) {
      this.first = from;
      this.last = from - 1;
    }
    return this;
  }

  take(number: number): Taken {
    if (!this.isBegun && number < this.from) {
      this.isBegun = true;
      this.first = this.last = number;
      return "new";
    }
    this.isBegun = true;
    if (number > this.last) {
      this.holes.add(this.last + 1, number - 1);
      this.last = number;
      return "new";
    }
    if (number < this.first) {
      this.holes.add(number + 1, this.first - 1);
      this.first = number;
      return "late";
    }
    return this.holes.delete(number) ? "late" : "doubled";
  }

  /** The newest that came; where none did, the one before the first that must. */
  get newest(): number {
    return this.last;
  }

  /**
   * Promised and not received. To a connection that ended, what was on the way may be missing, and it knows: of such a one
   * only what was skipped counts.
   */
  lost(isStillListening: boolean): Ranges {
    const missing = new Ranges([...this.holes]);
    if (isStillListening) missing.add(this.last + 1, this.stream.sent);
    return missing.within(this.from, this.stream.sent).without(this.stream.open);
  }

  /** Refused, which says that it was delivered nowhere, and received all the same. */
  get refusedButSeen(): Ranges {
    return this.stream.refused.within(this.first, this.last).without(this.holes);
  }
}
