/**
 * PostgreSQL fails over to a standby, and its address, here that of a proxy, moves there. Long: PARLEY_TEST_FULL=1.
 *
 * With synchronous replication nothing that was acknowledged is lost. With asynchronous replication the newest changes may be: nodes
 * notice that, and clients are notified.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { Fleet } from "../../src/verify/fleet.ts";
import { Edits } from "../cluster/support/edits.ts";
import { judgeStored } from "../cluster/support/stored.ts";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import { mint, type SecretKey } from "../support/admin.ts";
import { flowing } from "../support/flowing.ts";
import { call, type Json } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import type { Server } from "../support/parley.ts";
import { until } from "../support/wait.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(180_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
/** Connections that are replaced every two seconds, and a settle that is repeated every two. */
const BACK_WITHIN_MS = 15_000;
const CHANNEL_RULES = [{ pattern: "stored/**", history: { messages: 10_000, seconds: 3600 } }];

let primary: PostgresServer;
let standby: PostgresServer;
/** What the nodes know as PostgreSQL, and what the standby gets its changes through. */
let address: NetworkProxy;
let replication: NetworkProxy;
let cluster: Cluster;
let one: Server;
let other: Server;
let key: SecretKey;

async function begin(isSynchronous: boolean): Promise<void> {
  primary = await PostgresServer.start({ isReplicated: true });
  [address, replication] = await Promise.all([NetworkProxy.to(primary.port), NetworkProxy.to(primary.port)]);
  cluster = await Cluster.start({
    postgres: { server: primary, port: address.port },
    env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" },
  });
  [one, other] = cluster.pair;
  standby = await primary.standby({ isSynchronous, port: replication.port });
  const app = await one.admin.createApp();
  await one.admin.must("PATCH", `/apps/${app._id}`, { channelRules: CHANNEL_RULES });
  key = await one.admin.createKey(app._id);
}

async function end(): Promise<void> {
  await cluster?.stop();
  await Promise.all([address?.close(), replication?.close()]);
  await Promise.all([primary?.stop(), standby?.stop()]);
}

const databaseOn = (server: PostgresServer): string =>
  server.url(new URL(cluster.env.PARLEY_DATABASE_URL ?? "").pathname.slice(1));

const token = (sub: string): string => tokenQuery(selfSigned(key.keyId, key.secret, { sub }));

const isReady = async (node: Server): Promise<boolean> => (await call(`${node.url}/readyz`)).status === 200;

async function ready(): Promise<number> {
  return until("both are ready", async () => (await isReady(one)) && (await isReady(other)), BACK_WITHIN_MS);
}

const CHANNEL = "stored/lost";

async function published(wire: Wire, data: unknown): Promise<string> {
  const answer = await wire.request({ type: "publish", channel: CHANNEL, data });
  if (answer.type !== "ack") throw new Error(`the publish was refused: ${JSON.stringify(answer)}`);
  return String(answer.pos);
}

/** Publishes until it is accepted. */
async function eventually(wire: Wire, data: unknown): Promise<void> {
  const isAccepted = async (): Promise<boolean> =>
    (await wire.request({ type: "publish", channel: CHANNEL, data, id: String(data) })).type === "ack";
  await until(`${data} is accepted`, isAccepted, BACK_WITHIN_MS);
}

async function subscribed(node: Server, sub: string, recover?: string): Promise<{ wire: Wire; ack: Json }> {
  const wire = await connect(node, token(sub));
  const ack = await wire.request({ type: "subscribe", channel: CHANNEL, ...(recover && { recover }) });
  return { wire, ack: ack as unknown as Json };
}

describe.skipIf(!IS_FULL)("synchronous replication", () => {
  beforeAll(() => begin(true));
  afterAll(end);

  test("the primary dies under load: what was acked is there, and every client recovers", async () => {
    const urls = cluster.nodes.map(({ url }) => url.replace(/^http/, "ws"));
    const common = { urls, secretKey: key.credential, clients: 40, channels: 8, rate: 200 };
    await using plain = await Fleet.open(common);
    await using stored = await Fleet.open({ ...common, prefix: "stored", history: true });
    const edits = new Edits(cluster.nodes, (await one.admin.createKey(key.app)).keyId);
    const editing = edits.run();
    for (const fleet of [plain, stored]) fleet.talk();
    await flowing(plain, stored);
    await primary.end();
    await until("the control plane says so", () => edits.statuses.has(503));
    await standby.promote();
    address.lead(standby.port);
    const tookMs = await edits.accepted(BACK_WITHIN_MS);
    await ready();
    await flowing(plain, stored);
    edits.stop();
    await editing;
    plain.hush();
    expect([...edits.statuses.keys()].sort()).toEqual([200, 503]);
    await edits.hold();
    const { errors, retries } = await judgeStored(`failover, edits after ${Math.round(tookMs)} ms`, stored);
    expect(errors.backend_error).toBeGreaterThan(0);
    expect(retries).toBeGreaterThan(0);
    const { problems, figures } = await plain.settle(20_000);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ closes: {}, errors: {} });
  });

  test("the old primary comes back as a standby, and the address leads to it: nothing is read from it", async () => {
    primary.demote();
    await primary.begin();
    const fresh = await one.admin.createKey(key.app);
    address.lead(primary.port);
    address.cut();
    address.mend();
    const storeOf = async (node: Server): Promise<unknown> =>
      (await call<{ checks: Json }>(`${node.url}/readyz`)).body.checks.store;
    for (const node of [one, other])
      await until("the standby is noticed", async () => String(await storeOf(node)).includes("standby"));
    // Known keys stay in force, also those that the standby does not have, and no list comes from it.
    for (const node of [one, other]) {
      expect((await mint(node.url, fresh.credential)).status).toBe(200);
      expect((await mint(node.url, "sk_id_unknown:x")).status).toBe(503);
      expect((await node.admin.call("GET", "/apps")).status).toBe(503);
    }
    const { wire } = await subscribed(one, "reader").catch(() => ({ wire: undefined }));
    wire?.drop();
    // The connections to the standby stay open.
    address.lead(standby.port);
    await ready();
    for (const node of [one, other]) expect((await node.admin.call("GET", "/apps")).status).toBe(200);
    const writer = await connect(one, token("writer"));
    await eventually(writer, "again");
    writer.drop();
  });
});

describe.skipIf(!IS_FULL)("asynchronous replication", () => {
  beforeEach(async () => {
    await end().catch(() => undefined);
    await begin(false);
  });
  afterAll(end);

  test("the newest changes are lost: nodes read keys again although the revision is the same, and clients are notified", async () => {
    const [ann, ben] = await Promise.all([connect(one, token("ann")), subscribed(other, "ben")]);
    const kept = await published(ann, "kept");
    await ben.wire.until("message", ({ data }) => data === "kept");
    const doomed = await one.admin.createKey(key.app);
    await using before = new SQL({ url: databaseOn(standby), max: 1 });
    const has = async (id: string): Promise<boolean> =>
      (await before`SELECT 1 FROM keys WHERE id = ${id}`).length === 1;
    await until("the standby has it", () => has(doomed.keyId));
    replication.cut();
    const lost = await published(ann, "lost");
    await ben.wire.until("message", ({ data }) => data === "lost");
    const made = await one.admin.createKey(key.app);
    expect((await mint(other.url, made.credential)).status).toBe(200);
    await primary.end();
    await standby.promote();
    await before.close({ timeout: 0 });
    // Before a node looks, another change gets the revision of the one that was lost.
    await using sql = new SQL({ url: databaseOn(standby), max: 1 });
    await sql`UPDATE keys SET revoked = ${Date.now()} WHERE id = ${doomed.keyId}`;
    await sql`UPDATE revisions SET revision = revision + 1 WHERE id = 1`;
    address.lead(standby.port);
    await ready();
    for (const node of [one, other]) {
      await until("a lost key ends", async () => (await mint(node.url, made.credential)).status === 401);
      await until("a revoked key ends", async () => (await mint(node.url, doomed.credential)).status === 401);
    }
    await until("the subscriber is closed", () => ben.wire.isOver);
    const writer = await connect(one, token("writer"));
    const cecil = await subscribed(one, "cecil", lost);
    const doris = await subscribed(other, "doris", kept);
    expect([cecil.ack.recovered, doris.ack.recovered]).toEqual([false, true]);
    await eventually(writer, "after");
    for (const { wire } of [cecil, doris])
      expect(await wire.until("message", () => true)).toMatchObject({ data: "after" });
    for (const wire of [ann, writer, cecil.wire, doris.wire]) wire.drop();
  });

  test("the old primary is made read-only, and connections to it stay open: nodes leave it for the new one", async () => {
    const { wire } = await subscribed(one, "ann");
    await published(wire, "before");
    await using last = new SQL({ url: databaseOn(standby), max: 1 });
    await until("the standby has it", async () => (await last`SELECT 1 FROM history_messages`).length === 1);
    await last.close({ timeout: 0 });
    await primary.set("default_transaction_read_only", "on");
    await standby.promote();
    address.lead(standby.port);
    const tookMs = await ready();
    expect(tookMs).toBeLessThan(BACK_WITHIN_MS);
    const made = await other.admin.createKey(key.app);
    expect((await mint(one.url, made.credential)).status).toBe(200);
    const writer = await connect(other, token("writer"));
    await eventually(writer, "after");
    await using sql = new SQL({ url: databaseOn(standby), max: 1 });
    const stored: { data: string }[] = await sql`SELECT data FROM history_messages ORDER BY off`;
    expect(stored.map(({ data }) => JSON.parse(data))).toEqual(["before", "after"]);
    expect((await sql`SELECT 1 FROM keys WHERE id = ${made.keyId}`).length).toBe(1);
    for (const one of [wire, writer]) one.drop();
  });
});
