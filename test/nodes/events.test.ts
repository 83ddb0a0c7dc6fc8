/** Connections over HTTP with two nodes behind one address: each POST may reach the other node. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, tokenQuery } from "../conformance/raw/support/world.ts";
import type { App, SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { until } from "../support/wait.ts";
import { connectOverHttp, type OverHttp } from "../support/wire/over-http.ts";
import { Cluster, frozen } from "./support/cluster.ts";

setDefaultTimeout(120_000);

let cluster: Cluster;
let app: App;
let key: SecretKey;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 2 });
  const [first] = cluster.pair;
  app = await first.admin.createApp();
  key = await first.admin.createKey(app._id);
  for (const node of cluster.nodes)
    await until(
      "the nodes know each other",
      async () => (await node.admin.must<{ data: unknown[] }>("GET", "/nodes")).data.length === 2,
    );
});
afterAll(() => cluster.stop());

const opened = (node: Server): Promise<OverHttp> =>
  connectOverHttp(node.url, { query: tokenQuery(selfSigned(key.keyId, key.secret, { sub: fresh("peer") })) });

const post = async (node: Server, session: string, n: number, frame: object, bye = ""): Promise<number> =>
  (await call(`${node.url}/v1/events?session=${session}&n=${n}${bye}`, { method: "POST", body: JSON.stringify(frame) }))
    .status;

test("a POST is taken by whichever node gets it, and once", async () => {
  const [one, two] = cluster.pair;
  const channel = fresh("room");
  const { wire: reader, session: readers } = await opened(two);
  expect(await post(one, readers, 1, { type: "subscribe", channel, requestId: "s" })).toBe(204);
  await reader.answerTo("s");
  const { wire, session } = await opened(one);
  for (let n = 1; n <= 20; n++)
    for (const node of [two, one, two])
      expect(await post(node, session, n, { type: "publish", channel, data: n })).toBe(204);
  for (let n = 1; n <= 20; n++) expect(await reader.until("message")).toMatchObject({ data: n });
  expect(await post(two, session, 22, { type: "ping" })).toBe(409);
  expect(await post(two, session, 21, { type: "ping", requestId: "p" }, "&bye=1")).toBe(204);
  expect(await wire.until("pong")).toMatchObject({ requestId: "p" });
  expect(await wire.closed()).toMatchObject({ code: 1000 });
  expect(await post(two, session, 22, { type: "ping" })).toBe(404);
  reader.drop();
});

test("a node that does not answer costs a 503, and the same POST is taken once when it does", async () => {
  const [one, two] = cluster.pair;
  const channel = fresh("room");
  const { wire, session } = await opened(one);
  const { wire: reader, session: readers } = await opened(two);
  expect(await post(two, readers, 1, { type: "subscribe", channel, requestId: "s" })).toBe(204);
  await reader.answerTo("s");
  {
    using _ = frozen(one);
    expect(await post(two, session, 1, { type: "publish", channel, data: "once" })).toBe(503);
  }
  await until(
    "it is taken",
    async () => (await post(two, session, 1, { type: "publish", channel, data: "once" })) === 204,
  );
  expect(await post(two, session, 2, { type: "publish", channel, data: "then" })).toBe(204);
  expect(await reader.until("message")).toMatchObject({ data: "once" });
  expect(await reader.until("message")).toMatchObject({ data: "then" });
  wire.drop();
  reader.drop();
});
