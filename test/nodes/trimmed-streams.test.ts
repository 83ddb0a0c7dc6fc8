/** A channel with history that is trimmed and deleted under its readers over HTTP, each of whose requests goes to the other one of two nodes. */
import { setDefaultTimeout, test } from "bun:test";
import { IS_FULL } from "../support/slack.ts";
import { trimmedUnderReaders } from "../support/streams/trimming.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(240_000);

const SEED = Number(process.env.PARLEY_TEST_SEED ?? 37_700);
const LOAD = IS_FULL ? { seed: SEED, readers: 4, deletions: 5 } : { seed: SEED, readers: 2, deletions: 1 };

test(`readers of a history on two nodes that is trimmed, and deleted ${LOAD.deletions} times (seed ${SEED})`, async () => {
  const cluster = await Cluster.start({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  try {
    const urls = cluster.nodes.map(({ url }) => url);
    await trimmedUnderReaders(cluster.pair[0].admin, urls, LOAD);
  } finally {
    await cluster.stop();
  }
});
