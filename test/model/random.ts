/** Numbers from 0 to 1 that a seed decides. */
import { bitsFrom } from "../support/random.ts";

export function random(seed: number): () => number {
  const bits = bitsFrom(seed);
  return () => bits() / 4294967296;
}
