/** Connections over HTTP with two nodes behind one address: each POST may reach the other node. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { fresh, tokenQuery } from "../conformance/raw/support/world.ts";
import type { App, SecretKey } from "../support/admin.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import type { Server } from "../support/parley.ts";
import { SLACK_MS } from "../support/slack.ts";
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

/** What a node waits for the one that holds the connection, and what a request takes. */
const ANSWER_MAX_MS = 2000 + 500 + SLACK_MS;

async function timed<T>(work: Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const fromMs = performance.now();
  const result = await work;
  return { result, ms: performance.now() - fromMs };
}

test("a POST is answered in time while the home is stopped, and taken once, however often it was sent", async () => {
  const [one, two] = cluster.pair;
  const channel = fresh("room");
  const { wire, session } = await opened(one);
  const { wire: reader, session: readers } = await opened(two);
  expect(await post(two, readers, 1, { type: "subscribe", channel, requestId: "s" })).toBe(204);
  await reader.answerTo("s");
  {
    using _ = frozen(one);
    // At once: after some seconds without its heartbeats the others take it for gone, and answer 404.
    const publish = () => timed(post(two, session, 1, { type: "publish", channel, data: "once" }));
    for (const { result, ms } of await Promise.all([publish(), publish(), publish()])) {
      expect(result).toBe(503);
      expect(ms).toBeLessThan(ANSWER_MAX_MS);
    }
  }
  await until(
    "it is taken",
    async () => (await post(two, session, 1, { type: "publish", channel, data: "once" })) === 204,
  );
  expect(await post(two, session, 2, { type: "publish", channel, data: "then" })).toBe(204);
  // Late repeats of both, to both nodes.
  for (const node of [one, two])
    for (const n of [1, 2]) expect(await post(node, session, n, { type: "publish", channel, data: "late" })).toBe(204);
  expect(await post(two, session, 3, { type: "publish", channel, data: "last" })).toBe(204);
  for (const data of ["once", "then", "last"]) expect(await reader.until("message")).toMatchObject({ data });
  // When the connection has ended, its POSTs are of no use, on either node.
  expect(await post(two, session, 4, { type: "ping" }, "&bye=1")).toBe(204);
  expect(await wire.closed()).toMatchObject({ code: 1000 });
  for (const node of [one, two])
    for (const n of [1, 4, 5])
      expect(await post(node, session, n, { type: "publish", channel, data: "gone" })).toBe(404);
  expect(reader.frames.filter(({ type }) => type === "message")).toHaveLength(3);
  reader.drop();
});

test("an altered session gets 404 on the node that it names and on the other one", async () => {
  const { wire, session } = await opened(cluster.pair[0]);
  const { wire: second, session: other } = await opened(cluster.pair[1]);
  const [parts, others] = [session.split("."), other.split(".")];
  const altered = [
    ...parts
      .map((_, at) => parts.with(at, others[at] ?? "").join("."))
      .filter((one) => one !== session && one !== other),
    ...parts.map((part, at) =>
      parts
        .with(
          at,
          part.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
        )
        .join("."),
    ),
    parts.slice(0, -1).join("."),
  ];
  for (const node of cluster.pair) {
    for (const one of altered) expect([one, await post(node, one, 1, { type: "ping" })]).toEqual([one, 404]);
    // It opens nothing else: neither a connection nor REST.
    const { status } = await call(`${node.url}/v1/channels`, { bearer: session });
    expect(status).toBe(401);
  }
  expect(await post(cluster.pair[1], session, 1, { type: "ping", requestId: "p" })).toBe(204);
  expect(await wire.until("pong")).toMatchObject({ requestId: "p" });
  wire.drop();
  second.drop();
});

test("the home is killed between a POST and its answer: 503 or 404, then 404, and none of it comes twice", async () => {
  const [one] = cluster.pair;
  const [home] = await cluster.add(1);
  if (!home) throw new Error("there is no third node");
  const channel = fresh("room");
  const { wire: reader, session: readers } = await opened(one);
  expect(await post(one, readers, 1, { type: "subscribe", channel, requestId: "s" })).toBe(204);
  await reader.answerTo("s");
  const { session } = await opened(home);
  expect(await post(one, session, 1, { type: "publish", channel, data: 1 })).toBe(204);
  expect(await reader.until("message")).toMatchObject({ data: 1 });
  home.signal("SIGSTOP");
  const answer = timed(post(one, session, 2, { type: "publish", channel, data: 2 }));
  const direct = post(home, session, 2, { type: "publish", channel, data: 2 }).catch(() => "broken");
  await home.kill("SIGKILL");
  const { result, ms } = await answer;
  expect([404, 503]).toContain(result);
  expect(ms).toBeLessThan(ANSWER_MAX_MS);
  expect(await direct).toBe("broken");
  const statuses = new Set<number>();
  await until("it is gone", async () => {
    const status = await post(one, session, 2, { type: "publish", channel, data: 2 });
    statuses.add(status);
    return status === 404;
  });
  expect([...statuses].filter((status) => status !== 404 && status !== 503)).toEqual([]);
  // The client connects anew, and sends what was not answered again: it comes once.
  const { wire, session: next } = await opened(one);
  expect(await post(one, next, 1, { type: "publish", channel, data: 2 })).toBe(204);
  expect(await post(one, next, 2, { type: "publish", channel, data: 3 })).toBe(204);
  for (const data of [2, 3]) expect(await reader.until("message")).toMatchObject({ data });
  expect(reader.frames.filter(({ type }) => type === "message")).toHaveLength(3);
  reader.drop();
  wire.drop();
});
