/**
 * The public suite of the protocol, unmodified: a sample, and with PARLEY_TEST_FULL=1 all of it, also against PostgreSQL, three workers and two
 * nodes. What it leaves out are the subscriptions of the protocol, which this service does not offer.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { Cluster } from "../../nodes/support/cluster.ts";
import type { Admin } from "../../support/admin.ts";
import { type Server, startParley } from "../../support/parley.ts";
import { runPublicSuite, STREAM_RULES, SUITE_ENV } from "./run.ts";

setDefaultTimeout(600_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const ALL = 332;
/** Those that wait for little. */
const SAMPLE = "Append Operations|Caching and ETag|Fork - Recursive|Idempotent Producer|Offset Validation";
const SAMPLE_MIN = 40;

async function passes(servers: readonly Server[], admin: Admin, only?: string): Promise<void> {
  const app = await admin.createApp();
  // Each node knows the rules when it has answered.
  for (const server of servers) await server.admin.must("PATCH", `/apps/${app._id}`, { channelRules: STREAM_RULES });
  const key = await admin.createKey(app._id);
  const { code, passed, failed, output } = await runPublicSuite(servers, key, only);
  if (code !== 0) console.log(output);
  expect({ code, failed }).toEqual({ code: 0, failed: 0 });
  if (only === undefined) expect(passed).toBe(ALL);
  else expect(passed).toBeGreaterThan(SAMPLE_MIN);
}

test.skipIf(IS_FULL)("a sample of the public suite passes", async () => {
  await using server = await startParley({ env: SUITE_ENV });
  await passes([server], server.admin, SAMPLE);
});

test.skipIf(!IS_FULL)("the public suite passes", async () => {
  await using server = await startParley({ env: SUITE_ENV });
  await passes([server], server.admin);
});

test.skipIf(!IS_FULL)("the public suite passes on PostgreSQL", async () => {
  const postgres = await PostgresServer.start();
  try {
    const masterKey = Buffer.alloc(32, 7).toString("base64");
    const env = { ...SUITE_ENV, PARLEY_DATABASE_URL: await postgres.newDatabase(), PARLEY_MASTER_KEY: masterKey };
    await using server = await startParley({ env });
    await passes([server], server.admin);
  } finally {
    await postgres.stop();
  }
});

test.skipIf(!IS_FULL)("the public suite passes against three workers", async () => {
  await using server = await startParley({ env: { ...SUITE_ENV, PARLEY_WORKERS: "3" } });
  await passes([server], server.admin);
});

test.skipIf(!IS_FULL)("the public suite passes against two nodes, each request on the other one", async () => {
  const cluster = await Cluster.start({ env: SUITE_ENV });
  try {
    await passes(cluster.nodes, cluster.pair[0].admin);
  } finally {
    await cluster.stop();
  }
});
