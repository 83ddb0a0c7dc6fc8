import { expect, test } from "bun:test";
import { type Locks, TAIL_PLACES, takePlace } from "./places.ts";

/** One turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** The locks of a browser, as far as they are used here. */
function fakeLocks(): Locks {
  const held = new Set<string>();
  const request: Locks["request"] = async (name, _options, run) => {
    if (held.has(name)) return run(null);
    held.add(name);
    await run({ name });
    held.delete(name);
    return undefined;
  };
  return { request };
}

test("the tabs of a browser have a few tails together, so that connections are left for the pages", async () => {
  const locks = fakeLocks();
  const never = async (): Promise<void> => undefined;
  const places = await Promise.all(Array.from({ length: TAIL_PLACES }, () => takePlace(locks, never)));
  expect(places.every((release) => release !== undefined)).toBe(true);
  expect(await takePlace(locks, never)).toBeUndefined();
  places[1]?.();
  await nextTurn();
  expect(await takePlace(locks, never)).toBeDefined();
});

test("a place that is given up at the same moment is found", async () => {
  const locks = fakeLocks();
  const never = async (): Promise<void> => undefined;
  const places = await Promise.all(Array.from({ length: TAIL_PLACES }, () => takePlace(locks, never)));
  expect(await takePlace(locks, async () => places[0]?.())).toBeDefined();
});
