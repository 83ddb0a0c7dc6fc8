/** GET /series: the charts of the dashboard. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "../nodes/support/cluster.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { IS_EXACT } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import type { WireEvent } from "../support/wire/wire.ts";
import { WORKERS } from "../support/workers.ts";

/** Reads have a rate: a step takes five seconds. */
const READ_EVERY_MS = 300;

setDefaultTimeout(60_000);

interface NodeSeries {
  readonly nodeId: string;
  readonly start: number;
  readonly values: readonly (number | null)[];
  readonly byReason?: Readonly<Record<string, readonly (number | null)[]>>;
}

interface SeriesBody {
  readonly metric: string;
  readonly unit: string;
  readonly stepSec: number;
  readonly nodes: readonly NodeSeries[];
  readonly isComplete: boolean;
}

interface KeyTrafficBody {
  readonly data: readonly {
    readonly keyId: string;
    readonly messagesPerSec: readonly (number | null)[];
  }[];
}

const server = await checkedServerForTests();
const { admin } = server;

const series = async (query: string): Promise<SeriesBody> =>
  (await admin.must("GET", `/series?${query}`)) as SeriesBody;
/** Includes all workers, if there are several. */
const known = ({ nodes }: SeriesBody): number[] => nodes.flatMap(({ values }) => values.filter((one) => one !== null));
const latest = ({ nodes }: SeriesBody): number[] =>
  nodes.map(({ values }) => values.findLast((one) => one !== null) ?? 0);
const isTextWith =
  (part: string) =>
  (event: WireEvent): boolean =>
    event.kind === "text" && event.text.includes(part);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe("the series of a node with traffic", () => {
  let app: { _id: string; name: string };
  let quiet: { _id: string };
  let key: { keyId: string };
  let backend: { keyId: string };

  beforeAll(async () => {
    app = await admin.createApp();
    quiet = await admin.createApp();
    key = await admin.createPublishable(app._id);
    const secret = await admin.createKey(app._id);
    backend = secret;
    const ann = await connect(server, `key=${key.keyId}`);
    const ben = await connect(server, `key=${key.keyId}`);
    ben.send({ type: "subscribe", channel: "c", requestId: "r" });
    await ben.next(isTextWith('"ack"'));
    for (let i = 0; i < 20; i++) ann.send({ type: "publish", channel: "c", data: i, requestId: `p${i}` });
    await ann.next(isTextWith('"p19"'));
    ann.send({ type: "nothing" });
    await call(`${server.url}/v1?key=${key.keyId}x`);
    await call(`${server.url}/v1/channels/c/publish`, {
      method: "POST",
      bearer: secret.credential,
      body: { data: 1 },
    });
    await until("the first step with the messages is over", async () => {
      await Bun.sleep(READ_EVERY_MS);
      const sums = ["errors", "refusals", "deliveries"].map(async (metric) =>
        sum(known(await series(`metric=${metric}&range=15m`))),
      );
      return (await Promise.all(sums)).every((one) => one > 0);
    });
  });

  test("has every metric, each with its unit", async () => {
    const body = await series("metric=messages&range=15m");
    expect(body).toMatchObject({ metric: "messages", unit: "per second", stepSec: 5, isComplete: true });
    expect(body.nodes).toHaveLength(WORKERS);
    const [node] = body.nodes;
    expect(node?.values).toHaveLength(180);
    expect((node?.start ?? 1) % 5).toBe(0);
    // A step may be cut by the start of the process, but its messages are all counted. On a busy machine steps are longer, and rates smaller.
    expect(sum(known(body)) * 5).toBeGreaterThanOrEqual(IS_EXACT ? 19.9 : 5);
    expect(sum(latest(await series("metric=connections&range=15m")))).toBeGreaterThanOrEqual(2);
    for (const metric of ["connects", "deliveries", "bytesOut", "p50Ms", "p99Ms", "errors", "refusals"])
      expect(sum(known(await series(`metric=${metric}&range=15m`)))).toBeGreaterThan(0);
    expect((await series("metric=messages&range=3h")).stepSec).toBe(60);
    expect((await series("metric=messages&range=24h")).stepSec).toBe(300);
  });

  test("has refusals by reason", async () => {
    const { nodes } = await series("metric=refusals&range=15m");
    expect(nodes.flatMap(({ byReason = {} }) => Object.keys(byReason))).toContain("unauthorized");
    expect((await series("metric=errors&range=15m")).nodes[0]?.byReason).toBeUndefined();
  });

  test("is shown per application, by id or name", async () => {
    for (const name of [app._id, app.name])
      expect(sum(known(await series(`metric=messages&range=15m&app=${name}`)))).toBeGreaterThan(0);
    const none = known(await series(`metric=messages&range=15m&app=${quiet._id}`));
    expect(none.length).toBeGreaterThan(0);
    expect(sum(none)).toBe(0);
  });

  test("is shown per key, with what came over REST", async () => {
    const ofKey = async (keyId: string, metric: string): Promise<number> =>
      sum(known(await series(`metric=${metric}&range=15m&key=${keyId}`)));
    expect(sum(latest(await series(`metric=connections&range=15m&key=${key.keyId}`)))).toBe(2);
    for (const metric of ["connects", "messages", "errors"]) expect(await ofKey(key.keyId, metric)).toBeGreaterThan(0);
    expect(await ofKey(backend.keyId, "connections")).toBe(0);
    const list = await admin.must("GET", `/apps/${app.name}/key-traffic?range=15m`);
    expect(list).toMatchObject({ stepSec: 5, next: null, isComplete: true });
    const rows = new Map((list as KeyTrafficBody).data.map((one) => [one.keyId, one]));
    expect([...rows.keys()].sort()).toEqual([backend.keyId, key.keyId].sort());
    expect(rows.get(key.keyId)).toMatchObject({ connections: 2, refusals: 0 });
    expect(rows.get(backend.keyId)).toMatchObject({ connections: 0, connects: 0, errors: 0 });
    expect(sum((rows.get(backend.keyId)?.messagesPerSec ?? []).map((one) => one ?? 0))).toBeGreaterThan(0);
    expect(await admin.must("GET", `/apps/${quiet._id}/key-traffic?range=15m`)).toMatchObject({ data: [] });
  });

  test("has the refusals that belong to no application", async () => {
    const { nodes } = await series("metric=refusals&credentials=unknown&range=15m");
    expect(nodes.flatMap(({ byReason = {} }) => Object.keys(byReason))).toContain("unauthorized");
    expect(sum(known(await series(`metric=refusals&app=${app._id}&range=15m`)))).toBe(0);
  });
});

test("a revoked key still has its series", async () => {
  const { _id } = await admin.createApp();
  const { keyId } = await admin.createPublishable(_id);
  await admin.must("DELETE", `/signalling/keys/${keyId}`);
  expect(await series(`metric=refusals&range=15m&key=${keyId}&app=${_id}`)).toMatchObject({ metric: "refusals" });
});

test("says what is wrong with a request", async () => {
  const status = async (query: string): Promise<unknown> => {
    const { status, body } = await call<{ error: string; message: string }>(
      `${server.url}/api/internal/v1/series?${query}`,
      { bearer: server.adminToken },
    );
    return [status, body.error, body.message.split(":")[0]];
  };
  expect(await status("metric=messages&range=1h")).toEqual([400, "invalid_request", "range"]);
  expect(await status("metric=nothing&range=15m")).toEqual([400, "invalid_request", "metric"]);
  expect(await status("range=15m")).toEqual([400, "invalid_request", "metric"]);
  expect(await status("metric=messages&range=15m&app=none")).toEqual([404, "not_found", "app"]);
  expect(await status("metric=messages&range=15m&key=pk_live_none")).toEqual([404, "not_found", "key"]);
  expect(await status("metric=p99Ms&range=15m&key=pk_live_none")).toEqual([400, "invalid_request", "key"]);
  expect(await status("metric=messages&range=15m&credentials=unknown")).toEqual([
    400,
    "invalid_request",
    "credentials",
  ]);
  expect((await call(`${server.url}/api/internal/v1/series?metric=messages&range=15m`)).status).toBe(401);
});
