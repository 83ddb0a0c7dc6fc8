/** For tests: a member that joins and leaves repeatedly. */
import type { Client, World } from "./kit.ts";

/** Long enough for a pong and a tick. */
export const STEP_MS = 30;

/** Joins and leaves a channel `times` times, slowly enough that each change is shown unless it is damped. */
export function flap(world: World, client: Client, times: number): void {
  for (let i = 0; i < times; i++) {
    client.subscribe("c");
    world.advance(STEP_MS);
    client.unsubscribe("c");
    world.advance(STEP_MS);
  }
}
