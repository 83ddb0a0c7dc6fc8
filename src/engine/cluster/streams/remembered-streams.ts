/**
 * Where the streams of idle channels have stopped. A channel that is used again continues its stream. A node that was cut off for
 * long compares the end of a stream with what it has received: if ends were not remembered, a stream with messages that it has
 * missed would look like one that never existed.
 */

/** Bound: remembered streams; the one that became idle first is forgotten first. About 200 bytes each. */
export const REMEMBERED_MAX = 100_000;

export interface StreamEnd {
  readonly epoch: number;
  /** The last sequence number. */
  readonly n: number;
  /** When its last message was published; -Infinity: it has only member changes. */
  readonly messageMs: number;
  /** No message of an earlier stream of the channel, if there was one, is later than this. -Infinity: there was none. */
  readonly earlierMs: number;
}

export class RememberedStreams {
  /** By channel, the one that became idle first at the front. Bound: REMEMBERED_MAX; the first is forgotten. */
  private readonly ends = new Map<string, StreamEnd>();
  private latestMs = Number.NEGATIVE_INFINITY;

  /** No message of any stream that is not remembered any more is later than this. */
  get forgottenMs(): number {
    return this.latestMs;
  }

  get(name: string): StreamEnd | undefined {
    return this.ends.get(name);
  }

  add(name: string, end: StreamEnd): void {
    this.ends.set(name, end);
    if (this.ends.size <= REMEMBERED_MAX) return;
    const [oldest] = this.ends;
    if (!oldest) return;
    const [oldestName, { messageMs, earlierMs }] = oldest;
    this.ends.delete(oldestName);
    this.latestMs = Math.max(this.latestMs, messageMs, earlierMs);
  }

  /** The stream continues. */
  take(name: string): StreamEnd | undefined {
    const end = this.ends.get(name);
    this.ends.delete(name);
    return end;
  }
}
