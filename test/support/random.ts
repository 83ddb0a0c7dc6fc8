/**
 * 32 random bits at a time, determined by a seed (sfc32, by Chris Doty-Humphrey). Its state has 128 bits: sequences of different
 * seeds do not overlap, and a sequence of billions of numbers does not repeat. Generators with 32 bits of state do both.
 */
export function bitsFrom(seed: number): () => number {
  // A seed may have 53 bits.
  let a = seed >>> 0;
  let b = Math.floor(seed / 2 ** 32) >>> 0;
  let c = 0x9e3779b9;
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < WARM_UP; i++) next();
  return next;
}

/** Rounds until every bit of the seed has affected every bit of the state. */
const WARM_UP = 20;

/** Random choices determined by a seed: the same seed gives the same run. */
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
