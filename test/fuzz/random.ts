/** Chance that can be repeated: the same seed gives the same run. */

export class Chance {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** 32 bits (mulberry32). */
  bits(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** 0 … below-1 */
  below(below: number): number {
    return this.bits() % below;
  }

  /** Once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  bytes(count: number): Buffer<ArrayBuffer> {
    const bytes = Buffer.alloc(count);
    for (let i = 0; i < count; i++) bytes[i] = this.bits();
    return bytes;
  }
}
