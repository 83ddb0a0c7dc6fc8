/** Token buckets by key: a burst at once, then a steady rate. Buckets that are full again are forgotten. */
interface Bucket {
  left: number;
  at: number;
}

const SWEEP_EVERY = 10_000;
/** Bound: of more keys than these the oldest begins anew, as if it had never asked. */
export const BUCKETS_MAX = 100_000;

export class Throttle {
  private readonly buckets = new Map<string, Bucket>();
  private calls = 0;

  /** A rate of 0 means no limit. `now` is monotonic milliseconds. */
  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private readonly now: () => number,
  ) {}

  /** Takes one; the answer is 0, or the seconds to wait until there is one again. */
  take(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    if (bucket.left < 1) return this.secondsToWait(bucket);
    bucket.left -= 1;
    if (this.buckets.size >= BUCKETS_MAX && !this.buckets.has(key)) this.forgetOldest();
    this.buckets.set(key, bucket);
    if (++this.calls % SWEEP_EVERY === 0) this.sweep();
    return 0;
  }

  /** Takes so many more, also where fewer are left: then it takes longer until there is one again. Less than 0: gives back. */
  charge(key: string, cost: number): void {
    if (this.perSecond === 0) return;
    const bucket = this.refilled(key);
    bucket.left -= cost;
    this.buckets.set(key, bucket);
  }

  /** Seconds to wait if more was charged than there was; 0 if nothing is owed. Takes nothing. */
  debt(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    return bucket.left < 0 ? this.secondsToWait(bucket) : 0;
  }

  /** Like `take`, but takes nothing. */
  wait(key: string): number {
    if (this.perSecond === 0) return 0;
    const bucket = this.refilled(key);
    return bucket.left < 1 ? this.secondsToWait(bucket) : 0;
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

  private forgetOldest(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }

  private sweep(): void {
    for (const key of this.buckets.keys()) if (this.refilled(key).left >= this.burst) this.buckets.delete(key);
  }
}
