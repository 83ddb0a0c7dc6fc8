/**
 * Webhooks over a partition: two parts of the cluster do not reach each other over NATS, and both reach PostgreSQL. What the events add up to is what is so,
 * during the split too, because they are derived from the store. Nodes 0 and 1 use one NATS server, node 2 the other.
 */
import { afterAll, beforeAll, setDefaultTimeout, test } from "bun:test";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { Cluster } from "../cluster/support/cluster.ts";
import { NatsCluster } from "../cluster/support/nats.ts";
import type { NetworkProxy } from "../support/network-proxy.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { WEBHOOKS_ENV, WebhookWorld } from "./support/webhook-world.ts";

setDefaultTimeout(400_000);

/** Longer than nodes wait for one that they do not hear. */
const SPLIT_MS = 15_000;

let postgres: PostgresServer;
let nats: NatsCluster;
let between: NetworkProxy;
let cluster: Cluster;
let world: WebhookWorld;

beforeAll(async () => {
  if (!IS_FULL) return;
  [postgres, { nats, between }] = await Promise.all([PostgresServer.start(), NatsCluster.pair()]);
  cluster = await Cluster.start({ postgres, nats, reach: [[0], [0], [1]], env: WEBHOOKS_ENV });
  world = await WebhookWorld.open(() => cluster.nodes, 12);
});

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([nats?.stop(), postgres?.stop()]);
  world?.[Symbol.dispose]();
});

test.if(IS_FULL)("both parts keep working, and heal", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  await world.quiet("whole");
  between.cut();
  const cutMs = await until("the parts do not hear each other", async () => !(await isWhole()));
  await world.stir(cluster.nodes);
  await Bun.sleep(Math.max(0, SPLIT_MS - cutMs));
  await world.stir(cluster.nodes);
  await world.quiet("split");
  await world.stir(cluster.nodes);
  between.mend();
  await world.stir(cluster.nodes);
  await cluster.whole();
  await world.quiet("healed");
});

const isWhole = (): Promise<boolean> =>
  cluster.whole(1).then(
    () => true,
    () => false,
  );
