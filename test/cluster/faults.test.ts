/**
 * Three nodes, three NATS servers and PostgreSQL, all real processes, with faults under load. Every test leaves the cluster as
 * it found it, so that all share one. PARLEY_TEST_FULL=1: full loads and outages; PARLEY_TEST_REPEAT: number of repetitions.
 */
import { afterAll, beforeAll, describe, setDefaultTimeout } from "bun:test";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { natsFaults } from "./faults/nats.ts";
import { nodeFaults } from "./faults/nodes.ts";
import { postgresFaults } from "./faults/postgres.ts";
import { rollingRestart } from "./faults/restart.ts";
import { Cluster } from "./support/cluster.ts";
import { REPEAT } from "./support/load.ts";
import { NatsCluster } from "./support/nats.ts";

setDefaultTimeout(180_000);

let postgres: PostgresServer;
let nats: NatsCluster;
let cluster: Cluster;
beforeAll(async () => {
  [postgres, nats] = await Promise.all([PostgresServer.start(), NatsCluster.mesh(3)]);
  cluster = await Cluster.start({ postgres, nats });
});
afterAll(async () => {
  await cluster?.stop();
  await Promise.all([nats?.stop(), postgres?.stop()]);
});

for (let round = 1; round <= REPEAT; round++)
  describe(REPEAT === 1 ? "faults" : `faults, round ${round} of ${REPEAT}`, () => {
    nodeFaults(() => cluster);
    natsFaults(
      () => cluster,
      () => nats,
    );
    postgresFaults(
      () => cluster,
      () => postgres,
    );
    rollingRestart(() => cluster);
  });
