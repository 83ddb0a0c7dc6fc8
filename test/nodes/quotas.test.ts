/** Quotas count over all nodes. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { until } from "../support/wait.ts";
import type { Wire } from "../support/wire/wire.ts";
import { Cluster, connect } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.stop());

const CAP = 200;

test("connections: the cap holds over both nodes within 5 % when few connect at one moment; the peak counts both together", async () => {
  const [one, other] = cluster.pair;
  const app = await one.admin.createApp();
  await one.admin.must("PATCH", `/apps/${app._id}`, { plan: { maxConcurrentConnections: CAP } });
  const key = await one.admin.createKey(app._id);
  await until("the other has the plan", async () => {
    const { body } = await call<{ plan: { maxConcurrentConnections: number } }>(`${other.url}/v1/usage`, {
      bearer: key.credential,
    });
    return body.plan.maxConcurrentConnections === CAP;
  });
  const welcomed: Wire[] = [];
  const codes: number[] = [];
  const rush = async (count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const wire = await connect(
          i % 2 === 0 ? one : other,
          tokenQuery(selfSigned(key.keyId, key.secret, { sub: `p${i}` })),
        );
        const event = await wire.next(({ kind }) => kind === "text" || kind === "close");
        if (event.kind === "close") codes.push(event.code);
        else welcomed.push(wire);
      }),
    );
  };
  // Only a few at one moment: two nodes cannot know each other's connections of the same moment.
  for (let i = 0; i < 38; i++) await rush(8);
  expect(welcomed.length).toBeGreaterThanOrEqual(CAP * 0.95);
  expect(welcomed.length).toBeLessThanOrEqual(CAP * 1.05);
  expect(new Set(codes)).toEqual(new Set([4010]));
  for (const node of [one, other])
    await until("the peak is known", async () => {
      const { body } = await call<{ peakConcurrent: number }>(`${node.url}/v1/usage`, { bearer: key.credential });
      return Math.abs(body.peakConcurrent - welcomed.length) <= CAP * 0.05;
    });
  for (const wire of welcomed) wire.drop();
});

test("messages: usage of both nodes counts on both, and the quota refuses them on both", async () => {
  const [one, other] = cluster.pair;
  const app = await one.admin.createApp();
  await one.admin.must("PATCH", `/apps/${app._id}`, { plan: { maxMessagesPerPeriod: 30 } });
  const key = await one.admin.createKey(app._id);
  const publish = (url: string): Promise<{ status: number }> =>
    call(`${url}/v1/channels/c/publish`, { bearer: key.credential, body: { data: 1 } });
  const used = async (url: string): Promise<number> =>
    (await call<{ messagesUsed: number }>(`${url}/v1/usage`, { bearer: key.credential })).body.messagesUsed;
  for (let i = 0; i < 10; i++) for (const { url } of [one, other]) expect((await publish(url)).status).toBe(200);
  for (const { url } of [one, other]) await until("both have it all", async () => (await used(url)) === 20);
  for (let i = 0; i < 10; i++) expect((await publish(one.url)).status).toBe(200);
  expect((await publish(one.url)).status).toBe(429);
  await until("the other knows of it", async () => (await used(other.url)) === 30);
  expect((await publish(other.url)).status).toBe(429);
});
