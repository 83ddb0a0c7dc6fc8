/**
 * Faults of workers and their supervisor, one after another, under a load whose every message is accounted for. PARLEY_TEST_FULL=1: twenty of them, on two
 * and on three workers.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { FAULTS } from "./support/faults.ts";
import { Load } from "./support/load.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(600_000);

/** The same in every run, so that a failure comes from a change. */
const SEED = Number(process.env.PARLEY_TEST_SEED ?? 23_100);
const ALL = Object.keys(FAULTS);
/** The others take long and are like these, or happen under load in faults.test.ts, too. */
const SAMPLE = ["a worker is paused", "the supervisor is killed"];
const FAULTS_PER_RUN = 10;
/** Half of the load of other tests, because it lasts longer. */
const SMALL = { clients: 12, rate: 50 };

interface Plan {
  readonly workers: number;
  readonly seed: number;
  readonly faults: readonly string[];
}

const PLANS: readonly Plan[] = IS_FULL
  ? [2, 3].map((workers) => planned(workers, SEED + 10 * workers))
  : [{ workers: 2, seed: SEED, faults: SAMPLE }];

/** All of them, and others at random, in any order. */
function planned(workers: number, seed: number): Plan {
  const chance = new Chance(seed);
  const faults = [...ALL];
  while (faults.length < FAULTS_PER_RUN) faults.push(chance.pick(ALL));
  for (let at = faults.length - 1; at > 0; at--) {
    const other = chance.below(at + 1);
    [faults[at], faults[other]] = [faults[other] ?? "", faults[at] ?? ""];
  }
  return { workers, seed, faults };
}

for (const { workers, seed, faults } of PLANS)
  test(`${faults.length} faults of ${workers} workers under load lose nothing that was acknowledged (seed ${seed})`, async () => {
    await using service = await Service.start(workers);
    await using load = await Load.on(service, IS_FULL ? {} : SMALL);
    const chance = new Chance(seed);
    for (const name of faults) {
      await load.rest.goesOn();
      const beganMs = performance.now();
      await FAULTS[name]?.(service, chance);
      await service.whole();
      await load.goesOn();
      console.log(`${name}: all is well after ${Math.round(performance.now() - beganMs)} ms`);
    }
    const { stored } = await load.judge(`${faults.length} faults of ${workers} workers`);
    expect(stored.recoveries).toBeGreaterThan(0);
  });
