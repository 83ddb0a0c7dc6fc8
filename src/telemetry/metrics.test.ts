import { expect, test } from "bun:test";
import { Metrics } from "./metrics.ts";

test("a counter with labels that has counted nothing yet writes no line of its own", () => {
  const metrics = new Metrics();
  const count = metrics.counters("a_total", "What is counted.");
  metrics.gauge("b", "What is read.", () => 7);
  const head = "# HELP a_total What is counted.\n# TYPE a_total counter\n";
  const tail = "# HELP b What is read.\n# TYPE b gauge\nb 7\n";
  expect(metrics.text()).toBe(head + tail);
  count({ kind: "x" }).inc();
  expect(metrics.text()).toBe(`${head}a_total{kind="x"} 1\n${tail}`);
});
