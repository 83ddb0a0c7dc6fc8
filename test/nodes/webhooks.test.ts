/**
 * Webhooks over faults of three nodes: when things are quiet again, what the events add up to is what is so (who is connected, which channels
 * are occupied, who is in which meeting), and no number is missing.
 */
import { afterAll, afterEach, beforeAll, setDefaultTimeout, test } from "bun:test";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import type { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { Cluster } from "./support/cluster.ts";
import { WEBHOOKS_ENV, WebhookWorld } from "./support/webhook-world.ts";

setDefaultTimeout(300_000);

/** Longer than it takes until another node has the lease, and has seen for 10 s that this one is silent. */
const FROZEN_MS = 24_000;
const OUTAGE_MS = 12_000;

let cluster: Cluster;
let world: WebhookWorld;
/** In the place of the one that was killed. */
let nextNats: NatsServer | undefined;

beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 3, ownPostgres: true, env: WEBHOOKS_ENV });
  world = await WebhookWorld.open(() => cluster.nodes, 11);
});

afterAll(async () => {
  await cluster?.stop();
  await nextNats?.stop();
  world?.[Symbol.dispose]();
});

afterEach(async () => {
  // Nodes that were killed are replaced.
  const missing = 3 - cluster.nodes.length;
  if (missing > 0) await cluster.add(missing);
});

async function killed(node: Server): Promise<void> {
  await node.kill();
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
}

test("who comes, goes and moves", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  await world.quiet("no fault");
});

test("kill -9 of the node that sends, which has connections too", async () => {
  await world.fill();
  const node = await world.leader();
  await world.stir(cluster.nodes);
  await killed(node);
  await world.stir(cluster.nodes);
  await world.quiet("the sending node was killed");
});

/** What takes longer than the silence after which a node is given up. */
const inFull = test.if(IS_FULL);

inFull("kill -9 of a node with connections", async () => {
  await world.fill();
  const [node] = world.others(await world.leader());
  await world.stir(cluster.nodes);
  await killed(node as Server);
  await world.stir(cluster.nodes);
  await world.quiet("a node was killed");
});

for (const which of ["the node that sends", "a node with connections"])
  inFull(`${which} freezes and wakes`, async () => {
    await world.fill();
    const sending = await world.leader();
    const node = which === "the node that sends" ? sending : (world.others(sending)[0] as Server);
    await world.stir(cluster.nodes);
    node.signal("SIGSTOP");
    try {
      await world.stir(world.others(node));
      await Bun.sleep(FROZEN_MS);
    } finally {
      node.signal("SIGCONT");
    }
    await world.stir(world.others(node));
    await world.quiet(`${which} was frozen`);
  });

inFull("PostgreSQL is away", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  await cluster.postgres.end();
  for (const person of world.there.slice(0, 5)) person.wire.close(1000);
  await Bun.sleep(OUTAGE_MS);
  await cluster.postgres.begin();
  await world.reachable(cluster.pair[0]);
  await world.stir(cluster.nodes);
  await world.quiet("PostgreSQL was away");
});

inFull("PostgreSQL freezes and wakes", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  await cluster.postgres.freeze();
  for (const person of world.there.slice(0, 5)) person.wire.drop();
  await Bun.sleep(OUTAGE_MS);
  await cluster.postgres.thaw();
  await world.reachable(cluster.pair[0]);
  await world.stir(cluster.nodes);
  await world.quiet("PostgreSQL was frozen");
});

inFull("a node is cut off from PostgreSQL, and comes back", async () => {
  await world.fill();
  const url = new URL(cluster.env.PARLEY_DATABASE_URL ?? "");
  const proxy = await NetworkProxy.to(Number(url.port));
  url.port = String(proxy.port);
  const [node] = await cluster.add(1, { PARLEY_DATABASE_URL: url.href });
  for (let i = 0; i < 8; i++) await world.arrive(node as Server);
  await world.quiet("another node");
  proxy.cut();
  for (const person of world.there.filter((one) => one.node === node).slice(0, 3)) person.wire.close(1000);
  await Bun.sleep(FROZEN_MS);
  proxy.mend();
  await world.stir(world.others(node as Server));
  await world.quiet("a node was cut off from PostgreSQL");
  await killed(node as Server);
  await world.quiet("it was killed");
  await proxy.close();
});

inFull("NATS freezes and wakes: the nodes do not hear each other", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  process.kill(cluster.nats?.pid ?? 0, "SIGSTOP");
  try {
    await world.stir(cluster.nodes);
    await Bun.sleep(OUTAGE_MS);
  } finally {
    process.kill(cluster.nats?.pid ?? 0, "SIGCONT");
  }
  await world.stir(cluster.nodes);
  await world.quiet("NATS was away");
});

inFull("NATS is killed and started again", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  const { nats } = cluster;
  await nats?.stop();
  await world.stir(cluster.nodes);
  await Bun.sleep(OUTAGE_MS);
  await world.stir(cluster.nodes);
  nextNats = await startNats([], nats?.port);
  await world.stir(cluster.nodes);
  await world.quiet("NATS was killed");
});

inFull("a node stops and another one starts in its place", async () => {
  await world.fill();
  await world.stir(cluster.nodes);
  const node = await world.leader();
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  await node.stop();
  await world.stir(cluster.nodes);
  await world.quiet("a node has stopped");
});
