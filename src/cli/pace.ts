/** Keeps a sender below the service's rate per connection, which would close the connection. */
export class Pace {
  private left: number;
  private lastMs = performance.now();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {
    this.left = burst;
  }

  /** Resolves when the next message may be sent. */
  async next(): Promise<void> {
    const nowMs = performance.now();
    this.left = Math.min(this.burst, this.left + ((nowMs - this.lastMs) / 1000) * this.perSecond);
    this.lastMs = nowMs;
    this.left--;
    if (this.left < 0) await Bun.sleep((-this.left / this.perSecond) * 1000);
  }
}
