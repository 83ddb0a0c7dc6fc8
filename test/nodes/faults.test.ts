/** An exception planted in a callback of the engine: it affects one channel on one node. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { join, tokenQuery } from "../conformance/raw/support/world.ts";
import { PLANTED, PLANTING } from "../faults/support/planted.ts";
import { selfSigned } from "../support/jwt.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ env: PLANTING });
});
afterAll(() => cluster.stop());

test("a message that cannot be delivered resynchronises its channel there; other channels and nodes are not affected", async () => {
  const [one, other] = cluster.pair;
  const app = await one.admin.createApp();
  const key = await one.admin.createKey(app._id);
  const guest = (node: typeof one, sub: string): ReturnType<typeof connect> =>
    connect(node, tokenQuery(selfSigned(key.keyId, key.secret, { sub })));
  const [ann, ben, cat] = await Promise.all([guest(one, "ann"), guest(other, "ben"), guest(other, "cat")]);
  await join(ann, PLANTED.deliver);
  await join(ben, PLANTED.deliver);
  await join(cat, "room");
  expect(await ann.request({ type: "publish", channel: PLANTED.deliver, data: 1 })).toMatchObject({ type: "ack" });
  expect(await ben.closed()).toMatchObject({ code: 1001, reason: "resynchronise" });
  await ann.until("presence", ({ left }) => left.some(({ peerId }) => peerId === "ben"));
  expect(await ann.request({ type: "publish", channel: "room", data: 2 })).toMatchObject({ type: "ack" });
  expect(await cat.until("message")).toMatchObject({ from: "ann", data: 2 });
  const metrics = await readMetrics({ url: other.url, adminToken: other.adminToken });
  expect(metrics.get('parley_faults_total{where="engine"}')).toBe(1);
  const line = await other.logged(({ where }) => where === "engine");
  expect(line).toMatchObject({ level: "error", err: { message: PLANTED.deliver } });
  for (const wire of [ann, cat]) wire.drop();
});
