/**
 * The protocol's suites, as they are in this version, against one node of the release before and two of this one, behind a load balancer. A test
 * that needs what the release before does not have may fail when it reaches that node: `NEEDS_THIS_VERSION` says why, and no other test may.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { NatsCluster } from "../cluster/support/nats.ts";
import { SdkService } from "../cluster/support/sdk-service.ts";
import { unpackBefore, WITH_BEFORE } from "../support/release-before.ts";
import { RAW, RAW_WHOLE, runSuites } from "../support/suites.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { FILES_OF_THIS_VERSION, NEEDS_THIS_VERSION } from "./support/needs-this-version.ts";

setDefaultTimeout(1_800_000);

let postgres: PostgresServer;
let nats: NatsCluster;
let folder: string | undefined;
beforeAll(async () => {
  if (!WITH_BEFORE) return;
  folder = tempFolder();
  [postgres, nats] = await Promise.all([PostgresServer.start(), NatsCluster.mesh(1)]);
});
afterAll(async () => {
  await Promise.all([nats?.stop(), postgres?.stop()]);
  if (folder) removeFolder(folder);
});

test.skipIf(!WITH_BEFORE)("the raw socket suite passes, except where it needs this version on every node", async () => {
  const log = join(folder ?? "", "landings");
  const names = RAW_WHOLE.filter((name) => !(name in FILES_OF_THIS_VERSION));
  const { passed, failed, output } = await runSuites(
    names.map((name) => `./${RAW}/${name}.test.ts`),
    {
      PARLEY_TEST_NODES_DATABASE: postgres.url("postgres"),
      PARLEY_TEST_NODES_NATS: `nats://127.0.0.1:${nats.ports[0]}`,
      PARLEY_TEST_NODES_LOG: log,
      PARLEY_TEST_NODES_BEFORE: await unpackBefore(folder ?? ""),
    },
  );
  const unexpected = failed.filter((name) => !(name in NEEDS_THIS_VERSION));
  if (unexpected.length > 0 || passed === 0) console.log(output);
  const shares = readFileSync(log, "utf8").trim().split("\n");
  console.log(
    `mixed nodes: ${passed} passed, ${failed.length} failed as listed; connections on each: ${shares.join(" ")}`,
  );
  expect(unexpected).toEqual([]);
  expect(passed).toBeGreaterThan(100);
});

/** They test histories on several nodes, each of which they speak to. */
const OF_NODES = ["streams", "history-rules", "history-store"].map((name) => `./test/nodes/${name}.test.ts`);

test.skipIf(!WITH_BEFORE)("the suites of histories on several nodes pass", async () => {
  const env = { PARLEY_TEST_NODES_BEFORE: await unpackBefore(tempFolder(folder)) };
  const { code, passed, failed, output } = await runSuites(OF_NODES, env);
  if (code !== 0) console.log(output);
  console.log(`histories of mixed nodes: ${passed} passed`);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(passed).toBeGreaterThan(7);
});

test.skipIf(!WITH_BEFORE)("the public SDK's suite passes", async () => {
  await using service = await SdkService.start(postgres, nats, await unpackBefore(tempFolder(folder)));
  // Without the scenarios that restart the service: a node of the release before does not start on a store that this version has upgraded.
  const { PARLEY_TEST_RESTART_URL: _, ...env } = service.env;
  const { code, passed, failed, output } = await runSuites(["./test/conformance/sdk"], env);
  if (code !== 0) console.log(output);
  const { shares } = service;
  console.log(`SDK on mixed nodes: ${passed} passed; connections on each: ${JSON.stringify(shares)}`);
  expect(passed).toBeGreaterThan(50);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(Math.min(...shares)).toBeGreaterThan(0);
});
