/** What clients, backends and operators do on one worker takes effect on all of them. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { Chaos } from "./support/chaos.ts";
import { startWorkers } from "./support/workers.ts";

setDefaultTimeout(600_000);

/** The same in every run, so that a failure comes from a change. */
const SEED = Number(process.env.PARLEY_TEST_SEED ?? 23_500);
const [RUNS, STEPS] = IS_FULL ? [2, 4000] : [1, 500];

for (let seed = SEED; seed < SEED + RUNS; seed++)
  test(`${STEPS} random requests to three workers have their effect on all of them (seed ${seed})`, async () => {
    const world = await startWorkers({}, 3);
    try {
      const chaos = new Chaos(world, new Chance(seed));
      await chaos.run(STEPS);
      for (const step of ["kick", "revoke", "narrow", "limit", "send", "roster"])
        expect([step, chaos.counts[step]]).toEqual([step, expect.any(Number)]);
    } finally {
      await world.stop();
    }
  });
