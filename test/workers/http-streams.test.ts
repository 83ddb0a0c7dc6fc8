/** Streams over HTTP on three workers: workers are killed, and the process that has their store, under a load whose every value is accounted for. */
import { setDefaultTimeout, test } from "bun:test";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { StreamLoad, type StreamLoadOptions, streamApp } from "../support/streams/load.ts";
import { FAULTS } from "./support/faults.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(600_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_200);
const SIZE: Omit<StreamLoadOptions, "seed"> = IS_FULL
  ? { streams: 2, producers: 3, plain: 2, readers: 2 }
  : { streams: 1, producers: 2, plain: 1, readers: 1 };
/** The supervisor has the store. */
const SAMPLE = ["a worker is killed", "the supervisor is killed"];
const MANY = [
  ...SAMPLE,
  "a worker is paused",
  "the supervisor is paused",
  "two workers are killed",
  "a worker is stopped",
  "a reload",
  ...SAMPLE,
];
const PLAN = IS_FULL ? MANY : SAMPLE;

test(`${PLAN.length} faults of three workers: each value once, in order, for every reader (seed ${SEED})`, async () => {
  await using service = await Service.start(3);
  const app = await streamApp(service.world.admin, () => [service.world.url]);
  await using load = await StreamLoad.on(app, { seed: SEED, ...SIZE });
  const chance = new Chance(SEED);
  for (const name of PLAN) {
    await load.flowing();
    await FAULTS[name]?.(service, chance);
    await service.whole();
  }
  await load.flowing();
  await load.settle("faults of three workers");
});
