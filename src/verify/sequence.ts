/**
 * The messages of one connection to one destination (a channel, or a peer's inbox), numbered from 1. One sequence per connection,
 * because no order is promised between two connections of a peer.
 */
import { Ranges } from "./ranges.ts";

/** The outcome of a message. `unknown`: there was no answer, or it did not say. */
export type Outcome = "acked" | "refused" | "unknown";

/** The sender's side: which messages are promised to subscribers. */
export class MessageSequence {
  sent = 0;
  /** Neither the loss nor the delivery of these is a problem: they have no answer yet, or one that does not say. */
  readonly open = new Ranges();
  readonly refused = new Ranges();
  readonly unknown = new Ranges();

  constructor(
    readonly connection: number,
    /** Its position among the sequences of its destination, by age. */
    readonly index: number,
  ) {}

  next(): number {
    this.sent++;
    this.open.add(this.sent);
    return this.sent;
  }

  /** false: it was answered before, or there is no such message. */
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

/** How a delivery relates to earlier ones. */
export type Taken = "new" | "doubled" | "late";

/** The receiver's side. Keeps the numbers that did not arrive, because almost all do. */
export class Track {
  private isBegun = false;
  private from = Number.POSITIVE_INFINITY;
  private first = this.from;
  private last = this.from;
  private readonly holes = new Ranges();

  constructor(readonly sequence: MessageSequence) {}

  /** Messages before the ack of the subscribe may arrive or not; from this number on, all must. */
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

  /** The newest number that arrived; if none did, the one before the first that must. */
  get newest(): number {
    return this.last;
  }

  /**
   * Promised but not received. After the end of a connection, messages in flight may be missing, and the client knows that: then
   * only gaps count.
   */
  lost(isStillOpen: boolean): Ranges {
    const missing = new Ranges([...this.holes]);
    if (isStillOpen) missing.add(this.last + 1, this.sequence.sent);
    return missing.within(this.from, this.sequence.sent).without(this.sequence.open);
  }

  /** Refused, which promises that it was delivered to no one, but received all the same. */
  get refusedButSeen(): Ranges {
    return this.sequence.refused.within(this.first, this.last).without(this.holes);
  }
}
