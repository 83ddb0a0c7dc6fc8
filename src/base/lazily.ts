/**
 * Schemas that are made when they are first used. A service has some two thousand of them and most runs use a few; to make all of
 * them at the start takes some 80 ms of CPU time.
 */
import type { z } from "zod";

/** Returns what `make` returns, which is called once. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** What values that pass the schema look like. */
export type Infer<S extends () => z.ZodType> = z.infer<ReturnType<S>>;
