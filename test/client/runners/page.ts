/** Runs in a browser: the test calls `play` with the name of a scenario. */
import { Parley, type Transport } from "../../../client/src/index.ts";
import { play } from "../scenarios/all.ts";
import type { Facts } from "../scenarios/stage.ts";

Object.assign(globalThis, {
  play: (name: string, facts: Facts, transport: Transport) =>
    play(name, facts, (options) => new Parley({ ...options, transport })),
});
