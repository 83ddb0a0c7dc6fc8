/** Token buckets by key: a burst at once, then a steady rate. Full buckets are removed. */
interface Bucket {
  left: number;
  at: number;
}

const SWEEP_EVERY = 10_000;
/** Bound: beyond this number of buckets the oldest is removed, and its key starts with a full one. */
export const BUCKETS_MAX = 100_000;

export class Throttle {
  /** Bound: BUCKETS_MAX, the oldest begins anew; full ones are removed every SWEEP_EVERY calls. */
  private readonly buckets = new Map<string, Bucket>();
  private calls = 0;

  /** A rate of 0 means no limit. `now` is monotonic milliseconds. */
  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private readonly now: () => number,
  ) {}

  /** Nothing is counted: a caller need not make a key. */
  get isOff(): boolean {
    return this.perSecond === 0;
  }

  /** Takes one; returns 0, or the seconds to wait until one is available. */
  take(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    if (bucket.left < 1) return this.secondsToWait(bucket);
    bucket.left -= 1;
    this.keep(key, bucket);
    return 0;
  }

  /** Takes `cost` more, also where fewer are left: the key then waits longer. A negative cost gives back. */
  charge(key: string, cost: number): void {
    if (this.perSecond === 0) return;
    const bucket = this.refilled(key);
    bucket.left -= cost;
    // Full again: a key without a bucket starts with a full one, so there is nothing to keep.
    if (bucket.left >= this.burst) this.buckets.delete(key);
    else this.keep(key, bucket);
  }

  /** Seconds to wait if more was charged than was left; 0 without a debt. Takes nothing. */
  debt(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    return bucket.left < 0 ? this.secondsToWait(bucket) : 0;
  }

  /** Seconds to wait until one is available; 0: now. Takes nothing. */
  wait(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    return bucket.left < 1 ? this.secondsToWait(bucket) : 0;
  }

  protected has(key: string): boolean {
    return this.buckets.has(key);
  }

  get size(): number {
    return this.buckets.size;
  }

  private refilled(key: string): Bucket {
    const now = this.now();
    const bucket = this.buckets.get(key);
    if (!bucket) return { left: this.burst, at: now };
    bucket.left = Math.min(this.burst, bucket.left + ((now - bucket.at) / 1000) * this.perSecond);
    bucket.at = now;
    return bucket;
  }

  private secondsToWait(bucket: Bucket): number {
    return Math.max(1, Math.ceil((1 - bucket.left) / this.perSecond));
  }

  private keep(key: string, bucket: Bucket): void {
    if (this.buckets.size >= BUCKETS_MAX && !this.buckets.has(key)) this.removeOldest();
    this.buckets.set(key, bucket);
    this.sweepSometimes();
  }

  private removeOldest(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }

  /** To be called for each key that may be new. */
  protected sweepSometimes(): void {
    if (++this.calls % SWEEP_EVERY === 0) this.sweep();
  }

  private sweep(): void {
    for (const key of this.buckets.keys()) if (this.refilled(key).left >= this.burst) this.buckets.delete(key);
  }
}
