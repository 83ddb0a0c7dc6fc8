/** A channel with history that is trimmed and deleted under its readers over HTTP, on one node. test/nodes and test/workers do the same on several. */
import { setDefaultTimeout, test } from "bun:test";
import { startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { trimmedUnderReaders } from "../support/streams/trimming.ts";

setDefaultTimeout(240_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_600);
const LOAD = IS_FULL ? { seed: SEED, readers: 6, deletions: 10 } : { seed: SEED, readers: 2, deletions: 1 };

test(`readers of a history that is trimmed, and deleted ${LOAD.deletions} times, get it whole or get 410 (seed ${SEED})`, async () => {
  await using server = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_DEMO: "off" } });
  await trimmedUnderReaders(server.admin, [server.url], LOAD);
});
