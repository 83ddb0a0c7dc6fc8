/**
 * The protocol's suites, unchanged, against three nodes behind a load balancer whose log shows that clients reached different
 * nodes. They run with PARLEY_TEST_FULL=1.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { RAW, RAW_WHOLE, runSuites } from "../support/suites.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { IS_FULL } from "./support/load.ts";
import { NatsCluster } from "./support/nats.ts";
import { SdkService } from "./support/sdk-service.ts";

setDefaultTimeout(900_000);

let postgres: PostgresServer;
let nats: NatsCluster;
let folder: string | undefined;
beforeAll(async () => {
  if (!IS_FULL) return;
  folder = tempFolder();
  [postgres, nats] = await Promise.all([PostgresServer.start(), NatsCluster.mesh(3)]);
});
afterAll(async () => {
  await Promise.all([nats?.stop(), postgres?.stop()]);
  if (folder) removeFolder(folder);
});

test.concurrent.skipIf(!IS_FULL)("the raw socket suite passes against three nodes", async () => {
  const log = join(folder ?? "", "landings");
  const files = RAW_WHOLE.map((name) => `./${RAW}/${name}.test.ts`);
  const { code, passed, failed, output } = await runSuites(files, {
    PARLEY_TEST_NODES_DATABASE: postgres.url("postgres"),
    PARLEY_TEST_NODES_NATS: `nats://${nats.ports.map((port) => `127.0.0.1:${port}`).join(",")}`,
    PARLEY_TEST_NODES_LOG: log,
  });
  if (code !== 0) console.log(output);
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(passed).toBeGreaterThan(10);
  const clusters = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as number[]);
  console.log(`raw sockets: connections on each node, a line a cluster: ${JSON.stringify(clusters)}`);
  for (const shares of clusters) {
    expect(shares).toHaveLength(3);
    if (Math.max(...shares) > 2) expect(Math.min(...shares)).toBeGreaterThan(0);
  }
  expect(clusters.flat().reduce((sum, share) => sum + share, 0)).toBeGreaterThan(30);
});

test.concurrent.skipIf(!IS_FULL)(
  "the public SDK's suite passes against three nodes, under Bun and under Node",
  async () => {
    await using service = await SdkService.start(postgres, nats);
    const { code, passed, failed, output } = await runSuites(["./test/conformance/sdk"], service.env);
    if (code !== 0) console.log(output);
    expect({ code, failed }).toEqual({ code: 0, failed: [] });
    expect(passed).toBeGreaterThan(50);
    const shares = service.shares;
    console.log(`SDK: connections on each node: ${JSON.stringify(shares)}`);
    expect(shares).toHaveLength(3);
    expect(Math.min(...shares)).toBeGreaterThan(0);
  },
);
