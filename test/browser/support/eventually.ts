/** Pages draw a moment after what makes them draw. */
import { expect } from "bun:test";

const LOOK_EVERY_MS = 20;
const GIVE_UP_MS = 30_000;

/** Waits until a page shows what is expected, and fails with both values otherwise. */
export async function eventually<T>(read: () => Promise<T>, expected: T): Promise<void> {
  const until = performance.now() + GIVE_UP_MS;
  let seen = await read();
  while (!Bun.deepEquals(seen, expected) && performance.now() < until) {
    await Bun.sleep(LOOK_EVERY_MS);
    seen = await read();
  }
  expect<unknown>(seen).toEqual(expected);
}
