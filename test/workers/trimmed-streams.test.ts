/** A channel with history that is trimmed and deleted under its readers over HTTP, on three workers. */
import { setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { trimmedUnderReaders } from "../support/streams/trimming.ts";
import { startWorkers } from "./support/workers.ts";

setDefaultTimeout(240_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_800);
const LOAD = IS_FULL ? { seed: SEED, readers: 4, deletions: 5 } : { seed: SEED, readers: 2, deletions: 1 };

test(`readers of a history on three workers that is trimmed, and deleted ${LOAD.deletions} times (seed ${SEED})`, async () => {
  const world = await startWorkers({}, 3);
  try {
    await trimmedUnderReaders(world.admin, [world.url], LOAD);
  } finally {
    await world.stop();
  }
});
