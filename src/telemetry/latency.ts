/**
 * Counts of durations in buckets that are fine enough for a median. Finding the bucket is one look into a table, because this
 * happens with every published message.
 */

/** Upper bounds in microseconds, ascending. What is longer than the last is counted above it. */
export const LATENCY_BOUNDS_US: readonly number[] = [
  5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1250, 1500, 2000, 2500,
  3000, 4000, 5000, 6500, 8000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, 250_000, 1_000_000,
];

export const LATENCY_BUCKETS = LATENCY_BOUNDS_US.length + 1;
const TABLE_MAX_US = 1000;

const searched = (us: number): number => {
  const at = LATENCY_BOUNDS_US.findIndex((bound) => us <= bound);
  return at < 0 ? LATENCY_BUCKETS - 1 : at;
};

const TABLE = Uint8Array.from({ length: TABLE_MAX_US + 1 }, (_, us) => searched(us));

export class Latency {
  readonly counts = new Float64Array(LATENCY_BUCKETS);
  sumMs = 0;

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  observeMs(ms: number): void {
    const us = ms * 1000;
    const bucket = us <= TABLE_MAX_US ? (TABLE[Math.ceil(us)] ?? 0) : searched(us);
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sumMs += ms;
  }

  add(other: Latency): void {
    for (let i = 0; i < LATENCY_BUCKETS; i++) this.counts[i] = (this.counts[i] as number) + (other.counts[i] as number);
    this.sumMs += other.sumMs;
  }

  /** How many took at most this long; one of the bounds. */
  atMost(us: number): number {
    let sum = 0;
    for (let i = 0; i < LATENCY_BOUNDS_US.length && (LATENCY_BOUNDS_US[i] as number) <= us; i++)
      sum += this.counts[i] as number;
    return sum;
  }
}

/** The duration in ms that this share of the counted ones does not exceed, evenly spread inside a bucket; NaN if there are none. */
export function quantileMs(counts: ArrayLike<number>, share: number): number {
  let total = 0;
  for (let i = 0; i < LATENCY_BUCKETS; i++) total += counts[i] as number;
  if (total <= 0) return Number.NaN;
  let left = share * total;
  for (let i = 0; i < LATENCY_BOUNDS_US.length; i++) {
    const inBucket = counts[i] as number;
    const from = i === 0 ? 0 : (LATENCY_BOUNDS_US[i - 1] as number);
    if (left <= inBucket && inBucket > 0)
      return (from + ((LATENCY_BOUNDS_US[i] as number) - from) * (left / inBucket)) / 1000;
    left -= inBucket;
  }
  return (LATENCY_BOUNDS_US.at(-1) as number) / 1000;
}
