/** Random choices determined by a seed: the same seed gives the same run. */
import { bitsFrom } from "../support/random.ts";

export class Chance {
  /** 32 bits. */
  readonly bits: () => number;

  constructor(seed: number) {
    this.bits = bitsFrom(seed);
  }

  /** 0 … below-1 */
  below(below: number): number {
    return this.bits() % below;
  }

  /** True once in `times` calls on average. */
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
