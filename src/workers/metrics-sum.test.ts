import { expect, test } from "bun:test";
import { Metrics } from "../telemetry/metrics.ts";
import { MetricsSum } from "./metrics-sum.ts";

function page(connections: number, connects: number, isStoreUp = 1): string {
  const metrics = new Metrics();
  metrics.gauge("parley_connections", "Open connections.", () => connections);
  metrics.gauge("parley_channels", "Channels with subscribers.", () => connections);
  metrics.gauge("parley_keys", "Live keys.", () => 3);
  metrics.gauge("parley_store_up", "Whether the shared store responds.", () => isStoreUp);
  metrics.counter("parley_connects_total", "Connections made.").inc(connects);
  const closes = metrics.counters("parley_closes_total", "Connections ended, by close code.");
  closes({ code: "1000" }).inc(connects);
  metrics.histogram("parley_publish_seconds", "Time.", [1, 2]).observe(connects);
  metrics.reading("parley_info", "Version and node; always 1.", "gauge", () => 1, { version: "1", node: "n" });
  return metrics.text();
}

test("counts are summed, processes are labelled, and what all share is taken once", () => {
  const sum = new MetricsSum();
  sum.add({ worker: "0", text: page(2, 1) });
  sum.add({ worker: "1", text: page(5, 2, 0) });
  expect(sum.text()).toBe(`# HELP parley_connections Open connections.
# TYPE parley_connections gauge
parley_connections{worker="0"} 2
parley_connections{worker="1"} 5
# HELP parley_channels Channels with subscribers.
# TYPE parley_channels gauge
parley_channels 7
# HELP parley_keys Live keys.
# TYPE parley_keys gauge
parley_keys 3
# HELP parley_store_up Whether the shared store responds.
# TYPE parley_store_up gauge
parley_store_up 0
# HELP parley_connects_total Connections made.
# TYPE parley_connects_total counter
parley_connects_total 3
# HELP parley_closes_total Connections ended, by close code.
# TYPE parley_closes_total counter
parley_closes_total{code="1000"} 3
# HELP parley_publish_seconds Time.
# TYPE parley_publish_seconds histogram
parley_publish_seconds_bucket{le="1"} 1
parley_publish_seconds_bucket{le="2"} 2
parley_publish_seconds_bucket{le="+Inf"} 2
parley_publish_seconds_sum 3
parley_publish_seconds_count 2
# HELP parley_info Version and node; always 1.
# TYPE parley_info gauge
parley_info{version="1",node="n",worker="0"} 1
parley_info{version="1",node="n",worker="1"} 1
`);
});

test("of a process that has ended the counts stay, and nothing else", () => {
  const ended = new MetricsSum();
  ended.addEnded(page(2, 4));
  const sum = new MetricsSum();
  sum.addEnded(ended.text());
  sum.add({ worker: "1", text: page(5, 2) });
  const lines = sum.text().split("\n");
  expect(lines).toContain("parley_connects_total 6");
  expect(lines).toContain('parley_closes_total{code="1000"} 6');
  expect(lines).toContain("parley_channels 5");
  expect(lines.filter((line) => line.startsWith("parley_connections"))).toEqual(['parley_connections{worker="1"} 5']);
});
