/** A node reaches NATS, but not PostgreSQL, or only slowly: what another node revokes or narrows is refused there all the same, until it can read the store. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import { mint, type SecretKey } from "../support/admin.ts";
import { sessionAt, sessionStatus, signOut } from "../support/dashboard.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { NetworkProxy } from "../support/network-proxy.ts";
import type { Server } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(90_000);

let cluster: Cluster;
let proxy: NetworkProxy;
let natsProxy: NetworkProxy;
let one: Server;
let cutOff: Server;
let app: { readonly _id: string };
let key: SecretKey;

beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 0 });
  const natsUrl = new URL(String(cluster.env.PARLEY_NATS_URL));
  natsProxy = await NetworkProxy.to(Number(natsUrl.port));
  natsUrl.port = String(natsProxy.port);
  await cluster.add(1, { PARLEY_NATS_URL: natsUrl.href });
  proxy = await NetworkProxy.to(cluster.postgres.port);
  const url = String(cluster.env.PARLEY_DATABASE_URL);
  const viaProxy = url.replace(`:${cluster.postgres.port}/`, `:${proxy.port}/`);
  await cluster.add(1, { PARLEY_DATABASE_URL: viaProxy });
  [one, cutOff] = cluster.pair;
  await until("the nodes know each other", async () => {
    const { data } = await cutOff.admin.must<{ data: unknown[] }>("GET", "/nodes");
    return data.length === 2;
  });
});
beforeEach(async () => {
  app = await one.admin.createApp();
  key = await one.admin.createKey(app._id);
});
afterEach(async () => {
  natsProxy.mend();
  proxy.mend();
  await until("the node reads the store again", async () => (await call(`${cutOff.url}/readyz`)).status === 200);
  await until("the other node reaches NATS again", async () => !(await isWithoutNats()));
});
afterAll(async () => {
  await cluster.stop();
  await Promise.all([proxy.close(), natsProxy.close()]);
});

/** Without PostgreSQL the node has answered that it is unreachable. */
async function cut(): Promise<void> {
  proxy.cut();
  await until("the node has noticed it", async () => (await call(`${cutOff.url}/readyz`)).status === 503);
}

const isWithoutNats = async (): Promise<boolean> =>
  (await call<{ degraded: readonly string[] }>(`${one.url}/readyz`)).body.degraded.includes("nats");

const token = ({ keyId, secret }: Pick<SecretKey, "keyId" | "secret">, sub = "ann"): string =>
  tokenQuery(selfSigned(keyId, secret, { sub }));

/** The status of a connect to the node that is cut off; 101: it was let in. */
async function connectStatus(query: string): Promise<number> {
  const outcome = await attempt(cutOff.url, { query });
  if (!(outcome instanceof Wire)) return outcome.status;
  outcome.drop();
  return 101;
}

test("a revoked key: its connections are closed with 4001, connects and REST are refused", async () => {
  const publishable = await one.admin.createPublishable(app._id);
  const other = await one.admin.createKey(app._id);
  const [ann, ben, cy] = await Promise.all([
    connect(cutOff, token(key)),
    connect(cutOff, `key=${publishable.keyId}`),
    connect(cutOff, token(other, "cy")),
  ]);
  await cut();
  await one.admin.revoke(key.keyId);
  await one.admin.revoke(publishable.keyId);
  expect([(await ann.closed()).code, (await ben.closed()).code]).toEqual([4001, 4001]);
  expect([await connectStatus(token(key)), await connectStatus(`key=${publishable.keyId}`)]).toEqual([503, 503]);
  expect((await mint(cutOff.url, key.credential)).status).toBe(503);
  // Another key of the application is not affected.
  expect([(await cy.request({ type: "subscribe", channel: "c" })).type, await connectStatus(token(other))]).toEqual([
    "ack",
    101,
  ]);
  proxy.mend();
  await until("it is unknown, and not only unreadable", async () => (await connectStatus(token(key))) === 401);
});

test("on a node that reads PostgreSQL slowly, what was taken away is refused before it has read that", async () => {
  const [rotated, deleted] = [await one.admin.createKey(app._id), await one.admin.createApp()];
  const ofDeleted = await one.admin.createKey(deleted._id);
  const [ann, ben, cy] = await Promise.all([
    connect(cutOff, token(key)),
    connect(cutOff, token(rotated, "ben")),
    connect(cutOff, token(ofDeleted, "cy")),
  ]);
  // A read takes several round trips.
  proxy.delay(2000);
  const beganMs = performance.now();
  await Promise.all([
    one.admin.revoke(key.keyId),
    one.admin.rotate(rotated.keyId, { graceSec: 0 }),
    one.admin.must("DELETE", `/apps/${deleted._id}`),
  ]);
  const trying = connectStatus(token(key));
  const codes = [await ann.closed(), await ben.closed(), await cy.closed()].map(({ code }) => code);
  expect([codes, performance.now() - beganMs < 5000]).toEqual([[4001, 4002, 4001], true]);
  proxy.mend();
  expect(await trying).toBe(401);
});

test("a key that was revoked while the node that did it could not reach NATS: it is refused once that can", async () => {
  const ann = await connect(cutOff, token(key));
  await cut();
  natsProxy.cut();
  await until("the other node has noticed it", isWithoutNats);
  await one.admin.revoke(key.keyId);
  expect(await connectStatus(token(key, "ben"))).toBe(101);
  natsProxy.mend();
  expect((await ann.closed()).code).toBe(4001);
  expect(await connectStatus(token(key))).toBe(503);
});

test.if(IS_FULL)(
  "a narrowed key: its connections come back elsewhere, and work here again when the store was read",
  async () => {
    const ann = await connect(cutOff, token(key));
    await cut();
    // A change that takes nothing away is not named.
    await one.admin.patchKey(key.keyId, { label: "renamed" });
    expect(await connectStatus(token(key, "ben"))).toBe(101);
    await one.admin.patchKey(key.keyId, { channelPatterns: ["a/*"] });
    expect((await ann.closed()).code).toBe(1001);
    expect([await connectStatus(token(key)), (await mint(cutOff.url, key.credential)).status]).toEqual([503, 503]);
    proxy.mend();
    await until("the key is in force again", async () => (await connectStatus(token(key))) === 101);
    const back = await connect(cutOff, token(key));
    expect(await back.request({ type: "subscribe", channel: "b/1" })).toMatchObject({ code: "channel_not_authorized" });
    back.drop();
  },
);

test.if(IS_FULL)("a rotated secret that ends at once: its connections are closed with 4002", async () => {
  const ann = await connect(cutOff, token(key));
  await cut();
  await one.admin.rotate(key.keyId, { retirePrevious: true });
  expect((await ann.closed()).code).toBe(4002);
  expect([await connectStatus(token(key)), (await mint(cutOff.url, key.credential)).status]).toEqual([401, 503]);
});

test.if(IS_FULL)("a rotated secret with a grace period goes on until that ends", async () => {
  await cut();
  await one.admin.rotate(key.keyId, { graceSec: 60 });
  expect([await connectStatus(token(key)), (await mint(cutOff.url, key.credential)).status]).toEqual([101, 200]);
});

test("a deleted application: its connections are closed with 4001, and its keys are refused", async () => {
  const ann = await connect(cutOff, token(key));
  await cut();
  await one.admin.must("DELETE", `/apps/${app._id}`);
  expect((await ann.closed()).code).toBe(4001);
  expect([await connectStatus(token(key)), (await mint(cutOff.url, key.credential)).status]).toEqual([503, 503]);
});

test.if(IS_FULL)("an operator that was revoked, and a session that was signed out", async () => {
  const make = (): Promise<{ _id: string; token: string }> =>
    one.admin.must("POST", "/operators", { name: crypto.randomUUID(), role: "admin" });
  const [revoked, staying] = [await make(), await make()];
  const session = await sessionAt(one.url, staying.token);
  // An answer from memory: of what needs the store, every one would be 503.
  const known = (node: Server, bearer: string): Promise<{ status: number }> =>
    call(`${node.url}/api/internal/v1/nodes`, { bearer });
  await until("the session is known", async () => (await sessionStatus(cutOff.url, session)) === 200);
  await cut();
  expect([(await known(cutOff, revoked.token)).status, await sessionStatus(cutOff.url, session)]).toEqual([200, 200]);
  await one.admin.must("DELETE", `/operators/${revoked._id}`);
  await signOut(one.url, session);
  expect([(await known(cutOff, revoked.token)).status, (await known(cutOff, staying.token)).status]).toEqual([
    503, 200,
  ]);
  expect(await sessionStatus(cutOff.url, session)).not.toBe(200);
});
