/** Random numbers from 0 to 1 that depend on a seed alone. */
import { bitsFrom } from "../support/random.ts";

export function random(seed: number): () => number {
  const bits = bitsFrom(seed);
  return () => bits() / 4294967296;
}
