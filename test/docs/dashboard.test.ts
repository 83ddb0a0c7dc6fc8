/** deploy/grafana-dashboard.json against the /metrics of a server that has seen some traffic. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { StreamCalls } from "../support/stream-calls.ts";
import { found } from "../support/wait.ts";
import { welcomed } from "../support/wire/connect.ts";
import { parseExposition, type Scrape } from "./support/exposition.ts";
import { readPage } from "./support/page.ts";
import { Query } from "./support/promql.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[];
  };
}

const dashboard = JSON.parse(readPage("deploy/grafana-dashboard.json")) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== "row");

/** The labels that Prometheus adds to every sample of a target. */
const TARGET = { job: "parley", instance: "127.0.0.1:8080" };
/** These stay at zero unless clients misbehave or the service has a fault. */
const ZERO_IS_GOOD = [
  "parley_rate_cuts_total",
  "parley_slow_cuts_total",
  "parley_silent_drops_total",
  "parley_faults_total",
];

let server: Server;
let streams: StreamCalls;
/** Ends the reader of a stream. */
const reading = new AbortController();
let before: Scrape;
let after: Scrape;

async function scrape(): Promise<Scrape> {
  const { text } = await call(`${server.url}/metrics`);
  return { atSeconds: Date.now() / 1000, samples: parseExposition(text, TARGET) };
}

/** Causes traffic of every kind that the dashboard shows. */
async function traffic(): Promise<void> {
  const { secretKey, publishableKey } = server.keys;
  const rest = (path: string, body?: unknown, method?: string) =>
    call<{ token: string }>(server.url + path, {
      bearer: secretKey,
      ...(body ? { body } : {}),
      ...(method && { method }),
    });
  const { body } = await rest("/v1/tokens", { peerId: "ann" });
  const ann = await welcomed(server.url, `token=${body.token}`);
  const ben = await welcomed(server.url, `key=${publishableKey}`);
  await ann.join("news");
  await ben.join("news");
  await ann.until("presence", ({ joined }) => joined.length === 1);
  for (let at = 0; at < 20; at++) await ben.request({ type: "publish", channel: "news", data: at });
  await ben.request({ type: "send", to: "ann", data: "for you" });
  await ben.request({ type: "send", to: "nobody", data: "for you" });
  await rest("/v1/channels/news/publish", { data: "from the backend" });
  await call(`${server.url}/v1?token=wrong`);
  await rest("/v1/peers/ann", undefined, "DELETE");
  await ann.closed();
  await streams.append("answers/1", { body: '{"text":"hello"}' });
  ben.close();
  await ben.closed();
}

/** Event loop lag is measured twice a second; a rate needs a measurement between the two scrapes. */
async function scrapeWithLag(): Promise<Scrape> {
  const measured = ({ samples }: Scrape) =>
    samples.find(({ name }) => name === "parley_event_loop_lag_seconds_count")?.value ?? 0;
  return found("another measurement of the lag", async () => {
    const next = await scrape();
    return measured(next) > measured(before) ? next : undefined;
  });
}

beforeAll(async () => {
  server = await startParley();
  const { publishableKey, secretKey } = server.keys;
  const rule = { pattern: "answers/**", stream: { seconds: 3600, bytes: 65_536 } };
  await server.admin.must("PATCH", "/apps/demo", { channelRules: [rule] });
  streams = new StreamCalls(server, secretKey);
  await streams.create("answers/1", { body: "[0]" });
  await streams.follow("answers/1", reading.signal);
  using stayer = await welcomed(server.url, `key=${publishableKey}`);
  await stayer.join("elsewhere");
  await traffic();
  before = await scrape();
  await traffic();
  after = await scrapeWithLag();
});
afterAll(() => {
  reading.abort();
  return server.stop();
});

/** An expression with Grafana's variables filled in. */
const filled = (expr: string): string => expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".+");

describe("the Grafana dashboard", () => {
  for (const { title, targets = [] } of panels)
    for (const { expr, legendFormat } of targets)
      test(`${title}: ${expr.slice(0, 60)}… returns data`, () => {
        const query = new Query(filled(expr), before, after);
        const value = query.evaluate();
        const points = typeof value === "number" ? [{ labels: {}, value }] : value;
        expect(points).not.toBeEmpty();
        for (const point of points) expect(point.value).toBeFinite();
        const quiet = ZERO_IS_GOOD.some((name) => expr.includes(name));
        if (!quiet) expect(points.some((point) => point.value > 0)).toBe(true);
        for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          for (const point of points) expect(point.labels).toHaveProperty(label);
      });

  test("every metric and every label it names is in /metrics", () => {
    const missing: string[] = [];
    for (const { targets = [] } of panels)
      for (const { expr } of targets) {
        const query = new Query(filled(expr), before, after);
        query.evaluate();
        const metrics = query.asked.map(({ metric }) => metric).filter((metric) => metric !== "");
        for (const { metric, labels } of query.asked)
          for (const label of ["", ...labels]) {
            const of = metric === "" ? metrics : [metric];
            const found = after.samples.some(
              (sample) => of.includes(sample.name) && (label === "" || label in sample.labels),
            );
            if (!found) missing.push(`${metric}{${label}} in ${expr}`);
          }
      }
    expect(missing).toEqual([]);
  });

  test("its variables have values to choose from", () => {
    for (const { query } of dashboard.templating.list) {
      if (typeof query === "string") continue;
      const [, metric = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(query.query) ?? [];
      expect(after.samples.filter(({ name }) => name === metric).map(({ labels }) => labels[label])).toEqual([
        "parley",
      ]);
    }
  });

  test("panels have unique ids and do not overlap", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const taken = new Map<string, string>();
    for (const { title, gridPos } of dashboard.panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([x, y, taken.get(`${x} ${y}`)]).toEqual([x, y, undefined]);
          expect(x).toBeLessThan(24);
          taken.set(`${x} ${y}`, title);
        }
  });
});

test("the evaluator refuses unknown expressions, and reports empty results", () => {
  const result = (text: string) => new Query(text, before, after).evaluate();
  expect(() => result("irate(parley_connects_total[1m])")).toThrow("cannot read");
  expect(() => result("parley_connections offset 5m")).toThrow("cannot read");
  expect(result("sum(parley_never_counted)")).toEqual([]);
  expect(result('rate(parley_closes_total{code="4999"}[1m])')).toEqual([]);
});
