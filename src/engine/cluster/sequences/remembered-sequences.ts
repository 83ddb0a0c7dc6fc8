/**
 * Where the sequences of idle channels have stopped. A channel that is used again continues its sequence. A node that was cut off for
 * long compares the end of a sequence with what it has received: if ends were not remembered, a sequence with messages that it has
 * missed would look like one that never existed.
 */

/** Bound: remembered sequences; the one that became idle first is forgotten first. About 200 bytes each. */
export const REMEMBERED_MAX = 100_000;

export interface SequenceEnd {
  readonly epoch: number;
  /** The last sequence number. */
  readonly n: number;
  /** When its last message was published; -Infinity: it has only member changes. */
  readonly messageMs: number;
  /** No message of an earlier sequence of the channel, if there was one, is later than this. -Infinity: there was none. */
  readonly earlierMs: number;
}

export class RememberedSequences {
  /** By channel, the one that became idle first at the front. Bound: REMEMBERED_MAX; the first is forgotten. */
  private readonly ends = new Map<string, SequenceEnd>();
  private latestMs = Number.NEGATIVE_INFINITY;

  /** No message of any sequence that is not remembered any more is later than this. */
  get forgottenMs(): number {
    return this.latestMs;
  }

  get(name: string): SequenceEnd | undefined {
    return this.ends.get(name);
  }

  add(name: string, end: SequenceEnd): void {
    this.ends.set(name, end);
    if (this.ends.size <= REMEMBERED_MAX) return;
    const [oldest] = this.ends;
    if (!oldest) return;
    const [oldestName, { messageMs, earlierMs }] = oldest;
    this.ends.delete(oldestName);
    this.latestMs = Math.max(this.latestMs, messageMs, earlierMs);
  }

  /** The sequence continues. */
  take(name: string): SequenceEnd | undefined {
    const end = this.ends.get(name);
    this.ends.delete(name);
    return end;
  }
}
